package store

import (
	_ "embed"
	"errors"
	"fmt"
)

const (
	// Version is the format of the tables.
	Version = 2
	// application marks a database as ringd's: "ring".
	application = 0x72696e67
)

// ErrFormat: the database or a record has a format this ringd does not know.
var ErrFormat = errors.New("unknown format")

// Known refuses a database that is not ringd's, or that has an unknown format.
func Known(app, version int64) error {
	switch {
	case app != application:
		return fmt.Errorf("%w: the file is not a database of ringd: move it away", ErrFormat)
	case version < 1 || version > Version:
		return fmt.Errorf(
			"%w %d: this ringd reads %d: start the ringd that wrote it, or move the folder away",
			ErrFormat,
			version,
			Version,
		)
	default:
		return nil
	}
}

var (
	// tables creates the tables of a new database, with tablesFormat2. The SQL is also valid for PostgreSQL,
	// except blob, which is bytea there.
	//
	//go:embed tables.sql
	tables string // go:embed needs a variable; never written

	// tablesFormat2 creates the tables that format 2 added.
	//
	//go:embed format2.sql
	tablesFormat2 string
)
