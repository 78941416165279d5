package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/journal"
	"forge/internal/refusal"
)

// openServer opens the journal that a server keeps. The state folder of this
// machine has its own key, and folders of runs.
func (p *Checkout) openServer(ctx context.Context) error {
	if moved, err := p.Moved(); err != nil {
		return err
	} else if _, err := os.Stat(p.JournalFile()); err == nil && moved == nil {
		return refusal.New("forge store move --to postgres takes its runs and issues along; set the file aside to begin without them",
			"store.url_env names a database, and the journal of this checkout is still in %s", p.JournalFile())
	}
	var err error
	p.Journal, err = p.OpenDatabase(ctx)
	return err
}

// OpenDatabase opens the journal of the server, whatever is in the state folder.
func (p *Checkout) OpenDatabase(ctx context.Context) (*journal.Store, error) {
	if err := p.readyServer(); err != nil {
		return nil, err
	}
	return p.Stores(ctx, p.Server, p.Getenv(p.Server), func(what string) { p.Log.Warn(what) })
}

// readyServer makes the state folder for a journal that is elsewhere.
func (p *Checkout) readyServer() error {
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return refusal.New("set FORGE_STATE_DIR to a folder that can be written", "make the state folder: %v", err)
	}
	if err := p.makeKey(); err != nil {
		return err
	}
	return p.CheckKey()
}

// JournalFile is the journal where no server has it.
func (p *Checkout) JournalFile() string { return filepath.Join(p.State, "journal.db") }

// Moved is the mark of a journal that was moved out of its file: the file stays
// as it was then, and is not written any more.
type Moved struct {
	To string    `json:"to"` // where it is, without a password
	At time.Time `json:"at"`
}

func (p *Checkout) movedFile() string { return filepath.Join(p.State, "journal.moved") }

// Moved is the mark, nil where there is none.
func (p *Checkout) Moved() (*Moved, error) {
	text, err := os.ReadFile(p.movedFile())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil // whoever looks for the journal says what is wrong with the folder
	}
	var m Moved
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return nil, refusal.New("mend or remove it", "read where the journal was moved to, %s: %v", p.movedFile(), err)
	}
	return &m, nil
}

// MarkMoved sets the mark; nil takes it away.
func (p *Checkout) MarkMoved(m *Moved) error {
	if m == nil {
		if err := os.Remove(p.movedFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take the mark of the moved journal away: %w", err)
		}
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mark the journal as moved: %w", err)
	}
	return atomicfile.Write(p.movedFile(), append(text, '\n'), 0o600)
}

// stays refuses the journal of the state folder when it was moved away.
func (p *Checkout) stays() error {
	m, err := p.Moved()
	if err == nil && m != nil {
		err = refusal.New("set store.url_env again; forge store move --to sqlite brings it back", "the journal of this checkout was moved to %s", m.To)
	}
	return err
}
