package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/gates"
	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// World is what a run is driven in; it outlives the processes that drive it. It
// carries out the effects itself: each is done at once, and every phase claims its
// promise in its first iteration. A law may put something else in the place of
// some. What an engine does that none may do is noted.
type World struct {
	Spec      orchestrator.Spec
	Journal   *Journal
	Processes *Processes
	Now       func() time.Time

	mu       sync.Mutex
	instead  func(ctx context.Context, e orchestrator.Effect) (fact orchestrator.Fact, done bool)
	did      []attempt
	going    map[work.CommandID]bool
	left     []attempt // of processes that died: begun, and without a result on record
	problems []error
	process  int
}

// attempt is one time that an effect was carried out.
type attempt struct {
	effect  orchestrator.Effect
	mark    string
	process int
}

// Run is the id of the run of every world.
const Run = "suite"

// NewWorld is a world in which no run was opened yet; phases may name what they
// come after: "02 after 01". Persons decide at the points.
func NewWorld(phases []string, points ...gates.Point) (*World, error) {
	policy, ok := gates.Preset(gates.PresetFull)
	if !ok {
		return nil, errors.New("there is no preset that asks nobody")
	}
	for _, at := range points {
		policy.Gates[at] = gates.Human
	}
	verify := []string{"make test"}
	sp := orchestrator.Spec{
		Policy: policy, Branch: "forge/run-" + Run, Base: work.Base{Commit: "base", Branch: "main"},
		Settings: work.Settings{
			MaxParallel: 4, Verify: work.VerifySettings{Commands: verify}, Proof: work.ProofSettings{NoControls: true},
			Agents: map[string]work.AgentSettings{"a": {Name: "a"}}, Phases: map[string]work.PhaseSettings{},
		},
	}
	for _, line := range phases {
		number, needs, _ := strings.Cut(line, " after ")
		ph := work.Phase{Number: number, Name: "phase " + number, Promise: "P" + number}
		if needs != "" {
			ph.DependsOn = strings.Split(needs, ",")
		}
		sp.Plan.Phases = append(sp.Plan.Phases, ph)
		sp.Settings.Phases[number] = work.PhaseSettings{Budget: 5, Agent: "a", Permission: work.PermissionStandard, Verify: verify}
	}
	return &World{Spec: sp, Journal: NewJournal(), Processes: &Processes{}, Now: time.Now, going: map[work.CommandID]bool{}}, nil
}

// Slow lets each effect take as long as said before it ends as usual.
func (w *World) Slow(long func(orchestrator.Effect) time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.instead = func(ctx context.Context, e orchestrator.Effect) (orchestrator.Fact, bool) {
		select {
		case <-time.After(long(e)):
		case <-ctx.Done():
		}
		return nil, false
	}
}

