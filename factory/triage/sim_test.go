package triage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// errKilled is the death of the process.
var errKilled = errors.New("killed")

// world is everything that survives a process: the record, the answers of
// doors, the board, and what calls really cost.
type world struct {
	evs     []work.Event
	open    map[string]work.Checkpoint
	inbox   []engine.Inbox
	left    []engine.Attempt
	issues  map[string]int64 // by key
	next    int64
	calls   int
	usd     float64
	rand    *rand.Rand
	answers func(*world, Question) Answer
	kill    func() bool
	rows    int64
}

func (w *world) die() error {
	if w.kill() {
		return errKilled
	}
	return nil
}

func (w *world) Append(_ context.Context, b engine.Batch) error {
	if err := w.die(); err != nil {
		return err
	}
	for i, e := range b.Events {
		if want := int64(len(w.evs) + i + 1); e.Seq != want {
			return fmt.Errorf("event %d, want %d", e.Seq, want)
		}
		if len(e.Data) > work.MaxEventBytes {
			return fmt.Errorf("event %d has %d bytes", e.Seq, len(e.Data))
		}
	}
	w.evs = append(w.evs, b.Events...)
	for _, cp := range b.Opened {
		if _, twice := w.open[cp.ID]; twice {
			return fmt.Errorf("checkpoint %s opened twice", cp.ID)
		}
		w.open[cp.ID] = cp
	}
	w.inbox = slices.DeleteFunc(w.inbox, func(r engine.Inbox) bool { return slices.Contains(b.Consumed, r.ID) })
	w.left = append(w.left, b.Began...)
	w.left = slices.DeleteFunc(w.left, func(a engine.Attempt) bool { return slices.Contains(b.Over, a) })
	if n := len(b.Events); n > 0 && b.Events[n-1].Kind == work.RunFinished && w.rand.IntN(3) == 0 {
		w.person() // who saw a live owner a moment ago
	}
	return w.die() // after the write, before anything is done about it
}

func (w *world) Head(context.Context) (int64, string, error) { return int64(len(w.evs)), "", nil }
func (w *world) Inbox(context.Context) ([]engine.Inbox, error) {
	return slices.Clone(w.inbox), nil
}
func (w *world) Changed(context.Context) (bool, error) { return true, nil }
func (w *world) Heartbeat(context.Context) error       { return nil }
func (w *world) Attempts(context.Context) ([]engine.Attempt, error) {
	return slices.Clone(w.left), nil
}
func (w *world) Day(context.Context) (orchestrator.Day, error) { return orchestrator.Day{}, nil }
func (w *world) Expire(context.Context, []string, time.Time) ([]string, error) {
	return nil, nil
}

func (w *world) End(context.Context, string) error { return w.die() }

func (w *world) Infer(_ context.Context, q Question, mark string) (Answer, error) {
	if !slices.ContainsFunc(w.left, func(a engine.Attempt) bool { return a.Mark == mark }) {
		return Answer{}, errors.New("a process would begin whose mark nobody knows")
	}
	w.calls++
	a := w.answers(w, q)
	if c := a.Usage.CostUSD; c != nil {
		w.usd += *c
	}
	return a, w.die()
}

func (w *world) Accounts(_ context.Context, s *State) ([]gates.InferenceAccount, error) {
	return []gates.InferenceAccount{gates.NewInferenceAccount(s.Policy)}, nil
}

func (w *world) Levels(_ context.Context, names []string) (map[string]gates.Policy, error) {
	out := map[string]gates.Policy{}
	for _, n := range names {
		if p, ok := gates.Preset(n); ok {
			out[n] = p
		}
	}
	return out, nil
}

func (w *world) Spawn(_ context.Context, _ *State, c Command) (int64, string, error) {
	if w.rand.IntN(3) == 0 {
		return 0, "the board does not take it", nil
	}
	if _, there := w.issues[c.Key]; !there {
		w.next++
		w.issues[c.Key] = w.next
	}
	return w.issues[c.Key], "", w.die()
}

func (w *world) Cleanup(context.Context, *State) ([]int64, string, error) {
	if w.rand.IntN(3) == 0 {
		return nil, "locked", nil
	}
	return []int64{1}, "", w.die()
}

// process is one life of a process that drives the thread.
func (w *world) process(sp Spec) (Result, error) {
	s := NewState("triage-12-1", sp)
	for _, e := range w.evs {
		if err := Apply(s, e); err != nil {
			return Result{}, err
		}
	}
	d := &Driver{Journal: w, Inferrer: w, Board: w, Processes: w, Now: func() time.Time { return now }, NewMark: func() string { return fmt.Sprint(w.rand.Uint64()) }}
	first := Fact(Opened{Inline: &sp})
	if len(w.evs) > 0 {
		first = Resumed{By: "factory"}
	}
	res, err := d.Run(context.Background(), s, first)
	if err != nil {
		return res, err
	}
	again := NewState("triage-12-1", sp)
	for _, e := range w.evs {
		if err := Apply(again, e); err != nil {
			return res, err
		}
	}
	if res.Verdict == Waiting && len(w.inbox) > 0 {
		return res, errors.New("it was left waiting with an answer in the inbox")
	}
	if !same(s, again) {
		return res, errors.New("the record tells another story than the process saw")
	}
	return res, nil
}

