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
create table audit_head (id integer primary key, seq bigint not null, hash text not null);
