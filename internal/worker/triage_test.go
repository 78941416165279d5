package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/triage"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/engine"
	"forge/internal/fakemodel"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/runs"
	"forge/internal/work"
)

// triageWorld is a project with a board, and the worker that triages its issues.
type triageWorld struct {
	t      *testing.T
	worker *Worker
	p      *project.Checkout
}

// newTriageWorld is a new project whose agent does nothing, with more settings.
func newTriageWorld(t *testing.T, more string) *triageWorld {
	t.Helper()
	env := projecttest.New(t, "", more)
	sh, err := Open(context.Background(), env, env.Dir, factory.NewConcurrency(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sh.Close)
	p, err := sh.Fresh(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return &triageWorld{t: t, worker: sh, p: p}
}

func (w *triageWorld) issue(title, level string, parent int64) work.Issue {
	w.t.Helper()
	i, err := w.worker.Add(w.t.Context(), work.Issue{Title: title, Level: level, Priority: work.PriorityNormal, Column: work.ColumnReady, Parent: parent},
		factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// told answers every question at once.
type told struct{ usd float64 }

const splits = `{"summary":"split","confidence":0.9,"question":"","kind":"standard","name":"decompose","steps":[],"irreversibility":"low","regret_potential":"low","risk_amplifier":false,"requires_post_review":false,
	"sub_issues":[{"title":"One","description":"a","criteria":["it is there"],"level":"","needs":[]},{"title":"Two","description":"b","criteria":[],"level":"","needs":[1]}]}`

func (a told) Infer(_ context.Context, q triage.Question, _ string) (triage.Answer, error) {
	text := `{"summary":"that","confidence":0.9,"question":""}`
	if q.Target == gates.PointAction {
		text = splits
	}
	return triage.Answer{JSON: []byte(text), Model: "m", Usage: work.Usage{CostUSD: &a.usd}}, nil
}

var errDied = errors.New("died")

// dying is a journal whose process dies at one of its writes.
type dying struct {
	*runs.Held
	left  int
	after bool // the write is done, and nobody hears of it
}

func (d *dying) Append(ctx context.Context, b engine.Batch) error {
	if d.left--; d.left == 0 && !d.after {
		return errDied
	}
	if err := d.Held.Append(ctx, b); err != nil || d.left != 0 {
		return err
	}
	return errDied
}

// life drives the issue's thread until it is over or the process dies.
func (w *triageWorld) life(i work.Issue, left int, after bool) (triage.Result, error) {
	w.t.Helper()
	ctx, id := w.t.Context(), triage.ThreadID(i.ID, 1)
	by := triageBy{who: triage.ByModel, name: "llm", model: "m", tier: gates.TierFrontierFast}
	line, err := w.worker.triage.lineage(ctx, i)
	if err != nil {
		w.t.Fatal(err)
	}
	sp, err := w.worker.triage.spec(ctx, w.p, line, by)
	if err != nil {
		w.t.Fatal(err)
	}
	lease, err := w.worker.Journal.CreateIssueRun(ctx, id, journal.Self(), w.worker.Project, i.ID)
	if errors.Is(err, journal.ErrRunExists) {
		lease, err = w.worker.Journal.AcquireRun(ctx, id, journal.Self())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = lease.Release(ctx) }()
	s, first := triage.NewState(id, sp), triage.Fact(triage.Opened{Inline: &sp})
	if count, _, err := w.worker.Journal.Head(ctx, id); err != nil {
		w.t.Fatal(err)
	} else if count > 0 {
		if s, err = w.worker.TriageRun(ctx, id); err != nil {
			w.t.Fatal(err)
		}
		first = triage.Resumed{By: "factory"}
	}
	d := &triage.Driver{
		Journal:  &dying{Held: &runs.Held{Store: w.worker.Journal, Lease: lease, Now: time.Now}, left: left, after: after},
		Inferrer: told{usd: 0.01}, Board: &threadBoard{triager: w.worker.triage, p: w.p}, Processes: runs.Processes{Kill: proc.KillMarked, Log: w.worker.Log}, Now: time.Now, NewMark: runs.NewMark,
	}
	return d.Run(ctx, s, first)
}

// TestTriageDiesAtEveryWrite: in the real journal, wherever the process dies,
// the next one goes on, and every part is made once.
func TestTriageDiesAtEveryWrite(t *testing.T) {
	w := newTriageWorld(t, "")
	writes := 0
	for at := 1; ; at++ {
		died := false
		for _, after := range []bool{false, true} {
			i := w.issue(fmt.Sprintf("Split %d", at), "full", 0)
			res, err := w.life(i, at, after)
			if err != nil && !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			if err != nil {
				died = true
				if res, err = w.life(i, 0, false); err != nil {
					t.Fatal(err)
				}
			}
			if res.Verdict != triage.Decomposed {
				t.Fatalf("died at write %d (after %v): %+v", at, after, res)
			}
			w.parts(i.ID, res.Children)
		}
		if !died {
			break
		}
		writes = at
	}
	if writes < 10 {
		t.Errorf("it died at %d writes only", writes)
	}
}

// parts wants an issue to have just these two.
func (w *triageWorld) parts(parent int64, children []int64) {
	w.t.Helper()
	all, err := w.worker.Journal.Issues(w.t.Context(), work.IssueFilter{Project: w.worker.Project}, 1000, "")
	if err != nil {
		w.t.Fatal(err)
	}
	var found []work.Issue
	for _, i := range all {
		if i.Parent == parent {
			found = append(found, i)
		}
	}
	if len(found) != 2 || len(children) != 2 || found[0].ID != children[0] || found[1].ID != children[1] {
		w.t.Fatalf("issue %d has the parts %+v, on record are %v", parent, found, children)
	}
	if one, two := found[0], found[1]; one.Level != "full" || len(one.Criteria) != 1 || len(two.Needs) != 1 || two.Needs[0] != one.ID || one.Column != work.ColumnReady {
		w.t.Errorf("parts %+v", found)
	}
}

// TestPartsDrawOnTheirParents: what a thread costs counts on the account of the
// issue and of all above it, and nothing is free because it is further down.
func TestPartsDrawOnTheirParents(t *testing.T) {
	w := newTriageWorld(t, "")
	ctx := t.Context()
	top := w.issue("Top", "full", 0)
	res, err := w.life(top, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	child, err := w.worker.Journal.Issue(ctx, w.worker.Project, res.Children[0])
	if err != nil {
		t.Fatal(err)
	}
	below, err := w.life(child, 0, false)
	if err != nil || below.Verdict != triage.Decomposed {
		t.Fatalf("%+v, %v", below, err)
	}
	leaf, err := w.worker.Journal.Issue(ctx, w.worker.Project, below.Children[0])
	if err != nil {
		t.Fatal(err)
	}
	// At depth three nothing is broken up any more.
	held, err := w.life(leaf, 0, false)
	if err != nil || held.Verdict != triage.Waiting {
		t.Fatalf("%+v, %v", held, err)
	}
	s, err := w.worker.TriageRun(ctx, triage.ThreadID(leaf.ID, 1))
	if err != nil {
		t.Fatal(err)
	}
	if s.Spec.Depth != 3 || s.SpentUSD < 0.0399 || s.SpentUSD > 0.0401 {
		t.Errorf("depth %d, spent %v; want 3 and four calls", s.Spec.Depth, s.SpentUSD)
	}
	accounts, err := (&threadBoard{triager: w.worker.triage, p: w.p}).Accounts(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var spent []int64
	for _, a := range accounts {
		spent = append(spent, a.Spent)
		if a.Limit != 500_000 {
			t.Errorf("limit %d", a.Limit)
		}
	}
	// The leaf's own thread is left out: three calls of the child, six of both.
	if len(spent) != 3 || spent[0] != 0 || spent[1] != 30_000 || spent[2] != 60_000 {
		t.Errorf("spent %v", spent)
	}
}

func TestTheMeetBindsWhateverIsStored(t *testing.T) {
	w := newTriageWorld(t, "")
	careful := w.issue("Careful", "hands_off", 0)
	free := w.issue("Free", "full", careful.ID)
	line, err := w.worker.triage.lineage(t.Context(), free)
	if err != nil {
		t.Fatal(err)
	}
	sp, err := w.worker.triage.spec(t.Context(), w.p, line, triageBy{who: triage.ByModel})
	if err != nil {
		t.Fatal(err)
	}
	if sp.Policy.At(gates.PointIntent) != gates.Human || sp.Bound == nil || sp.Bound.At(gates.PointFinal) != gates.Human || sp.Depth != 2 {
		t.Errorf("a part is freer than what it is part of: %+v", sp.Policy)
	}
	// A loop of parents, which nobody could have made, is an error and no loop.
	loop := careful
	loop.Parent = free.ID
	if _, err := w.worker.Edit(t.Context(), careful.ID, 0, func(i *work.Issue) error { i.Parent = free.ID; return nil }, factory.By{Name: "ann", Door: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.worker.triage.lineage(t.Context(), loop); !errors.Is(err, gates.ErrCycle) {
		t.Errorf("a loop of parents: %v", err)
	}
}

// TestACallThatIsCutOffCountsAsSpent, and is made again by the next process.
func TestACallThatIsCutOffCountsAsSpent(t *testing.T) {
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	asked := make(chan struct{}, 1)
	address := server.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Hang: true}}}})
	w := newTriageWorld(t, fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\n", address))
	i := w.issue("Look", "full", 0)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for len(server.Requests("svc")) == 0 {
			time.Sleep(time.Millisecond)
		}
		asked <- struct{}{}
		stop()
	}()
	if _, err := w.worker.triage.Triage(ctx, i); err == nil {
		t.Fatal("a triage that was cut off has a verdict")
	}
	<-asked
	server.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{{Text: "nothing of use", Repeat: -1}}})
	got, err := w.worker.triage.Triage(t.Context(), i)
	if err != nil || got.Verdict != factory.TriageWaits {
		t.Fatalf("%+v, %v", got, err)
	}
	s, err := w.worker.TriageRun(t.Context(), triage.ThreadID(i.ID, 1))
	if err != nil {
		t.Fatal(err)
	}
	// One that was cut off, one that could not be used; without a price both
	// cost what was set aside.
	if s.Calls != 2 || s.SpentUSD != 0.1 || !s.Silent {
		t.Errorf("%d calls, %v spent", s.Calls, s.SpentUSD)
	}
	if answered, err := w.worker.triage.Answered(t.Context(), i); err != nil || answered {
		t.Errorf("answered %v, %v", answered, err)
	}
	if _, _, err := approval.Give(t.Context(), w.p, work.Answer{Checkpoint: s.Open.ID, Status: work.CheckpointApproved, Choice: triage.ChoiceAccept, By: "ann", At: time.Now()}, approval.Options{}); err != nil {
		t.Fatal(err)
	}
	if answered, err := w.worker.triage.Answered(t.Context(), i); err != nil || !answered {
		t.Errorf("answered %v, %v", answered, err)
	}
}
