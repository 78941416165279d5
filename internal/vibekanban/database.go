package vibekanban

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"forge/internal/refusal"
)

// The database changed its form over time. What is read of each form, by the
// migrations of its program:
//
//	2025-06  projects.git_repo_path; task_attempts with merge_commit, later branch,
//	         base_branch, then target_branch; executor_sessions
//	2025-08  merges, by task_attempt_id; images and task_images
//	2025-12  repos, project_repos and attempt_repos instead of git_repo_path and
//	         target_branch; task_attempts are workspaces, whose agents are in
//	         sessions; merges by workspace_id; attempt_repos are workspace_repos
//	2026-03  pull requests in tracked_prs; task_images are task_attachments
//
// Which form a database has is seen by its columns, not by a number: forks of the
// program give numbers of their own.

// maxWords is how much of one text is read, in characters: more than a card holds.
const maxWords = 300_000

// readDatabase reads a database in one transaction, so that what is read is of one
// moment even while the program works on it.
func readDatabase(ctx context.Context, path string) (Board, error) {
	query := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)", "trusted_schema(0)", "busy_timeout(5000)"}}
	if rests(path) {
		query.Set("immutable", "1")
	}
	file := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(file.String())
	if err != nil {
		return Board{}, unreadable(path, err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return Board{}, unreadable(path, err)
	}
	defer func() { _ = tx.Rollback() }()

	d := database{ctx: ctx, tx: tx}
	if err := d.look(); err != nil {
		return Board{}, unreadable(path, err)
	}
	if err := d.check(path); err != nil {
		return Board{}, err
	}
	b, err := d.board()
	if err != nil {
		return Board{}, unreadable(path, err)
	}
	return b, nil
}

// rests says that a database has a write-ahead log, and none now: nobody has it open.
// To read it as any other would leave files beside it. Who opens it meanwhile writes
// into the log, which is not read.
func rests(path string) bool {
	const mode, writeAhead = 18, 2 // of the file's header
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	var b [1]byte
	if _, err := f.ReadAt(b[:], mode); err != nil || b[0] != writeAhead {
		return false
	}
	_, err = os.Lstat(path + "-wal")
	return errors.Is(err, os.ErrNotExist)
}

// errLarge is a file beyond a bound.
var errLarge = errors.New("it has more than can be taken along at once")

func unreadable(path string, err error) error {
	fix := "if Vibe Kanban uses it, try again; else it may be damaged: name a copy that sqlite3 can read"
	if errors.Is(err, errLarge) {
		fix = fmt.Sprintf("at most %d tasks and %d MB of text", maxTasks, maxText>>20)
	}
	return refusal.New(fix, "read %s: %v", path, err)
}

// database is a database that is read.
type database struct {
	ctx    context.Context
	tx     *sql.Tx
	tables map[string][]string // their columns
	read   int                 // bytes so far
}

// look finds the tables. What is a view or made by a module counts as nothing: it
// would run code of the file's.
func (d *database) look() error {
	d.tables = map[string][]string{}
	return d.each(`SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%' ORDER BY m.name, c.cid`, 2, func(row []string) error {
		d.tables[row[0]] = append(d.tables[row[0]], row[1])
		return nil
	})
}

// check refuses a database that is another program's, or of a form that is not known.
func (d *database) check(path string) error {
	if d.tables["_sqlx_migrations"] == nil || d.tables["projects"] == nil && d.tables["tasks"] == nil {
		return refusal.New(whatToName, "%s is not a database of Vibe Kanban", path)
	}
	var lacks []string
	for _, want := range []struct {
		table   string
		columns []string
	}{
		{"projects", []string{"id", "name"}},
		{"tasks", []string{"id", "project_id", "title", "description", "status", "created_at"}},
		{d.attempts(), []string{"id", "created_at"}},
	} {
		for _, c := range want.columns {
			if !d.has(want.table, c) {
				lacks = append(lacks, want.table+"."+c)
			}
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	version := "none"
	if err := d.each(`SELECT max(version) FROM _sqlx_migrations`, 1, func(row []string) error { version = row[0]; return nil }); err != nil {
		return unreadable(path, err)
	}
	return refusal.New("this version of forge does not know that form; the .zip that the cloud of Vibe Kanban exports may do",
		"%s has a form that is not known (newest migration %s): there is no %s", path, version, strings.Join(lacks, ", "))
}

func (d *database) has(table, column string) bool { return slices.Contains(d.tables[table], column) }

// attempts is the table of attempts.
func (d *database) attempts() string { return d.first("workspaces", "task_attempts") }

// first is the first table that there is, else the last.
func (d *database) first(tables ...string) string {
	for _, t := range tables {
		if d.tables[t] != nil {
			return t
		}
	}
	return tables[len(tables)-1]
}

// words is an expression for the first of these columns of a table that there is.
func (d *database) words(table string, columns ...string) string {
	for _, c := range columns {
		if d.has(table, c) {
			return fmt.Sprintf("substr(CAST(%s AS TEXT), 1, %d)", c, maxWords)
		}
	}
	return "NULL"
}

// id is words for a column that holds an id, which is a blob of 16 bytes, or text in
// some forks.
func (d *database) id(table string, columns ...string) string {
	for _, c := range columns {
		if d.has(table, c) {
			return fmt.Sprintf("CASE WHEN typeof(%s) = 'blob' THEN lower(hex(substr(%s, 1, 64))) ELSE substr(CAST(%s AS TEXT), 1, 100) END", c, c, c)
		}
	}
	return "NULL"
}

// each calls do with each row of a query for n texts; NULL is "".
func (d *database) each(query string, n int, do func(row []string) error) error {
	rows, err := d.tx.QueryContext(d.ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	cells, row, into := make([]sql.NullString, n), make([]string, n), make([]any, n)
	for i := range cells {
		into[i] = &cells[i]
	}
	for count := 0; rows.Next(); count++ {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, c := range cells {
			row[i] = c.String
			d.read += len(c.String)
		}
		if d.read > maxText || count == maxRows {
			return errLarge
		}
		if err := do(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// all is each over a whole table, its expressions given; nothing where there is no
// such table.
func (d *database) all(table, order string, do func(row []string) error, columns ...string) error {
	if d.tables[table] == nil {
		return nil
	}
	if !d.has(table, order) {
		order = "rowid"
	}
	return d.each("SELECT "+strings.Join(columns, ", ")+" FROM "+table+" ORDER BY "+order+", rowid", len(columns), do)
}

// uuid writes an id as people know it.
func uuid(id string) string {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}
