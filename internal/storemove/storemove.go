// Package storemove moves the journal of a checkout between its file and the
// database of several machines.
package storemove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
)

// The places between which it moves.
const (
	Postgres = "postgres"
	SQLite   = "sqlite"
)

// Run says what there is to move to a place, and with yes moves it.
func Run(ctx context.Context, p *project.Checkout, to string, yes bool, out io.Writer) error {
	m, err := prepare(ctx, p, to)
	if err != nil {
		return err
	}
	defer m.close()
	if _, err := io.WriteString(out, m.text()); err != nil {
		return err
	}
	end := "Nothing was moved: --yes moves it."
	if yes {
		if err := m.do(ctx); err != nil {
			return err
		}
		end = "Moved, and held against the original row by row. The original is marked and stays."
	}
	_, err = fmt.Fprintln(out, end)
	return err
}

// move is a journal that can be moved, with both ends open.
type move struct {
	p        *project.Checkout
	from, to *journal.Store
	fresh    string // folder in which the file is made; "" = it is the database that takes it
	stock    *journal.Stock
}

// prepare opens both ends and counts what there is. Nothing is changed but that
// an empty database gets its tables.
func prepare(ctx context.Context, p *project.Checkout, to string) (*move, error) {
	if to != Postgres && to != SQLite {
		return nil, refusal.New("forge store move --to postgres or --to sqlite", "a journal cannot be moved to %q", to)
	}
	m := &move{p: p}
	if err := m.open(ctx, to); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *move) open(ctx context.Context, to string) (err error) {
	if to == Postgres {
		if err := m.openFile(ctx); err != nil {
			return err
		}
		m.to, err = m.p.OpenDatabase(ctx)
	} else {
		m.fresh = filepath.Join(m.p.State, ".tmp-move")
		m.from, err = m.p.OpenDatabase(ctx)
	}
	if err == nil {
		m.stock, err = journal.Count(ctx, m.from)
	}
	return err
}

// openFile opens the journal of the state folder as what is moved.
func (m *move) openFile(ctx context.Context) error {
	moved, err := m.p.Moved()
	if err != nil {
		return err
	}
	if moved != nil {
		return refusal.New("nothing is left to do", "the journal of this checkout was moved to %s", moved.To)
	}
	if _, err := os.Stat(m.p.JournalFile()); errors.Is(err, fs.ErrNotExist) {
		return refusal.New("nothing is left to do", "this checkout has no journal that could be moved")
	}
	m.from, err = journal.Open(ctx, m.p.State)
	return err
}

// close closes both ends.
func (m *move) close() {
	for _, s := range []*journal.Store{m.from, m.to} {
		if s == nil {
			continue
		}
		if err := s.Close(); err != nil {
			m.p.Log.Warn("close the journal", "err", err)
		}
	}
	m.from, m.to = nil, nil
}

// text is what would be moved, and who is in the way.
func (m *move) text() string {
	place := m.p.JournalFile()
	if m.to != nil {
		place = m.to.Place()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "From  %s\nTo    %s\n", m.from.Place(), place)
	for _, t := range m.stock.Tables {
		if t.Rows > 0 {
			fmt.Fprintf(&b, "%9d  %-15s %.12s\n", t.Rows, t.Name, t.Sum)
		}
	}
	fmt.Fprintf(&b, "%9d  blobs\n", m.stock.Blobs)
	for _, who := range m.stock.Busy {
		fmt.Fprintf(&b, "In the way: %s\n", who)
	}
	return b.String()
}

// do moves it: a copy is made, held against the original, and only then the
// original is marked, so that nobody goes on with it. Where it fails the original
// is what counts, as before.
func (m *move) do(ctx context.Context) error {
	if len(m.stock.Busy) > 0 {
		return refusal.New("stop it first", "the journal is in use: %s", strings.Join(m.stock.Busy, "; "))
	}
	if m.fresh == "" {
		if err := m.carry(ctx); err != nil {
			return err
		}
		return m.p.MarkMoved(&project.Moved{To: m.to.Place(), At: m.p.Now().UTC()})
	}
	// What an earlier try left.
	if err := os.RemoveAll(m.fresh); err != nil {
		return fmt.Errorf("make room for the journal: %w", err)
	}
	var err error
	if m.to, err = journal.Open(ctx, m.fresh); err != nil {
		return err
	}
	if err := m.carry(ctx); err != nil {
		return err
	}
	err = m.to.Close()
	m.to = nil
	if err != nil {
		return err
	}
	if err := m.settle(); err != nil {
		return err
	}
	return journal.MarkMoved(ctx, m.from, m.p.JournalFile())
}

func (m *move) carry(ctx context.Context) error {
	stock, err := journal.Move(ctx, m.from, m.to)
	if errors.Is(err, journal.ErrNotEmpty) {
		return refusal.New("name an empty database or schema", "%v", err)
	}
	if err == nil {
		m.stock = stock
	}
	return err
}

// settle puts the new file into the place of the old one, which is put aside
// with its blobs.
func (m *move) settle() error {
	aside := filepath.Join(m.p.State, "journal.old-"+m.p.Now().UTC().Format("20060102-150405"))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return fmt.Errorf("put the old journal aside: %w", err)
	}
	for _, name := range []string{"journal.db", "journal.db-wal", "journal.db-shm", "blobs"} {
		if err := os.Rename(filepath.Join(m.p.State, name), filepath.Join(aside, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put the old journal aside: %w", err)
		}
	}
	// The blobs first: a database without them would be whole and broken.
	for _, name := range []string{"blobs", "journal.db"} {
		if err := os.Rename(filepath.Join(m.fresh, name), filepath.Join(m.p.State, name)); err != nil && (name == "journal.db" || !errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("put the journal into its place: %w", err)
		}
	}
	if err := os.RemoveAll(m.fresh); err != nil {
		return fmt.Errorf("put the journal into its place: %w", err)
	}
	_ = os.Remove(aside) // where there was none, it is empty
	return m.p.MarkMoved(nil)
}
