package store

import (
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

// tables creates the tables of a new database. The SQL is also valid for PostgreSQL, except blob, which is
// bytea there.
const tables = `
create table run (
	id text primary key, v integer not null, state text not null,
	agent text not null, actor text not null, executor text not null, program text not null,
	generation bigint not null, revision text not null, outcome blob,
	audit_seq bigint not null, audit_hash text not null,
	created bigint not null, updated bigint not null,
	seq bigint not null default 0, session text not null default ''
);
create index run_created on run (created);
create table call (
	run text not null, n bigint not null, id text not null, v integer not null, state text not null,
	bridge text not null, waits_for text not null, idem text not null,
	args_digest text not null, args blob, result blob,
	reply blob, replied_by text, replied_at bigint,
	audit_seq bigint not null, audit_hash text not null,
	created bigint not null, updated bigint not null,
	acts text not null default '', owners text not null default '', needs bigint not null default 0,
	expires bigint not null default 0, verdict text not null default '',
	decided_by text not null default '', decided_at bigint not null default 0, wave bigint not null default 0,
	notified bigint not null default 0,
	started bigint not null default 0,
	mark blob, primary key (run, n), unique (run, id)
);
create index call_live on call (state, waits_for, created) where state in ('open', 'executing');
create table generation (
	number bigint primary key, v integer not null, revision text not null, digest text not null,
	body blob not null, activated bigint not null, fresh bigint not null
);
create table audit_head (id integer primary key, seq bigint not null, hash text not null);` + tablesFormat2

// tablesFormat2 creates the tables that format 2 added.
const tablesFormat2 = `
create index run_live on run (state, updated)
	where state in ('asked', 'started', 'call_open', 'paused', 'answered', 'claimed', 'executing');
create index run_session on run (actor, session) where session <> '';
create table pause (
	run text primary key, v integer not null, seq bigint not null, revision text not null,
	key_id text not null, engine text not null, size bigint not null, file text not null,
	last_call bigint not null, expires bigint not null, spawned bigint not null,
	fault_code text not null default '', fault text not null default '', fault_at bigint not null default 0,
	created bigint not null
);
create index pause_expires on pause (expires);
create index pause_file on pause (file) where file <> '';
create table claim (
	run text not null, seq bigint not null, v integer not null, claimer text not null, at bigint not null,
	primary key (run, seq)
);
create table session (
	actor text not null, name text not null, v integer not null, agent text not null, executor text not null,
	seq bigint not null, revision text not null, key_id text not null, engine text not null,
	size bigint not null, file text not null, expires bigint not null,
	created bigint not null, updated bigint not null,
	primary key (actor, name)
);
create index session_file on session (file) where file <> '';
create table sealed (name text primary key, body blob not null);
create table approval (
	run text not null, call text not null, approver text not null, v integer not null,
	capacity text not null, verdict text not null, reason text not null, digest text not null, at bigint not null,
	mark blob, primary key (run, call, approver)
);
create table revoked (
	run text not null, capability text not null, v integer not null, revoker text not null, at bigint not null,
	primary key (run, capability)
);`
