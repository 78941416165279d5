package journal

// leaderTables say which of several processes does what one of them is to do, and
// keep what the servers of a factory share beside boards and runs.
const leaderTables = `
CREATE TABLE leaders (
	name      TEXT PRIMARY KEY, -- of what one process does
	epoch     INTEGER NOT NULL, -- counts its leaders; the fence
	owner     TEXT,             -- NULL = it was given back
	pid       INTEGER NOT NULL,
	host      TEXT NOT NULL,
	boot      TEXT NOT NULL,
	started   INTEGER NOT NULL,
	heartbeat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE shared (
	name    TEXT PRIMARY KEY, -- of a small file: users, sessions, tokens
	version INTEGER NOT NULL, -- counts its changes
	at      INTEGER NOT NULL,
	data    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
