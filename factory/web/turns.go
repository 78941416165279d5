package web

import (
	"sync"

	"forge/internal/work"
)

// turns lets one change of a board after the other be decided. The board itself
// holds against changes at the same time, in other processes too: whoever comes
// second decides anew. Of many in one process it is cheaper to wait.
type turns struct {
	mu  sync.Mutex
	all map[string]*sync.Mutex
}

// do changes the board of a project when its turn has come.
func (t *turns) do(project string, change func() (work.Issue, error)) (work.Issue, error) {
	t.mu.Lock()
	if t.all == nil {
		t.all = map[string]*sync.Mutex{}
	}
	one := t.all[project]
	if one == nil {
		one = &sync.Mutex{}
		t.all[project] = one
	}
	t.mu.Unlock()
	one.Lock()
	defer one.Unlock()
	return change()
}
