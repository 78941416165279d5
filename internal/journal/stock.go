package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// table is one of a journal's tables, with the columns that tell its rows apart.
type table struct {
	name string
	key  string
	// counted is the column whose numbers are never given twice, "" = none.
	counted string
}

// tables are all of a journal, each after those that its rows refer to. Of
// processes that serve a board, or lead, nothing moves: they end before.
var tables = [...]table{
	{"runs", "n", ""}, {"events", "id", ""}, {"checkpoints", "id", ""}, {"inbox", "id", "id"},
	{"attempts", "run, command", ""}, {"usage", "run, command", ""}, {"states", "run", ""},
	{"projects", "n", ""}, {"issues", "project, id", ""}, {"issue_labels", "project, label, issue", ""},
	{"issue_needs", "project, issue, need", ""}, {"issue_history", "seq", "seq"}, {"claims", "project, issue", ""},
	{"floors", "project", ""}, {"tracker_issues", "tracker, remote", ""}, {"trackers", "tracker", ""},
	{"tracker_hooks", "tracker, delivery", ""}, {"travels", "run", ""}, {"schedules", "project, name", ""},
	{"posts", "place, subject", ""}, {"talks", "about, n", ""}, {"shared", "name", ""},
}

// TableSum is what a table holds: how many rows, and the sum of the hashes of
// them all, in whatever order they are.
type TableSum struct {
	Name string
	Rows int64
	Sum  Hash
}

// Stock is everything that a journal holds, counted.
type Stock struct {
	Tables []TableSum
	Blobs  int
	// Busy are who works with it, as sentences: nothing is moved under them.
	Busy []string
}

// Rows is how many rows a table has.
func (s *Stock) Rows(table string) int64 {
	for _, t := range s.Tables {
		if t.Name == table {
			return t.Rows
		}
	}
	return 0
}

// Count counts what a journal holds. (It and Move are no methods, so that a
// program that moves no journal does not have them.)
func Count(ctx context.Context, s *Store) (*Stock, error) {
	stock := &Stock{}
	var err error
	if stock.Busy, err = s.busyWith(ctx); err != nil {
		return nil, err
	}
	shas, err := s.blobNames(ctx)
	if err != nil {
		return nil, s.explain("list blobs", err)
	}
	stock.Blobs = len(shas)
	err = s.atLength(func() error {
		return s.write(ctx, s.durable, "count the journal", func(ctx context.Context, w *writer) (err error) {
			stock.Tables, err = sums(ctx, w)
			return err
		})
	})
	return stock, err
}

// busyWith names the live holders of runs and claims, and who serves a board.
func (s *Store) busyWith(ctx context.Context) (busy []string, err error) {
	rows, err := s.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Alive {
			busy = append(busy, fmt.Sprintf("process %d on %s works on run %s", r.Owner.PID, r.Owner.Host, r.ID))
		}
	}
	projects, err := s.Projects(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		claims, err := s.Claims(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		for _, c := range claims {
			if c.Owner != "" && !c.Dead && time.Since(c.Heartbeat) <= LeaseTimeout {
				busy = append(busy, fmt.Sprintf("process %d on %s works on issue %d of %s", c.PID, c.Host, c.Issue, p.ID))
			}
		}
		servers, err := s.Servers(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		for _, v := range servers {
			if !v.Dead {
				busy = append(busy, fmt.Sprintf("process %d on %s serves the board of %s", v.PID, v.Host, p.ID))
			}
		}
	}
	return busy, nil
}

// each goes through a table a page at a time, by its key.
func (t table) each(ctx context.Context, w *writer, do func(names []string, row []any) error) error {
	keys := strings.Split(t.key, ", ")
	first := `SELECT * FROM ` + t.name
	order := ` ORDER BY ` + t.key + fmt.Sprintf(` LIMIT %d`, eventPage)
	next := first + ` WHERE (` + t.key + `) > (?` + strings.Repeat(", ?", len(keys)-1) + `)` + order
	query, args := first+order, []any(nil)
	for {
		page, names, err := w.page(ctx, query, args)
		if err != nil {
			return err
		}
		for _, row := range page {
			if err := do(names, row); err != nil {
				return err
			}
		}
		if len(page) < eventPage {
			return nil
		}
		query, args = next, nil
		for _, key := range keys {
			for i, name := range names {
				if name == key {
					args = append(args, page[len(page)-1][i])
				}
			}
		}
	}
}

// page reads the rows of a query, as they are stored.
func (w *writer) page(ctx context.Context, query string, args []any) (page [][]any, names []string, err error) {
	stmt, err := w.stmt(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	if names, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		row, places := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			return nil, nil, err
		}
		page = append(page, row)
	}
	return page, names, rows.Err()
}

// sums counts all tables.
func sums(ctx context.Context, w *writer) (all []TableSum, err error) {
	var buf []byte
	for _, t := range tables {
		sum := TableSum{Name: t.name}
		err := t.each(ctx, w, func(names []string, row []any) error {
			var hash Hash
			if hash, buf, err = rowHash(buf, names, row); err != nil {
				return err
			}
			// No two rows are the same, so that none takes another's hash out.
			for i := range sum.Sum {
				sum.Sum[i] ^= hash[i]
			}
			sum.Rows++
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", t.name, err)
		}
		all = append(all, sum)
	}
	return all, nil
}

// rowHash is the hash of a row's values with the names of their columns, in the
// order of names: tables that were altered have them in another one.
func rowHash(buf []byte, names []string, row []any) (Hash, []byte, error) {
	var sum Hash
	for i, name := range names {
		buf = append(binary.AppendUvarint(buf[:0], uint64(len(name))), name...)
		switch v := row[i].(type) {
		case nil:
			buf = append(buf, 'n')
		case int64:
			buf = binary.AppendVarint(append(buf, 'i'), v)
		case float64:
			buf = binary.BigEndian.AppendUint64(append(buf, 'f'), math.Float64bits(v))
		case string:
			buf = append(append(buf, 't'), v...)
		case []byte:
			buf = append(append(buf, 'b'), v...)
		default:
			return sum, buf, fmt.Errorf("column %s has a value of a kind that no journal has: %T", name, v)
		}
		part := sha256.Sum256(buf)
		for j := range sum {
			sum[j] ^= part[j]
		}
	}
	// Values that changed places with another row's must not go unseen.
	return sha256.Sum256(sum[:]), buf, nil
}

// blobNames are the blobs that are there.
func (s *Store) blobNames(ctx context.Context) (shas []string, err error) {
	if s.server != nil {
		rows, err := s.readers.QueryContext(ctx, `SELECT DISTINCT sha FROM blobs ORDER BY sha`)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var sha string
			if err := rows.Scan(&sha); err != nil {
				return nil, err
			}
			shas = append(shas, sha)
		}
		return shas, rows.Err()
	}
	err = filepath.WalkDir(s.blobDir(), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == s.blobDir() {
			return fs.SkipAll
		}
		if err == nil && d.IsDir() && path == s.tempDir() {
			return fs.SkipDir
		}
		if raw, bad := hex.DecodeString(d.Name()); err == nil && !d.IsDir() && bad == nil && len(raw) == sha256.Size {
			shas = append(shas, d.Name())
		}
		return err
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return shas, err
}

// Place is where the journal stands, without a password.
func (s *Store) Place() string { return s.path }
