//go:build real

package cli

import (
	"testing"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
)

func TestRealGiteaIssues(t *testing.T) {
	g := hosttest.StartCrowd(t, hosttest.AsShipped)
	world := func(t *testing.T, level string) *issueWorld {
		repo := g.Repo(t, false)
		w := newWorld(t, inThreads(workerScript, "I wrote it in capitals."))
		store, head := w.storeOf()
		h, err := gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: repo, Token: g.Tokens["forge"], Store: store, Transport: g.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Push(t.Context(), "main", head, ""); err != nil {
			t.Fatal(err)
		}
		s := &issueWorld{pullWorld: &pullWorld{world: w, host: h, people: g.People(repo), store: store}}
		s.issue("gitea", g.URL, "owner/"+repo, g.Tokens["forge"], level)
		return s
	}
	t.Run("Merged", func(t *testing.T) { world(t, "end_to_end").merged() })
	t.Run("Reviewed", func(t *testing.T) { world(t, "plan_then_review").reviewed() })
	t.Run("ByHand", func(t *testing.T) { world(t, "plan_then_review").mergedByHand() })
	t.Run("Waits", func(t *testing.T) { world(t, "end_to_end").waits() })
	t.Run("OnTop", func(t *testing.T) { world(t, "plan_then_review").onTop() })
	t.Run("Conflicts", func(t *testing.T) { world(t, "plan_then_review").conflicts() })
	t.Run("SentBack", func(t *testing.T) { world(t, "end_to_end").sentBack() })
}