// say answers like a model that is not always at its best.
func say(w *world, q Question) Answer {
	a := Answer{Model: "m"}
	if w.rand.IntN(4) > 0 {
		a.Usage = usd(float64(w.rand.IntN(5)) / 100)
	}
	c := float64(w.rand.IntN(13)) / 10
	var text string
	switch k := w.rand.IntN(8); {
	case k == 0:
		a.Problem = "the service is away"
		return a
	case k == 1:
		text = `{"summary":`
	case k == 2 && q.Target != Combined:
		text = `{"summary":"s","confidence":0.9,"question":"which?"}`
	case q.Target == Combined:
		text = combined(c, c, c)
	case q.Target == gates.PointAction && k < 5:
		text = parts([]string{"", "hands_off", "full", "made_up"}[w.rand.IntN(4)])
	case q.Target == gates.PointAction:
		text = action(c, "")
	default:
		text = sure(c)
	}
	a.JSON = []byte(text)
	return a
}

// person answers what is open, now and then with something useless.
func (w *world) person() {
	for id, cp := range w.open {
		c := cp.Choices[w.rand.IntN(len(cp.Choices))]
		comment := []string{"", "look again", `{"summary":"mine"}`, `{"broken":`}[w.rand.IntN(4)]
		w.rows++
		w.inbox = append(w.inbox, engine.Inbox{ID: w.rows, Answer: work.Answer{Checkpoint: id, Revision: cp.Revision, Status: c.Answer, Choice: c.Name, Comment: comment, By: "ann"}})
		if c.Answer != work.CheckpointChangesRequested || comment != "" {
			delete(w.open, id) // the journal refuses a second answer
		}
		return
	}
}

// TestAThreadSurvivesDeathAnywhere: whatever dies when, the record folds to the
// same state, no part becomes two issues, nothing passes a gate without a
// decision, and calls cost no more than the budget and what was cut off.
func TestAThreadSurvivesDeathAnywhere(t *testing.T) {
	presets := []string{"end_to_end", "plan_then_review", "hands_off", "full"}
	ends := map[Verdict]int{}
	kinds := map[work.EventKind]int{}
	for seed := range uint64(240) {
		r := rand.New(rand.NewPCG(seed, 7))
		sp := spec(presets[seed%4])
		sp.Policy.CombinedInference = seed%3 == 0
		w := &world{open: map[string]work.Checkpoint{}, issues: map[string]int64{}, rand: r, answers: say}
		w.kill = func() bool { return r.IntN(12) == 0 }
		var res Result
		for life := 0; ; life++ {
			if life > 400 {
				t.Fatalf("seed %d: it comes to no end: %+v", seed, res)
			}
			var err error
			if res, err = w.process(sp); err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if err == nil && res.Verdict != Waiting && res.Verdict != Interruption {
				break
			}
			if r.IntN(2) == 0 {
				w.person()
			}
		}
		ends[res.Verdict]++
		for _, e := range w.evs {
			kinds[e.Kind]++
		}
		w.check(t, seed, sp, res)
		if t.Failed() {
			return
		}
	}
	for _, v := range []Verdict{Planned, Decomposed, Turned} {
		if ends[v] == 0 {
			t.Errorf("no thread ended %s: %v", v, ends)
		}
	}
	for _, k := range []work.EventKind{work.RunResumed, CombinedInferred, SpawnFinished, CleanupFinished, work.CheckpointAnswered, Inferred} {
		if kinds[k] == 0 {
			t.Errorf("no event %s was reached", k)
		}
	}
}

func (w *world) check(t *testing.T, seed uint64, sp Spec, res Result) {
	t.Helper()
	folded := NewState("triage-12-1", sp)
	advanced := map[string]bool{}
	for _, e := range w.evs {
		if err := Apply(folded, e); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		switch e.Kind {
		case work.GateDecided:
			var d work.GateDecidedData
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			if d.Decision == string(gates.Advance) {
				if advanced[d.Gate] {
					t.Errorf("seed %d: %s advanced twice", seed, d.Gate)
				}
				advanced[d.Gate] = true
				machine := d.By == "rule:confirmation"
				if machine && sp.Policy.At(gates.Point(d.Gate)) != gates.Auto {
					t.Errorf("seed %d: a machine let %s pass a human gate", seed, d.Gate)
				}
			}
		}
	}
	limit := gates.NewInferenceAccount(sp.Policy).Limit
	if float64(limit)/1e6+1e-9 < folded.SpentUSD {
		t.Errorf("seed %d: %v spent of %v", seed, folded.SpentUSD, float64(limit)/1e6)
	}
	// A call never costs more here than is set aside for it, so that neither one
	// that was silent nor one that was cut off makes the record too small.
	if w.usd > folded.SpentUSD+1e-9 {
		t.Errorf("seed %d: calls really cost %v, on record are %v", seed, w.usd, folded.SpentUSD)
	}
	passed := advanced["intent"] && advanced["context"] && advanced["action"]
	if (res.Verdict == Planned || res.Verdict == Decomposed) && !passed {
		t.Errorf("seed %d: %s without three confirmations", seed, res.Verdict)
	}
	if res.Verdict == Decomposed && len(res.Children) > len(w.issues) {
		t.Errorf("seed %d: %d parts, %d issues", seed, len(res.Children), len(w.issues))
	}
	seen := map[int64]bool{}
	for _, id := range res.Children {
		if seen[id] {
			t.Errorf("seed %d: issue %d stands for two parts", seed, id)
		}
		seen[id] = true
	}
	if int(w.next) > 2 {
		t.Errorf("seed %d: %d issues were made of two parts", seed, w.next)
	}
}
