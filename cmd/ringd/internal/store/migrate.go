package store

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"
)

// Create creates the tables of a new database in one transaction.
func Create(ctx context.Context, conn *sql.Conn) error {
	if err := runScript(ctx, conn, tables); err != nil {
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

// migrateFormat1 converts the tables of format 1 to format 2.
const migrateFormat1 = `
drop index run_live;
alter table run drop column fence;
alter table run drop column snap;
alter table run drop column snap_digest;
alter table run drop column next;
alter table run drop column owner;
alter table run drop column lease;
alter table run add column seq bigint not null default 0;
alter table run add column session text not null default '';
alter table call drop column fence;
alter table call add column acts text not null default '';
alter table call add column owners text not null default '';
alter table call add column needs bigint not null default 0;
alter table call add column expires bigint not null default 0;
alter table call add column verdict text not null default '';
alter table call add column decided_by text not null default '';
alter table call add column decided_at bigint not null default 0;
alter table call add column wave bigint not null default 0;
alter table call add column notified bigint not null default 0;
alter table call add column started bigint not null default 0;
alter table call add column mark blob;
update call set acts = 'host', needs = 1 where waits_for = 'approver';`

// tablesFormat1 creates the tables of format 1.
const tablesFormat1 = `
create table run (
	id text primary key, v integer not null, state text not null,
	agent text not null, actor text not null, executor text not null, program text not null,
	generation bigint not null, revision text not null, outcome blob,
	audit_seq bigint not null, audit_hash text not null,
	fence bigint not null default 0, owner text not null default '', lease bigint not null default 0,
	next bigint not null default 0, snap blob, snap_digest text,
	created bigint not null, updated bigint not null
);
create index run_created on run (created);
create index run_live on run (state, lease)
	where state in ('asked', 'started', 'call_open', 'paused', 'answered', 'claimed', 'executing');
create table call (
	run text not null, n bigint not null, id text not null, v integer not null, state text not null,
	bridge text not null, waits_for text not null, idem text not null,
	args_digest text not null, args blob, result blob,
	reply blob, replied_by text, replied_at bigint,
	fence bigint not null default 0,
	audit_seq bigint not null, audit_hash text not null,
	created bigint not null, updated bigint not null,
	primary key (run, n), unique (run, id)
);
create index call_live on call (state, waits_for, created) where state in ('open', 'executing');
create table generation (
	number bigint primary key, v integer not null, revision text not null, digest text not null,
	body blob not null, activated bigint not null, fresh bigint not null
);
create table audit_head (id integer primary key, seq bigint not null, hash text not null);`
