package store

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"sort"
	"strings"
)

// Create creates the tables of a new database in one transaction.
func Create(ctx context.Context, conn *sql.Conn) error {
	if err := runScript(ctx, conn, tables+tablesFormat2); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	return nil
}

// runScript runs script and sets the current format in one transaction.
func runScript(ctx context.Context, conn *sql.Conn, script string) error {
	script = fmt.Sprintf("begin immediate;\n%s\npragma application_id = %d;\npragma user_version = %d;\ncommit;",
		script, application, Version)
	_, err := conn.ExecContext(ctx, script)
	if err != nil {
		_, _ = conn.ExecContext(ctx, "rollback") // ends the transaction of a failed statement
	}
	return err
}

// migrate converts a database of an earlier format in one transaction, so it has either format and nothing in
// between. It refuses a database whose tables are not exactly those of its format.
func migrate(ctx context.Context, conn *sql.Conn, from int64) error {
	switch from {
	case Version:
		return nil
	case 1:
		if err := checkTables(ctx, conn, tablesFormat1); err != nil {
			return fmt.Errorf("bring format 1 to %d: %w", Version, err)
		}
		if err := runScript(ctx, conn, migrateFormat1+tablesFormat2); err != nil {
			return fmt.Errorf("bring format 1 to %d: %w", Version, err)
		}
		return nil
	default:
		return fmt.Errorf("%w %d", ErrFormat, from)
	}
}

// checkTables refuses a database whose tables were not made by script, and one with a record of another version.
func checkTables(ctx context.Context, conn *sql.Conn, script string) error {
	rows, err := conn.QueryContext(ctx, "select sql from sqlite_schema where sql is not null")
	if err != nil {
		return err
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		got = append(got, text)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if normalise(got) != normalise(strings.Split(script, ";")) {
		return fmt.Errorf("%w: its tables are not those of that format: start the ringd that wrote it, or move the "+
			"folder away", ErrFormat)
	}
	var other int64
	err = conn.QueryRowContext(ctx, `select (select count(*) from run where v <> 1)
		+ (select count(*) from call where v <> 1)
		+ (select count(*) from generation where v <> 1)`).
		Scan(&other)
	if err == nil && other > 0 {
		err = fmt.Errorf("%w: %d records of another version: start the ringd that wrote it", ErrFormat, other)
	}
	return err
}

// normalise normalises statements: order, case and spaces do not matter.
func normalise(statements []string) string {
	var out []string
	for _, s := range statements {
		if s = strings.ToLower(strings.Join(strings.Fields(s), " ")); s != "" {
			out = append(out, s)
		}
	}
	sort.Strings(out)
	return strings.Join(out, ";")
}

var (
	// migrateFormat1 converts the tables of format 1 to format 2, before tablesFormat2.
	//
	//go:embed migrate.sql
	migrateFormat1 string // go:embed needs a variable; never written

	// tablesFormat1 creates the tables of format 1.
	//
	//go:embed format1.sql
	tablesFormat1 string
)
