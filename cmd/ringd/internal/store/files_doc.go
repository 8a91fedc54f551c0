// This file owns how the store touches the file system beside its
// database: the folder that is its own, the lock on it, and snapshots that are
// too large for a row, each a file named by the digest of what is in it.
//
// It refuses a folder that others can enter, links, and names that are not
// digests. The store is its only caller.

package store
