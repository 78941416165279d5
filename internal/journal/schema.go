package journal

import (
	"context"
	"fmt"
)

// applicationID marks journal.db as Forge's ("Forg"), so that no other
// program's database is ever migrated.
const applicationID = 0x466f7267

// migrations bring a database from version i to i+1 (PRAGMA user_version).
// A released one is never edited, only followed by another.
//
// Times are nanoseconds since 1970 in UTC. An event's id is its run's number
// and its sequence number in one integer (run << 32 | seq): one table, no
// index, so that an append touches one page.
var migrations = [...]string{`
CREATE TABLE meta (
	version INTEGER PRIMARY KEY, -- one row for each migration
	applied INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
	n         INTEGER PRIMARY KEY,
	id        TEXT NOT NULL UNIQUE,
	created   INTEGER NOT NULL,
	outcome   TEXT NOT NULL DEFAULT '',
	branch    TEXT NOT NULL DEFAULT '',
	cost      REAL,                       -- NULL = unknown
	epoch     INTEGER NOT NULL,           -- counts the leases; the fence
	owner     TEXT,                       -- NULL = nobody holds the run
	pid       INTEGER NOT NULL DEFAULT 0,
	host      TEXT NOT NULL DEFAULT '',
	boot      TEXT NOT NULL DEFAULT '',
	started   INTEGER NOT NULL DEFAULT 0,
	heartbeat INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE events (
	id        INTEGER PRIMARY KEY, -- runs.n << 32 | seq
	time      INTEGER NOT NULL,
	kind      TEXT NOT NULL,
	v         INTEGER NOT NULL,
	phase     TEXT NOT NULL,
	iteration INTEGER NOT NULL,
	attempt   INTEGER NOT NULL,
	data      TEXT NOT NULL,
	hash      BLOB NOT NULL
) STRICT;
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
	BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
	BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- For people with a SQLite shell; Forge does not read it.
CREATE VIEW log AS
	SELECT runs.id AS run, events.id & 0xffffffff AS seq,
		strftime('%Y-%m-%dT%H:%M:%SZ', events.time / 1000000000, 'unixepoch') AS at,
		kind, phase, iteration, attempt, data, lower(hex(hash)) AS hash
	FROM events JOIN runs ON runs.n = events.id >> 32;

CREATE TABLE checkpoints (
	id       TEXT PRIMARY KEY,
	run      INTEGER NOT NULL REFERENCES runs(n),
	status   TEXT NOT NULL,
	revision INTEGER NOT NULL,
	opened   INTEGER NOT NULL,
	record   TEXT NOT NULL -- the checkpoint as JSON, status included
) STRICT;
-- One index for each way to list, each ending in the page's order.
CREATE INDEX checkpoints_all        ON checkpoints(opened, id);
CREATE INDEX checkpoints_status     ON checkpoints(status, opened, id);
CREATE INDEX checkpoints_run        ON checkpoints(run, opened, id);
CREATE INDEX checkpoints_run_status ON checkpoints(run, status, opened, id);

-- AUTOINCREMENT: the id of a consumed row never comes back, so that consuming
-- it a second time cannot take another answer away.
CREATE TABLE inbox (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	run    INTEGER NOT NULL REFERENCES runs(n),
	answer TEXT NOT NULL
) STRICT;
CREATE INDEX inbox_run ON inbox(run, id);

CREATE TABLE attempts (
	run     INTEGER NOT NULL REFERENCES runs(n),
	command TEXT NOT NULL,
	mark    TEXT NOT NULL,
	started INTEGER NOT NULL,
	PRIMARY KEY (run, command)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
	run     INTEGER NOT NULL REFERENCES runs(n),
	command TEXT NOT NULL,
	day     TEXT NOT NULL, -- UTC, 2006-01-02
	usd     REAL,          -- NULL = unknown
	tokens  INTEGER,       -- NULL = unknown
	PRIMARY KEY (run, command)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_day ON usage(day, usd, tokens);

CREATE TABLE states (
	run   INTEGER PRIMARY KEY REFERENCES runs(n),
	seq   INTEGER NOT NULL,
	hash  BLOB NOT NULL, -- of event seq; a state of another history is not used
	state BLOB NOT NULL
) STRICT;
`, boardTables, claimTables, trackerTables, travelTables, listenTables, postTables, talkTables, leaderTables}

// version reads which version the database has, without changing it. 0 is a
// database that is still empty.
func (s *Store) version(ctx context.Context, w *writer) (int, error) {
	var version, application, tables int
	err := w.row(ctx, `SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`,
		nil, &version, &application, &tables)
	if err != nil {
		return 0, err
	}
	if application != applicationID && (version != 0 || application != 0 || tables != 0) {
		return 0, &BrokenError{File: s.path, What: "a database of another program"}
	}
	if version > len(migrations) {
		return 0, fmt.Errorf("%s: %w: it has version %d, this program knows %d; use a newer Forge, or another FORGE_STATE_DIR",
			s.path, ErrNewer, version, len(migrations))
	}
	return version, nil
}

// migrate brings the database up to date, all steps in one transaction.
func (s *Store) migrate(ctx context.Context) error {
	return s.write(ctx, s.durable, "migrate journal", func(ctx context.Context, w *writer) error {
		// Read again under the lock: another process may have been quicker.
		version, err := s.version(ctx, w)
		if err != nil {
			return err
		}
		for ; version < len(migrations); version++ {
			if _, err := w.conn.ExecContext(ctx, migrations[version]); err != nil {
				return err
			}
			if _, err := w.exec(ctx, `INSERT INTO meta (version, applied) VALUES (?, ?)`, version+1, s.now().UnixNano()); err != nil {
				return err
			}
		}
		_, err = w.conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, version))
		return err
	})
}
