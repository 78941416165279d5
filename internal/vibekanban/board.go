// Package vibekanban takes a board of Vibe Kanban along: reads it from that
// program's database or from the export of its cloud, decides what each task becomes
// here, and puts that onto a board, once.
//
// Facts about its files are from its public repository, BloopAI/vibe-kanban: the
// migrations and models of crates/db, and the export of crates/remote.
package vibekanban

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"forge/internal/refusal"
)

// Board is what a file holds, as it stands there.
type Board struct {
	Path     string
	Kind     Kind
	Projects []Project
	// Left is what of the file as a whole is not taken along, each a line.
	Left []string
}

// Kind is which kind of file it was.
type Kind string

// The kinds.
const (
	Database Kind = "database"
	Export   Kind = "export"
)

// Project is one project with its tasks, the oldest first.
type Project struct {
	ID    string // "" in an export
	Name  string
	Repos []string // folders; none in an export
	Tasks []Task
	Left  []string // what of it is not taken along, each a line
}

// Task is one task, as it stands there. All of it is text that somebody else wrote.
type Task struct {
	// Key is what the task is known by for good, whatever is changed of it there.
	Key  string
	Name string // as people call it there
	// Title and so on are its words; Status and Priority may be any word.
	Title, Description, Status, Priority string

	Labels      []string
	Blockers    []string // keys of the tasks that it waits for
	BlockedBy   []string // names of those that cannot be told which task they are
	Parent      string   // the title or the name of the task that it is a part of
	Attempts    []Attempt
	Pulls       []Pull // that are of no attempt
	Comments    []Comment
	Creator     string
	Assignees   string
	Created     string // as written there
	Start, Due  string
	Attachments []string // names, or what they are
}

// Attempt is one try at a task: an agent in a worktree of its own. The program's
// newer versions call it a workspace.
type Attempt struct {
	Branch  string
	Targets []string // the branches that it began from, with the repository where there are several
	Agent   string
	Created string
	Merged  []string // commits, with the branch that they are on
	Pulls   []Pull
}

// Pull is a pull request.
type Pull struct{ URL, Status, Target string }

// Comment is what somebody said about a task.
type Comment struct{ By, At, Words string }

// The bounds of a file. One that is larger is refused, not cut.
const (
	maxTasks = 20_000
	maxRows  = 500_000 // of anything else
	maxText  = 256 << 20
)

// Read reads a file, whichever kind it is. The file is not changed, and may be in
// use. Errors are the user's to mend, unless the context is over.
func Read(ctx context.Context, path string) (Board, error) {
	kind, err := kindOf(path)
	if err != nil {
		return Board{}, err
	}
	var b Board
	switch kind {
	case Database:
		b, err = readDatabase(ctx, path)
	case Export:
		b, err = readExport(path)
	}
	if err != nil && ctx.Err() != nil {
		return Board{}, ctx.Err()
	}
	b.Path, b.Kind = path, kind
	return b, err
}

// whatToName is the way out where a file is no board.
const whatToName = "name the database of Vibe Kanban, db.sqlite in its data folder, or the .zip that its cloud exports"

func kindOf(path string) (Kind, error) {
	// Asked first: to open a pipe would wait for who writes into it.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", refusal.New(whatToName, "%s is not a file", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", refusal.New(whatToName, "there is no file %s", path)
	}
	if err != nil {
		return "", refusal.New(whatToName, "%v", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", refusal.New("let this user read it", "%v", err)
	}
	defer func() { _ = f.Close() }()

	head := make([]byte, 16)
	n, err := io.ReadFull(f, head)
	switch head := string(head[:n]); {
	case head == "SQLite format 3\x00":
		return Database, nil
	case n >= 4 && head[:4] == "PK\x03\x04":
		return Export, nil
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return "", refusal.New(whatToName, "read %s: %v", path, err)
	}
	return "", refusal.New(whatToName, "%s is neither an SQLite database nor a .zip", path)
}
