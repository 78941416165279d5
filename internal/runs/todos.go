package runs

import (
	"context"
	"errors"
	"io/fs"

	"forge/internal/git"
	"forge/internal/todos"
	"forge/internal/work"
)

// Todos reads a job's todos in commits.
type Todos struct{ repo *git.Store }

// Todos is what the todos in commit come to.
func (t Todos) Todos(ctx context.Context, commit string) (work.TodoCheck, error) {
	list, err := ReadTodos(ctx, t.repo, commit)
	return list.Check(), err
}

// ReadTodos reads the todos in commit. An error means that the commit could
// not be read; whatever stands in the file's place is a problem of the list.
func ReadTodos(ctx context.Context, repo *git.Store, commit string) (todos.List, error) {
	data, err := repo.File(ctx, commit, todos.File)
	var large *git.TooLargeError
	switch {
	case err == nil:
		return todos.Parse(data), nil
	case errors.Is(err, fs.ErrNotExist):
		return todos.Unreadable("is missing"), nil
	case errors.Is(err, git.ErrNotText):
		return todos.Unreadable("is not an ordinary file"), nil
	case errors.As(err, &large):
		return todos.Unreadable("is too large"), nil
	}
	return todos.List{}, err
}
