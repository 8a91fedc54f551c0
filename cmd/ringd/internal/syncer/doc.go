// Package syncer owns the sync directory: it notices that something may have
// changed, reads the whole folder into memory, and hands a push on when its
// content is new.
//
// A file event, an error of the watcher and a timer all mean one thing, "look
// again", and none of them is trusted for anything else. A look reads every
// policy and module below the folder, bounded in count, size and depth, twice:
// only two passes that agree, with no file open for writing, are a push. It
// refuses what is not a regular file, links that leave the folder, and files
// that cannot be read; then the push is refused as a whole. Links inside the
// folder are followed, so that a swap of one link replaces a push at once.
//
// Names that begin with a dot are not read, but links may lead through them.
//
// The daemon makes one Syncer and is its only caller; commands read a folder by
// the same rules with Read.
package syncer
