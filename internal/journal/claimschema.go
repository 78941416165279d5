package journal

// claimTables are who works on which issue, how the loop of a project is to go
// on, and which runs are of issues. A claim that was given back keeps its row:
// its epoch is the fence.
const claimTables = `
CREATE TABLE claims (
	project   INTEGER NOT NULL REFERENCES projects(n),
	issue     INTEGER NOT NULL,
	epoch     INTEGER NOT NULL,
	owner     TEXT,                       -- NULL = given back
	pid       INTEGER NOT NULL,
	host      TEXT NOT NULL,
	boot      TEXT NOT NULL,
	started   INTEGER NOT NULL,
	heartbeat INTEGER NOT NULL,
	later     INTEGER NOT NULL DEFAULT 0, -- not to be claimed before; 0 = at once
	PRIMARY KEY (project, issue),
	FOREIGN KEY (project, issue) REFERENCES issues(project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_held ON claims(project, issue) WHERE owner IS NOT NULL OR later <> 0;

CREATE TABLE floors (
	project INTEGER PRIMARY KEY REFERENCES projects(n),
	version INTEGER NOT NULL,
	record  TEXT NOT NULL -- the floor as JSON
) STRICT;

CREATE TABLE servers (
	project   INTEGER NOT NULL REFERENCES projects(n),
	owner     TEXT NOT NULL,
	pid       INTEGER NOT NULL,
	host      TEXT NOT NULL,
	boot      TEXT NOT NULL,
	started   INTEGER NOT NULL,
	since     INTEGER NOT NULL,
	heartbeat INTEGER NOT NULL,
	note      TEXT NOT NULL,
	PRIMARY KEY (project, owner)
) STRICT, WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN project TEXT NOT NULL DEFAULT ''; -- '' = a person's own run
ALTER TABLE runs ADD COLUMN issue INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_issue ON runs(project, issue) WHERE issue <> 0;
`
