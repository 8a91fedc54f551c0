// This file owns the SQLite database below the store: one writer that
// commits once for all who come at the same time, readers beside it, and the
// folder they lie in.
//
// Write is durable when it returns nil. After one commit that failed the
// database is closed, and stays so until opened again. It refuses a folder that
// another process holds, a damaged database, one of an unknown format, and an
// SQLite that can corrupt its log (before 3.51.3). The store is its only caller.

package store