// state is what the journal holds.
func (w *World) state() (*orchestrator.State, error) {
	s, err := orchestrator.NewState(Run, w.Spec)
	if err != nil {
		return nil, err
	}
	w.Journal.Lock()
	defer w.Journal.Unlock()
	for _, e := range w.Journal.Events {
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// drive is one process: it takes the run up where the journal ends. Beside how it
// ended, it returns what may not be.
func (w *World) drive(ctx context.Context, c Candidate) (work.RunFinishedData, error, error) {
	s, err := w.state()
	if err != nil {
		return work.RunFinishedData{}, nil, err
	}
	first := orchestrator.Fact(orchestrator.Opened{Inline: &w.Spec})
	if s.Seq > 0 {
		first = orchestrator.Resumed{}
	}
	w.mu.Lock()
	w.process++
	w.mu.Unlock()
	got, failed := c.Engine(w).Run(ctx, s, first)

	w.mu.Lock()
	defer w.mu.Unlock()
	problems := w.problems
	for id := range w.going {
		problems = append(problems, fmt.Errorf("the process has ended, and %s is under way", id))
	}
	for _, a := range w.did {
		if failed != nil && a.process == w.process && len(w.about(a.effect.Of().ID)) < 2 {
			w.left = append(w.left, a)
		}
	}
	return got, failed, errors.Join(problems...)
}

// ends is one process that comes to an outcome.
func (w *World) ends(ctx context.Context, c Candidate, want ...work.RunOutcome) (work.RunOutcome, error) {
	got, failed, err := w.drive(ctx, c)
	if err = errors.Join(failed, err); err != nil {
		return got.Outcome, err
	}
	if !slices.Contains(want, got.Outcome) {
		return got.Outcome, fmt.Errorf("the run ended %q (%s), want one of %q", got.Outcome, got.Reason, want)
	}
	s, err := w.state()
	if err == nil && s.Outcome != got.Outcome {
		err = fmt.Errorf("the run ended %q, and its record says %q", got.Outcome, s.Outcome)
	}
	return got.Outcome, err
}

// Completes drives the run once, and says what kept it from being completed.
func (w *World) Completes(ctx context.Context, c Candidate) error {
	_, err := w.ends(ctx, c, work.RunCompleted)
	return err
}

// about are the events that name a command.
func (w *World) about(id work.CommandID) []work.Event {
	w.Journal.Lock()
	defer w.Journal.Unlock()
	return slices.DeleteFunc(slices.Clone(w.Journal.Events), func(e work.Event) bool { return named(e) != id })
}

// named is the command that an event is about, "" = none.
func named(e work.Event) work.CommandID {
	var d struct{ Command, ID work.CommandID }
	if json.NewDecoder(bytes.NewReader(e.Data)).Decode(&d) != nil {
		return ""
	}
	for _, id := range []work.CommandID{d.Command, d.ID} {
		if strings.HasPrefix(string(id), Run+"/") {
			return id
		}
	}
	return ""
}

// once says which result of a command is on record twice.
func (w *World) once() error {
	w.Journal.Lock()
	defer w.Journal.Unlock()
	seen := map[string]bool{}
	for _, e := range w.Journal.Events {
		key := fmt.Sprintf("%s of %s", e.Kind, named(e))
		if named(e) == "" || strings.HasSuffix(string(e.Kind), "started") {
			continue
		}
		if seen[key] {
			return fmt.Errorf("%s is on record twice", key)
		}
		seen[key] = true
	}
	return nil
}

// count is how many events of a kind there are.
func (w *World) count(kind work.EventKind) (n int) {
	w.Journal.Lock()
	defer w.Journal.Unlock()
	for _, e := range w.Journal.Events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// question is the open checkpoint about a phase.
func (w *World) question(phase string) (string, error) {
	s, err := w.state()
	if err != nil {
		return "", err
	}
	for id, cp := range s.Open {
		if cp.Phase == phase {
			return id, nil
		}
	}
	return "", fmt.Errorf("nothing is asked about phase %s", phase)
}

// answers hands an answer to the run as a door does.
func (w *World) answers(c Candidate, a work.Answer) error {
	a.By, a.Door = "test", "cli"
	if c.Answer != nil {
		return c.Answer(w, a)
	}
	w.Journal.Lock()
	defer w.Journal.Unlock()
	w.Journal.Answer(a)
	return nil
}

func (w *World) wrong(format string, args ...any) {
	w.problems = append(w.problems, fmt.Errorf(format, args...))
}

// Do carries an effect out, and looks at what the engine did before.
func (w *World) Do(ctx context.Context, e orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	c := e.Of()
	w.begin(e, a)
	defer func() {
		w.mu.Lock()
		delete(w.going, c.ID)
		w.mu.Unlock()
	}()
	w.mu.Lock()
	instead := w.instead
	w.mu.Unlock()
	if instead != nil {
		if fact, done := instead(ctx, e); done {
			return fact
		}
	}
	return w.usual(e)
}

func (w *World) begin(e orchestrator.Effect, a effect.Attending) {
	c, record := e.Of(), w.about(e.Of().ID)
	w.Processes.Lock()
	ended := slices.Clone(w.Processes.Ended)
	w.Processes.Unlock()
	w.Journal.Lock()
	length := int64(len(w.Journal.Events))
	w.Journal.Unlock()

	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(record) == 0:
		w.wrong("%s is carried out before its beginning is on record", c.ID)
	case w.going[c.ID]:
		w.wrong("%s is carried out twice at the same time", c.ID)
	case a.Mark == "" || slices.ContainsFunc(w.did, func(o attempt) bool { return o.mark == a.Mark }):
		w.wrong("%s is carried out under the mark %q, which is not its own", c.ID, a.Mark)
	}
	for _, l := range w.left {
		if l.process < w.process && !slices.Contains(ended, l.mark) {
			w.wrong("%s begins beside what a process that died left of %s", c.ID, l.effect.Of().ID)
		}
	}
	if land, ok := e.(orchestrator.LandEffect); ok {
		if h := land.Journal; h.Count < 1 || h.Count > length || h.Hash != fmt.Sprintf("hash-%d", h.Count) {
			w.wrong("%s lands with a journal of %+v, which has %d events", c.ID, h, length)
		}
	}
	w.going[c.ID] = true
	w.did = append(w.did, attempt{effect: e, mark: a.Mark, process: w.process})
}

// usual is the fact of an effect that nothing keeps from being done.
func (w *World) usual(e orchestrator.Effect) orchestrator.Fact {
	c := e.Of()
	switch e := e.(type) {
	case orchestrator.FolderEffect:
		return orchestrator.FolderDone{Command: c, Setup: work.CommandsReport{OK: true}}
	case orchestrator.IterateEffect:
		at := fmt.Sprintf("%s-%d-%d", c.Phase, c.Iteration, c.Attempt)
		return orchestrator.IterationDone{
			Command:  c,
			Report:   work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{"P" + c.Phase}, Sandbox: "none"},
			Snapshot: work.Snapshot{Commit: "commit-" + at, Tree: "tree-" + at, Changed: true, Files: []work.FileChange{{Path: c.Phase + ".txt", Status: "A"}}},
		}
	case orchestrator.VerifyEffect:
		done := orchestrator.VerifyDone{Command: c, Rides: e.Rides, Report: work.CommandsReport{OK: true}}
		if e.Rides == "" {
			done.Report.Ran = []work.CommandReport{{Command: "make test", OK: true}}
		}
		if e.Judge {
			done.Evidence = &work.EvidenceReport{Product: []string{c.Phase + ".txt"}}
		}
		return done
	case orchestrator.MergeEffect:
		return orchestrator.MergeDone{Command: c, Result: merged(e, e.Head)}
	case orchestrator.TrainEffect:
		done, head := orchestrator.TrainDone{Command: c}, e.Head
		for _, one := range e.Members {
			done.Links = append(done.Links, orchestrator.TrainLink{Phase: one.Command.Phase, Result: merged(one, head)})
			head = "with " + one.Last
		}
		return done
	case orchestrator.LandEffect:
		done := orchestrator.LandDone{Command: c, Commit: "landed-" + c.Phase}
		for _, one := range e.Before {
			done.Before = append(done.Before, orchestrator.Landed{Phase: one.Phase, Commit: "landed-" + one.Phase})
		}
		return done
	case orchestrator.DeliverEffect:
		return orchestrator.DeliverDone{Command: c, Delivery: work.Delivery{Branch: e.Branch, Commit: c.Commit, FastForwarded: true}}
	}
	return orchestrator.Broke{Command: c, Problem: fmt.Sprintf("there is no script for %T", e)}
}

// merged is a phase that goes together with a head.
func merged(e orchestrator.MergeEffect, head string) orchestrator.MergeFinishedData {
	res := orchestrator.MergeFinishedData{Command: e.Command.ID, Head: head, Moved: head != e.Base, Commit: e.Last, Tree: "tree of " + e.Last, Files: 1}
	if res.Moved {
		res.Commit, res.Tree = "merge of "+e.Last, "tree of the merge of "+e.Last
	}
	return res
}

// Refute and Keep do nothing: nothing is remembered of proofs.
func (w *World) Refute(context.Context, []work.Event) error { return nil }

// Keep remembers nothing.
func (w *World) Keep(context.Context, string, string, []work.Event) {}

var _ engine.Effects = (*World)(nil)
