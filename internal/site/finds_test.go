package site

import (
	"testing"

	"forge/factory"
	"forge/internal/project/projecttest"
	"forge/internal/worker"
)

// What is read for a search outlives whoever asked, and not the server.
func TestReadingEndsWithTheServer(t *testing.T) {
	t.Parallel()
	env := projecttest.New(t, "", "")
	w, err := worker.Open(t.Context(), env, env.Dir, factory.NewConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := finds{newView(w.Checkout)}
	f.gather(t.Context())
	f.find.end()
	select {
	case <-f.gather(t.Context()):
	default:
		t.Error("a reading began after the end")
	}
	if f.find.over != nil || f.find.filling {
		t.Errorf("it goes on: %v, %v", f.find.over != nil, f.find.filling)
	}
}
