package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/work"
	"forge/orchestrator"
)

// A worker that goes on although another one has taken its iteration over: what it
// makes is refused, kept and said, whoever of the two is done first; the other one's
// counts.
func TestFenced(t *testing.T) {
	env := projecttest.New(t, "", "")
	p, err := project.Open(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Machine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	base := p.Base.Commit
	if base == "" {
		t.Fatal("the project has no commit")
	}
	if err := m.Repo.KeepBase(t.Context(), "r", base); err != nil {
		t.Fatal(err)
	}
	for name, orphanFirst := range map[string]bool{"the orphan is done first": true, "the other one is done first": false} {
		t.Run(name, func(t *testing.T) {
			ref := orchestrator.Ref("r", "01/"+map[bool]string{true: "1-1", false: "2-1"}[orphanFirst])
			it := orchestrator.IterateEffect{Command: orchestrator.Command{ID: "r/01/1/1/iterate"}, Parent: base, Ref: ref, Message: "work"}
			// snapshot is what an agent's work ends in.
			snapshot := func(of orchestrator.Effect, text string) orchestrator.Fact {
				e := of.(orchestrator.IterateEffect)
				dir := filepath.Join(t.TempDir(), "work")
				if err := m.Repo.OpenFolder(t.Context(), dir, base); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "made.txt"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				snap, err := m.Repo.Snapshot(t.Context(), dir, e.Parent, e.Ref, e.Message)
				if err != nil {
					t.Fatal(err)
				}
				return orchestrator.IterationDone{Command: e.Command, Report: work.IterationReport{Outcome: work.OutcomeOK}, Snapshot: snap}
			}
			said := ""
			refused := func(ref string) { said = ref }
			var other orchestrator.Fact
			takeOver := func(of orchestrator.Effect) orchestrator.Fact {
				other = fenced(t.Context(), m.Repo, "r", "second", it, func(of orchestrator.Effect) orchestrator.Fact { return snapshot(of, "second\n") }, refused)
				return nil
			}
			orphan := fenced(t.Context(), m.Repo, "r", "first", it, func(of orchestrator.Effect) orchestrator.Fact {
				if orphanFirst {
					made := snapshot(of, "first\n")
					takeOver(of)
					return made
				}
				takeOver(of)
				return snapshot(of, "first\n")
			}, refused)
			done, is := orphan.(orchestrator.IterationDone)
			if !is || done.Report.Outcome != work.OutcomeInterrupted || !strings.Contains(done.Report.Detail, "refused") || done.Snapshot.Commit != "" {
				t.Errorf("of the orphan: %+v", orphan)
			}
			counts, is := other.(orchestrator.IterationDone)
			if got, err := m.Repo.ReadRef(t.Context(), ref); !is || err != nil || got == "" || got != counts.Snapshot.Commit {
				t.Errorf("the run has %q, %v; want that of %+v", got, err, other)
			}
			if got, err := m.Repo.ReadRef(t.Context(), said); said != orchestrator.Ref("r", "try/first") || err != nil || got == "" {
				t.Errorf("what is refused is said to be at %q, which is at %q, %v", said, got, err)
			}
		})
	}
}
