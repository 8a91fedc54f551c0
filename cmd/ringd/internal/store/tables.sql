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
create table audit_head (id integer primary key, seq bigint not null, hash text not null);
