package board

import (
	"os"
	"testing"

	"forge/factory"
	"forge/internal/project/projecttest"
	"forge/internal/work"
)

// A board is made by who changes it, and stays that of a folder that was moved.
func TestOpen(t *testing.T) {
	t.Parallel()
	env := projecttest.New(t, "", "")
	open := func(change bool) *Opened {
		t.Helper()
		b, err := Open(t.Context(), env, change)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	if b := open(false); !b.None {
		t.Errorf("who only looks made a board: %q", b.Project)
	}

	b := open(true)
	var ids []int64
	for _, parent := range []int64{0, 1, 0, 1, 2} {
		i, err := b.Add(t.Context(), work.Issue{Title: "x", Priority: work.PriorityNormal, Column: work.ColumnBacklog, Parent: parent}, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "test"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i.ID)
	}
	parts, err := b.Parts(t.Context(), ids[0])
	if err != nil || len(parts) != 2 || parts[0].ID != ids[1] || parts[1].ID != ids[3] {
		t.Errorf("parts %+v, %v", parts, err)
	}

	moved := env.Dir + "-moved"
	if err := os.Rename(env.Dir, moved); err != nil {
		t.Fatal(err)
	}
	env.Dir = moved
	if again := open(true); again.None || again.Project != b.Project {
		t.Errorf("after it was moved the board is %q, was %q", again.Project, b.Project)
	}
}
