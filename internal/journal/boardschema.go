package journal

// boardTables are the board. An issue's row has what is looked for in columns
// of their own; all but the description is in record, so that a page of a
// board reads no long texts.
const boardTables = `
CREATE TABLE projects (
	n       INTEGER PRIMARY KEY,
	id      TEXT NOT NULL UNIQUE,
	root    TEXT NOT NULL,
	created INTEGER NOT NULL,
	issues  INTEGER NOT NULL DEFAULT 0, -- the last number given to an issue
	graph   INTEGER NOT NULL DEFAULT 0  -- counts the changes of needs
) STRICT;

CREATE TABLE issues (
	project     INTEGER NOT NULL REFERENCES projects(n),
	id          INTEGER NOT NULL,
	version     INTEGER NOT NULL,
	col         TEXT NOT NULL,
	rank        TEXT NOT NULL CHECK (rank <> ''),
	title       TEXT NOT NULL,
	record      TEXT NOT NULL, -- the issue as JSON without description and rank
	description TEXT NOT NULL,
	PRIMARY KEY (project, id)
) STRICT;
-- Two issues never share a place.
CREATE UNIQUE INDEX issues_place ON issues(project, col, rank);

CREATE TABLE issue_labels (
	project INTEGER NOT NULL,
	label   TEXT NOT NULL,
	issue   INTEGER NOT NULL,
	PRIMARY KEY (project, label, issue),
	FOREIGN KEY (project, issue) REFERENCES issues(project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX issue_labels_issue ON issue_labels(project, issue);

CREATE TABLE issue_needs (
	project INTEGER NOT NULL,
	issue   INTEGER NOT NULL,
	need    INTEGER NOT NULL,
	PRIMARY KEY (project, issue, need),
	FOREIGN KEY (project, issue) REFERENCES issues(project, id),
	FOREIGN KEY (project, need)  REFERENCES issues(project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX issue_needs_need ON issue_needs(project, need);

CREATE TABLE issue_history (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	project INTEGER NOT NULL REFERENCES projects(n),
	issue   INTEGER NOT NULL, -- 0 = the board as a whole
	at      INTEGER NOT NULL,
	entry   TEXT NOT NULL
) STRICT;
CREATE INDEX issue_history_issue ON issue_history(project, issue, seq);
CREATE TRIGGER issue_history_is_not_changed BEFORE UPDATE ON issue_history
	BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER issue_history_is_not_deleted BEFORE DELETE ON issue_history
	BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
`
