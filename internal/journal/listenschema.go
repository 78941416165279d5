package journal

// listenTables are what was heard and when something is due again: the last
// comment of a tracker's issue whose calls were acted on, and of each schedule
// the last time for which it was decided.
const listenTables = `
ALTER TABLE tracker_issues ADD COLUMN heard INTEGER NOT NULL DEFAULT 0;

CREATE TABLE schedules (
	project INTEGER NOT NULL REFERENCES projects(n),
	name    TEXT NOT NULL,
	due     INTEGER NOT NULL, -- the last due time that was decided on; 0 = none
	issue   INTEGER NOT NULL, -- the last issue that it put on the board; 0 = none
	paused  INTEGER NOT NULL,
	note    TEXT NOT NULL,    -- what was decided last, for people
	PRIMARY KEY (project, name)
) STRICT, WITHOUT ROWID;
`
