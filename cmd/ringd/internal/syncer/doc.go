// Package syncer owns the sync folder: it notices that something may have changed, reads the whole folder
// into memory, and passes a push on if its content is new.
//
// A file event, an error of the watcher and a timer all mean only "look again". A look reads every policy and
// module below the folder twice, with limits of count, size and depth. Only two equal passes, with no file
// open for writing, are a push. It refuses files that are not regular, links that leave the folder, and files
// that cannot be read; then the whole push is refused. Links inside the folder are followed, so the swap of
// one link replaces a push at once. Names that begin with a dot are not read, but links may lead through
// them.
//
// The daemon runs the syncers. Commands read a folder by the same rules with [Read].
package syncer
