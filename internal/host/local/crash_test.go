package local

import (
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// A Forge that dies in the middle of a merge has made it or not; the next one
// finds out which, whatever happened to the branches meanwhile, and tells the
// commit that was really merged on.
func TestLocalDeathInMerge(t *testing.T) {
	for _, tt := range []struct {
		name      string
		landed    bool // the base has moved, and the record does not say so
		meanwhile func(t *testing.T, h *Host, w *hosttest.World, base, head string)
	}{
		{"before the base moved", false, nil},
		{"after it", true, nil},
		{"after it, and the base went on", true, func(t *testing.T, h *Host, w *hosttest.World, base, _ string) {
			push(t, h, "main", w.Commit(t, base, "later\n", map[string]string{"l": "l\n"}), base)
		}},
		{"after it, and somebody pushed to the branch", true, func(t *testing.T, h *Host, w *hosttest.World, _, head string) {
			push(t, h, "forge/b", w.Commit(t, head, "unseen\n", map[string]string{"u": "u\n"}), head)
		}},
		{"after it, and the branch was deleted", true, func(t *testing.T, h *Host, _ *hosttest.World, _, head string) {
			if err := h.DeleteBranch(t.Context(), "forge/b", head); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, start := hosttest.NewStore(t)
			w := &hosttest.World{Store: store}
			dir := t.TempDir()
			h := New(Config{Store: store, Dir: dir})
			push(t, h, "main", start, "")
			head := w.Commit(t, start, "x\n", map[string]string{"b": "b\n"})
			push(t, h, "forge/b", head, "")
			p, err := h.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: "forge/b", Base: "main", Title: text.Titled("t")})
			if err != nil {
				t.Fatal(err)
			}
			m := work.PullMerge{Number: p.Number, Branch: "forge/b", Base: "main", Head: head, Title: text.Titled("t")}
			made, err := h.Merge(t.Context(), m)
			if err != nil || made.Parent != start {
				t.Fatalf("merged: %+v, %v", made, err)
			}
			// Back to what stood there when it died.
			r, err := h.read(p.Number)
			if err != nil {
				t.Fatal(err)
			}
			r.State, r.MergeCommit, r.MergedBy, r.Making = work.PullOpen, "", "", made.Commit
			if err := h.write(r); err != nil {
				t.Fatal(err)
			}
			if !tt.landed {
				if err := store.UpdateRef(t.Context(), "refs/heads/main", start, made.Commit); err != nil {
					t.Fatal(err)
				}
			}
			if tt.meanwhile != nil {
				tt.meanwhile(t, h, w, made.Commit, head)
			}
			before, err := h.Head(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}

			h = New(Config{Store: store, Dir: dir})
			if now, err := h.Pull(t.Context(), p.Number); err != nil || (now.State == work.PullMerged) != tt.landed || tt.landed && (now.Head != head || now.MergeCommit != made.Commit) {
				t.Errorf("looked at: %+v, %v", now, err)
			}
			if tt.landed {
				other := m
				other.Head = w.Commit(t, head, "another\n", map[string]string{"a": "a\n"})
				if _, err := h.Merge(t.Context(), other); work.HostKindOf(err) != work.HostPullMerged {
					t.Errorf("another head: %v", err)
				}
			}
			for range 2 {
				got, err := h.Merge(t.Context(), m)
				if err != nil || got.Parent != start || tt.landed && got.Commit != made.Commit {
					t.Errorf("merged again: %+v %v, was %+v on %s", got, err, made, start)
				}
				at, err := h.Head(t.Context(), "main")
				if err != nil || tt.landed && at != before || !tt.landed && at != got.Commit {
					t.Errorf("the base is at %s (%v), was at %s", at, err, before)
				}
			}
			if r, err := h.read(p.Number); err != nil || r.State != work.PullMerged || r.Making != "" || r.BaseHead != start {
				t.Errorf("the record: %+v, %v", r, err)
			}
		})
	}
}

func push(t *testing.T, h *Host, branch, commit, old string) {
	t.Helper()
	if err := h.Push(t.Context(), branch, commit, old); err != nil {
		t.Fatal(err)
	}
}
