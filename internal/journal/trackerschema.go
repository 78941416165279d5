package journal

// trackerTables are what is known of other hosts' issues. A tracker is a
// repository on a host, whatever a project calls it: one of its issues is bound
// to one issue of one board, whichever project imports it.
const trackerTables = `
CREATE TABLE tracker_issues (
	tracker  TEXT NOT NULL,
	remote   INTEGER NOT NULL,
	project  INTEGER,               -- NULL = seen, not bound
	issue    INTEGER,
	hash     TEXT NOT NULL,
	judged   TEXT NOT NULL,
	revision TEXT NOT NULL,
	bare     INTEGER NOT NULL,      -- revision was seen without the label
	posted   TEXT NOT NULL,
	PRIMARY KEY (tracker, remote),
	FOREIGN KEY (project, issue) REFERENCES issues(project, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tracker_issues_bound ON tracker_issues(project, issue) WHERE issue IS NOT NULL;

CREATE TABLE trackers (
	tracker TEXT PRIMARY KEY,
	etag    TEXT NOT NULL,
	since   INTEGER NOT NULL -- 0 = none
) STRICT, WITHOUT ROWID;

CREATE TABLE tracker_hooks (
	tracker  TEXT NOT NULL,
	delivery TEXT NOT NULL,
	at       INTEGER NOT NULL,
	PRIMARY KEY (tracker, delivery)
) STRICT, WITHOUT ROWID;
CREATE INDEX tracker_hooks_at ON tracker_hooks(at);
`
