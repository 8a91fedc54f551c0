// This file owns the tables of the store: their SQL, their version, and
// the way from an earlier version to the present one. It refuses a database
// that is not ringd's, one of a later format, and one of an earlier format that
// does not look exactly as that format was.
//
// The store is its only caller.

package store
