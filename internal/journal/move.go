package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forge/internal/work"
)

// ErrNotEmpty says that what a journal is to be moved into holds something.
var ErrNotEmpty = errors.New("the journal that is to take it is not empty")

// Move copies everything that a journal holds into another one, which is
// empty, in one transaction there, and holds the copy against the original row
// for row, and the chain of every run, before it is committed. Nothing else can
// write to the journal meanwhile; it is left as it was. It refuses while
// somebody works with it.
func Move(ctx context.Context, s, to *Store) (*Stock, error) {
	stock, err := Count(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(stock.Busy) > 0 {
		return stock, fmt.Errorf("move journal: %s; stop it first", strings.Join(stock.Busy, "; "))
	}
	shas, err := s.blobNames(ctx)
	if err != nil {
		return nil, s.explain("list blobs", err)
	}
	for _, sha := range shas {
		data, err := s.Blob(ctx, sha)
		if err != nil {
			return nil, err
		}
		if _, err := to.PutBlob(ctx, data); err != nil {
			return nil, err
		}
	}
	err = s.atLength(func() error {
		return s.write(ctx, s.durable, "move journal", func(ctx context.Context, from *writer) error {
			return to.atLength(func() error {
				return to.write(ctx, to.durable, "take over journal", func(ctx context.Context, into *writer) error {
					stock.Tables, err = copyAll(ctx, s, from, to, into)
					return err
				})
			})
		})
	})
	return stock, err
}

// atLength lets transactions of do take as long as they take.
func (s *Store) atLength(do func() error) error {
	s.longest.Store(int64(24 * time.Hour))
	defer s.longest.Store(int64(transactionTimeout))
	return do()
}

func copyAll(ctx context.Context, s *Store, from *writer, to *Store, into *writer) ([]TableSum, error) {
	before, err := sums(ctx, into)
	if err != nil {
		return nil, err
	}
	for _, t := range before {
		if t.Rows > 0 {
			return nil, fmt.Errorf("%s: %w: its table %s has %d rows", to.path, ErrNotEmpty, t.Name, t.Rows)
		}
	}
	for _, t := range tables {
		if err := t.copy(ctx, s, from, to, into); err != nil {
			return nil, fmt.Errorf("copy %s: %w", t.name, err)
		}
	}
	want, err := sums(ctx, from)
	if err != nil {
		return nil, err
	}
	got, err := sums(ctx, into)
	if err != nil {
		return nil, err
	}
	for i := range want {
		if want[i] != got[i] {
			return nil, fmt.Errorf("table %s has %d rows with the sum %s, and %d with %s came over", want[i].Name, want[i].Rows, want[i].Sum, got[i].Rows, got[i].Sum)
		}
	}
	return got, chains(ctx, to.path, into)
}

// copy copies a table, and the last number that it gave.
func (t table) copy(ctx context.Context, s *Store, from *writer, to *Store, into *writer) error {
	var columns string
	err := t.each(ctx, from, func(names []string, row []any) error {
		if columns == "" {
			columns = "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
		}
		_, err := into.exec(ctx, columns, row...)
		return err
	})
	if err != nil {
		return err
	}
	if to.server != nil && (t.key == "n" || t.counted != "") {
		var last int64
		if err := into.row(ctx, `SELECT coalesce(max(`+t.key+`), 0) FROM `+t.name, nil, &last); err != nil {
			return err
		}
		if err := to.server.SetLast(ctx, into.conn, t.name, t.key, last); err != nil {
			return err
		}
	}
	if t.counted == "" {
		return nil
	}
	last, err := s.lastNumber(ctx, from, t)
	if err != nil || last == 0 {
		return err
	}
	if to.server != nil {
		return to.server.SetLast(ctx, into.conn, t.name, t.counted, last)
	}
	if _, err := into.exec(ctx, `DELETE FROM sqlite_sequence WHERE name = ?`, t.name); err != nil {
		return err
	}
	_, err = into.exec(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)`, t.name, last)
	return err
}

// lastNumber is the last number that a table gave, also to a row that is gone.
func (s *Store) lastNumber(ctx context.Context, w *writer, t table) (last int64, err error) {
	if s.server != nil {
		return s.server.Last(ctx, w.conn, t.name, t.counted)
	}
	err = w.row(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?`, []any{t.name}, &last)
	return last, err
}

// chains holds the events of every run against its chain.
func chains(ctx context.Context, file string, w *writer) error {
	runs := map[int64]string{}
	if err := (table{name: "runs", key: "n"}).each(ctx, w, func(names []string, row []any) error {
		var n int64
		var id string
		for i, name := range names {
			switch name {
			case "n":
				n, _ = row[i].(int64)
			case "id":
				id, _ = row[i].(string)
			}
		}
		runs[n] = id
		return nil
	}); err != nil {
		return err
	}
	for n, run := range runs {
		prev, seq, buf := Root(run), int64(0), []byte(nil)
		for {
			page, _, err := w.page(ctx, selectEvents, []any{eventID(n, seq), eventID(n+1, 0), eventPage})
			if err != nil {
				return err
			}
			for _, row := range page {
				seq++
				e, hash, ok := eventOf(run, n, row)
				if prev, buf = link(buf, prev, e); !ok || e.Seq != seq || string(prev[:]) != string(hash) {
					return &BrokenError{File: file, Run: run, Seq: seq, What: "it or one before it was changed: the hash does not match"}
				}
			}
			if len(page) < eventPage {
				break
			}
		}
	}
	return nil
}

// eventOf is a row of selectEvents.
func eventOf(run string, n int64, row []any) (e work.Event, hash []byte, ok bool) {
	number := func(i int) int64 { v, is := row[i].(int64); ok = ok && is; return v }
	text := func(i int) string { v, is := row[i].(string); ok = ok && is; return v }
	ok = true
	e = work.Event{
		Run: run, Seq: number(0) - eventID(n, 0), Time: fromNano(number(1)), Kind: work.EventKind(text(2)), V: int(number(3)),
		Phase: text(4), Iteration: int(number(5)), Attempt: int(number(6)), Data: []byte(text(7)),
	}
	hash, is := row[8].([]byte)
	return e, hash, ok && is
}

// MarkMoved marks the journal of a server as moved to another place: whoever
// opens it is told.
func MarkMoved(ctx context.Context, s *Store, to string) error {
	return s.write(ctx, s.durable, "mark the journal as moved", func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, `INSERT INTO moved (place, at) VALUES (?, ?)`, to, s.now().UnixNano())
		return err
	})
}
