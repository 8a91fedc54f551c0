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
);
