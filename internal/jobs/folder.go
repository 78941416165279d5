package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"forge/internal/git"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/todos"
	"forge/internal/work"
	"forge/orchestrator"
)

// Folder is what a job's folder holds in one commit: its documents.
type Folder struct {
	Commit    string     `json:"commit"`
	Plan      string     `json:"plan"`      // plan.md; "" = there is none
	Workspace string     `json:"workspace"` // workspace.md
	Todos     todos.List `json:"todos"`
	Tools     []string   `json:"tools"`
	Documents []string   `json:"documents"`
	Archive   []string   `json:"archive"`
}

// maxDocument is how much of a document is shown, in bytes.
const maxDocument = 64 << 10

// ReadFolder reads the documents of a job in commit. They were written by an
// agent: what is no ordinary text is said in its place.
func ReadFolder(ctx context.Context, repo *git.Store, commit string) (Folder, error) {
	out := Folder{Commit: commit, Tools: []string{}, Documents: []string{}, Archive: []string{}}
	files, err := repo.Files(ctx, commit)
	if err != nil {
		return out, err
	}
	for _, f := range files {
		for folder, into := range map[string]*[]string{"tools/": &out.Tools, "documents/": &out.Documents, "archive/": &out.Archive} {
			if name, ok := strings.CutPrefix(f, work.JobDir+"/"+folder); ok {
				*into = append(*into, name)
			}
		}
	}
	for name, into := range map[string]*string{"plan.md": &out.Plan, "workspace.md": &out.Workspace} {
		if *into, err = readDocument(ctx, repo, commit, work.JobDir+"/"+name); err != nil {
			return out, err
		}
	}
	out.Todos, err = runs.ReadTodos(ctx, repo, commit)
	return out, err
}

func readDocument(ctx context.Context, repo *git.Store, commit, path string) (string, error) {
	data, err := repo.File(ctx, commit, path)
	var large *git.TooLargeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, git.ErrNotText):
		return "(" + path + " is not an ordinary file)", nil
	case errors.As(err, &large):
		return "(" + path + " is too large to be shown)", nil
	case err != nil:
		return "", err
	}
	shown := text.Cut(string(data), maxDocument)
	if left := len(data) - maxDocument; left > 0 {
		shown += fmt.Sprintf("\n(and %d bytes more)", left)
	}
	return shown, nil
}

// FolderCommit is the commit in which a job's documents stand now.
func FolderCommit(s *orchestrator.State) string {
	if last := LastPhase(s); last != nil && last.Last != "" && last.Outcome != work.PhaseDone {
		return last.Last
	}
	return s.Head
}

// LastPhase is the phase of a job that was added last, nil = none.
func LastPhase(s *orchestrator.State) *orchestrator.View {
	var last *orchestrator.View
	for _, n := range s.Order {
		if ph := s.View(n); ph.Parent == "" {
			last = ph
		}
	}
	return last
}
