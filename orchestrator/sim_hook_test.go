package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/pace"
	"forge/internal/work"
)

// randomHooks are some hooks at some points, most of them for all phases.
func randomHooks(d dice) []work.Hook {
	events := work.HookEvents()
	var out []work.Hook
	for i := range 1 + d.hook.IntN(6) {
		h := work.Hook{Event: events[d.hook.IntN(len(events))], Kind: work.HookCommand, Command: "./hook", TimeoutSecs: 30, At: fmt.Sprintf("hooks.toml:%d", i)}
		if d.hook.IntN(4) == 0 {
			h.Kind, h.Command, h.Prompt = work.HookPrompt, "", "may we?"
		}
		if !h.Event.OfRun() && d.hook.IntN(3) == 0 {
			h.Match = fmt.Sprintf("phase %d", 1+d.hook.IntN(3))
		}
		out = append(out, h)
	}
	return out
}

// hookEnd is a way for a hook to end, and at which points it says, in truth, that
// the work goes on.
type hookEnd struct {
	name  string
	rep   work.HookReport
	goes  bool            // at every point
	goAt  work.HookEvent  // or at this one alone
	kinds map[string]bool // of hooks that end so; nil = commands
}

func exits(code int, out string) work.HookReport { return work.HookReport{Exit: &code, Out: out} }

// hookEnds are all of them: every exit code that means something, those that do
// not, and every other way to die.
func hookEnds() []hookEnd {
	prompt := map[string]bool{work.HookPrompt: true}
	both := map[string]bool{work.HookPrompt: true, work.HookCommand: true}
	return []hookEnd{
		{name: "goes on", rep: exits(0, ""), goes: true},
		{name: "goes on with words", rep: exits(0, "mind the gap"), goes: true},
		{name: "says continue", rep: exits(0, `{"action":"continue","message":"","inject":""}`), goes: true, kinds: both},
		{name: "says modify", rep: exits(0, `{"action":"modify","message":"","inject":"use tabs"}`), goes: true, kinds: both},
		{name: "modifies", rep: exits(3, "use tabs"), goes: true},
		{name: "modifies by an object", rep: exits(3, `{"inject":"use tabs"}`), goes: true},
		{name: "approves", rep: exits(4, `{"action":"approve"}`), goAt: work.HookOnApproval},
		{name: "says approve", rep: exits(0, `{"action":"approve","message":"","inject":""}`), goAt: work.HookOnApproval, kinds: both},

		{name: "blocks", rep: exits(1, "no")},
		{name: "says block", rep: exits(0, `{"action":"block","message":"no","inject":""}`), kinds: both},
		{name: "blocks and says continue", rep: exits(1, `{"action":"continue"}`)},
		{name: "skips", rep: exits(2, "")},
		{name: "says skip", rep: exits(0, `{"action":"skip","message":"","inject":""}`), kinds: both},
		{name: "skips and says continue", rep: exits(2, `{"action":"continue"}`)},
		{name: "modifies nothing", rep: exits(3, " \n")},
		{name: "modifies nothing by an object", rep: exits(3, `{"inject":""}`)},
		{name: "says modify, and not what", rep: exits(0, `{"action":"modify","message":"","inject":" "}`), kinds: both},
		{name: "4 without a word", rep: exits(4, "")},
		{name: "4 in words", rep: exits(4, "approve")},
		{name: "4 and continue", rep: exits(4, `{"action":"continue"}`)},
		{name: "rejects", rep: exits(4, `{"action":"reject","message":"no"}`)},
		{name: "exit code 5", rep: exits(5, `{"action":"continue"}`)},
		{name: "not executable", rep: exits(126, "")},
		{name: "not found", rep: exits(127, "")},
		{name: "killed in a shell", rep: exits(137, `{"action":"continue"}`)},
		{name: "a negative code", rep: exits(-1, "")},
		{name: "a signal", rep: work.HookReport{Ended: "it was ended by the signal killed", Out: `{"action":"continue"}`}},
		{name: "a time-out", rep: func() work.HookReport { r := exits(0, ""); r.Ended = "it took longer than 30s"; return r }()},
		{name: "no end", rep: work.HookReport{}},
		{name: "half an object", rep: exits(0, `{"action":"cont`)},
		{name: "two objects", rep: exits(0, `{"action":"continue"} {"action":"block"}`)},
		{name: "says two things", rep: exits(0, `{"action":"block","action":"continue"}`)},
		{name: "says two things in two cases", rep: exits(0, `{"action":"continue","Action":"block"}`)},
		{name: "an unknown action", rep: exits(0, `{"action":"Continue!"}`)},
		{name: "an empty action", rep: exits(0, `{"action":""}`)},
		{name: "an action that is null", rep: exits(0, `{"action":null}`)},
		{name: "an action that is a list", rep: exits(0, `{"action":["continue"]}`)},
		{name: "an object that is cut", rep: func() work.HookReport { r := exits(0, `{"action":"continue"}`); r.Cut = true; return r }()},

		{name: "a model in words", rep: exits(0, "continue"), kinds: prompt},
		{name: "a model that says nothing", rep: exits(0, ""), kinds: prompt},
		{name: "a model without an action", rep: exits(0, `{"message":"fine","inject":""}`), kinds: prompt},
		{name: "a model without a usable answer", rep: work.HookReport{Ended: "the model gave no usable answer"}, kinds: prompt},
	}
}

func (e hookEnd) of(kind string) bool {
	if e.kinds == nil {
		return kind == work.HookCommand
	}
	return e.kinds[kind]
}

func (e hookEnd) goesAt(at work.HookEvent) bool { return e.goes || e.goAt != "" && e.goAt == at }

// hook lets a hook end in some way; most say that the work goes on.
func (w *world) hook(c Command) Fact {
	e, err := EffectOf(w.s, c, Known{})
	if err != nil {
		return Broke{Command: c, Problem: err.Error()}
	}
	h := e.(HookEffect).Request.Hook
	ends := slices.DeleteFunc(hookEnds(), func(e hookEnd) bool { return !e.of(h.Kind) })
	end := ends[w.dice.hook.IntN(len(ends))]
	if w.dice.hook.IntN(100) < 80 {
		end = ends[slices.IndexFunc(ends, func(e hookEnd) bool { return e.goes })]
	}
	w.fault("a hook: " + end.name)
	if end.goesAt(h.Event) {
		w.check.hooks.truth[c.ID] = true
	}
	return HookDone{Command: c, Report: end.rep}
}

// hookBooks are kept beside those of the state: what hooks said in truth, and how
// many of a point said so since it was last passed.
type hookBooks struct {
	truth map[work.CommandID]bool // set by the world alone
	gone  map[string]int          // phase and point → hooks that let it pass
	used  map[string]bool         // commands that began past their hooks
	owed  map[string]int          // phase and point → hooks to be asked about what has ended, before anything follows
}

func newHookBooks() hookBooks {
	return hookBooks{truth: map[work.CommandID]bool{}, gone: map[string]int{}, used: map[string]bool{}, owed: map[string]int{}}
}

// wanted counts the hooks of a point, by a way of its own.
func (c *invariants) wanted(p *Phase, at work.HookEvent) int {
	n := 0
	for _, h := range c.w.spec.Settings.Hooks {
		if h.Event == at && (h.Match == "" || p == nil || h.Match == p.Plan.Name) {
			n++
		}
	}
	return n
}

func hookKey(phase string, at work.HookEvent) string { return phase + " " + string(at) }

// past says that every hook of a point said that the work goes on, since the
// last time. id tells what begins by it: the same may begin again after a crash.
func (c *invariants) past(p *Phase, at work.HookEvent, id work.CommandID) error {
	number := ""
	if p != nil {
		number = p.Number
	}
	if c.hooks.used[string(at)+string(id)] {
		return nil
	}
	if got, want := c.hooks.gone[hookKey(number, at)], c.wanted(p, at); got < want {
		return fmt.Errorf("%d of %d hooks let phase %q pass at %s, and it goes on past its hooks by %s", got, want, number, at, id)
	}
	note(c, c.hooks.used, string(at)+string(id), true)
	note(c, c.hooks.gone, hookKey(number, at), 0)
	return nil
}

// ofHooks: a hook that did not say that the work goes on is never passed.
func (c *invariants) ofHooks(p *Phase, e work.Event) error {
	if len(c.w.spec.Settings.Hooks) == 0 {
		return nil
	}
	switch e.Kind {
	case work.HookFinished:
		var d work.HookFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Action.Passes() && !c.hooks.truth[d.Command] {
			return fmt.Errorf("the hook %s did not say that it goes on, and is taken for one that did", d.Command)
		}
		n := c.hooks.gone[hookKey(e.Phase, d.Event)]
		switch {
		case d.Action.Passes():
			n++
		case d.Action == work.HookSkip:
			n = 0 // all of them are asked anew
		}
		note(c, c.hooks.gone, hookKey(e.Phase, d.Event), n)
	case work.CheckpointOverdue:
		var d struct{ Again string }
		if err := read(c, e, &d); err != nil {
			return err
		}
		// What expired is asked again as it was.
		note(c, c.hooks.used, string(work.HookOnApproval)+d.Again, true)
	case work.PhaseReopened:
		for _, at := range work.HookEvents() {
			note(c, c.hooks.gone, hookKey(e.Phase, at), 0)
			note(c, c.hooks.owed, hookKey(e.Phase, at), 0)
		}
	case work.IterationFinished, work.VerifyFinished:
		return c.owesHooks(p, e)
	case work.GateDecided:
		return c.decidedPastHooks(p, e)
	case work.ControlStarted, work.ReviewStarted, work.MergeStarted, work.PhaseMerged:
		return c.paidHooks(p)
	case work.FolderStarted, work.IterationStarted, work.VerifyStarted, work.LandStarted, work.CheckpointOpened, work.PhaseFinished, work.RunFinished:
		return c.pastHooks(p, e)
	}
	return nil
}

func (c *invariants) pastHooks(p *Phase, e work.Event) error {
	var d struct {
		Command work.CommandID
		ID      string
		On      work.VerifyOn
		Outcome string
		Reason  work.Reason
	}
	if err := read(c, e, &d); err != nil {
		return err
	}
	id := work.CommandID(fmt.Sprint(d.Command, d.ID))
	if !c.hooks.used["begun"] && e.Kind != work.RunFinished {
		if err := c.past(nil, work.HookBeforeRun, "begun"); err != nil {
			return err
		}
	}

	switch e.Kind {
	case work.FolderStarted:
		return c.past(p, work.HookBeforePhase, id)
	case work.IterationStarted:
		if err := c.paidHooks(p); err != nil {
			return err
		}
		attempt := work.CommandID(fmt.Sprint(p.Reopened, " ", d.Command))
		if err := c.past(p, work.HookBeforeIteration, attempt); err != nil {
			return err
		}
		if !c.hooks.used[fmt.Sprint("folder ", p.Number, p.Reopened)] {
			note(c, c.hooks.used, fmt.Sprint("folder ", p.Number, p.Reopened), true)
			return c.past(p, work.HookAfterCreate, attempt)
		}
	case work.VerifyStarted:
		if d.On == work.OnSnapshot || d.On == work.OnMerged {
			if err := c.past(p, work.HookBeforeVerify, id); err != nil {
				return err
			}
		}
		if p != nil {
			return c.paidHooks(p)
		}
	case work.LandStarted:
		return c.past(p, work.HookBeforeMerge, id)
	case work.CheckpointOpened:
		var cp work.Checkpoint
		if err := read(c, e, &cp); err != nil {
			return err
		}
		return c.past(p, work.HookOnApproval, work.CommandID(cp.ID))
	case work.PhaseFinished:
		// A job's phase may end with its work handed to the next one, which lands it.
		if d.Outcome == string(work.PhaseDone) && (p.Parent != "" || p.Stage == StageLanded) {
			again := work.CommandID(fmt.Sprint(p.Number, " ", p.Reopened))
			if p.Parent == "" {
				if err := c.past(p, work.HookAfterMerge, again); err != nil {
					return err
				}
			}
			return c.past(p, work.HookAfterPhase, again)
		}
	case work.RunFinished:
		return c.endsPastHooks(d.Outcome)
	}
	return nil
}

// owesHooks: of what has ended its hooks are asked.
func (c *invariants) owesHooks(p *Phase, e work.Event) error {
	at := work.HookAfterIteration
	var d struct {
		Outcome work.Outcome
		On      work.VerifyOn
	}
	if err := read(c, e, &d); err != nil || p == nil {
		return err
	}
	switch {
	case e.Kind == work.VerifyFinished && d.On != work.OnSnapshot && d.On != work.OnMerged:
		return nil
	case e.Kind == work.VerifyFinished:
		at = work.HookAfterVerify
	case slices.Contains([]work.Outcome{work.OutcomeRateLimited, work.OutcomeInterrupted, work.OutcomeCancelled}, d.Outcome):
		return nil // it runs again, or never
	}
	note(c, c.hooks.gone, hookKey(p.Number, at), 0)
	note(c, c.hooks.owed, hookKey(p.Number, at), c.wanted(p, at))
	return nil
}

// paidHooks: nothing follows from an iteration or a proof before its hooks were
// asked, and said so.
func (c *invariants) paidHooks(p *Phase) error {
	for _, at := range []work.HookEvent{work.HookAfterIteration, work.HookAfterVerify} {
		if key := hookKey(p.Number, at); c.hooks.gone[key] < c.hooks.owed[key] {
			return fmt.Errorf("%d of %d hooks let phase %s pass at %s, and it goes on past its hooks", c.hooks.gone[key], c.hooks.owed[key], p.Number, at)
		}
	}
	return nil
}

// decidedPastHooks: what stalls, and what is asked, is decided upon after its
// hooks.
func (c *invariants) decidedPastHooks(p *Phase, e work.Event) error {
	var d work.GateDecidedData
	if err := read(c, e, &d); err != nil || p == nil || strings.HasPrefix(d.By, "person:") {
		return err
	}
	id := work.CommandID(fmt.Sprint(p.Number, " ", p.Reopened, " ", p.Iteration, " ", len(p.Asking.Said)))
	switch {
	case d.Gate == string(gates.PointStale):
		return c.past(p, work.HookOnStall, id)
	case isAsk(d.Gate) && d.Decision != decideRepeat:
		return c.past(p, work.HookOnQuestion, id)
	}
	return nil
}

// endsPastHooks: a run that is over was let go by the hooks of its end, and those
// of what failed in it.
func (c *invariants) endsPastHooks(outcome string) error {
	if outcome != string(work.RunCompleted) && outcome != string(work.RunFailed) {
		return nil
	}
	again := work.CommandID(fmt.Sprint("end ", c.w.s.Hooks.Ends))
	for _, n := range c.w.s.Order {
		p := c.w.s.Phases[n]
		if p.Outcome == work.PhaseFailed {
			if err := c.past(p, work.HookOnFailure, work.CommandID(fmt.Sprint(n, " failed ", p.Reopened))); err != nil {
				return err
			}
		}
		if p.Last != "" {
			if err := c.past(p, work.HookBeforeRemove, work.CommandID(n)+again); err != nil {
				return err
			}
		}
	}
	return c.past(nil, work.HookAfterRun, again)
}

const hookSchedules = 2500

// TestSimulationOfHooks plays schedules in which hooks end in every way, at every
// point, among crashes: none that did not say that it goes on is passed.
func TestSimulationOfHooks(t *testing.T) {
	pace.Slow(t, "thousands of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.hooks = true
	c := reach(t, l, hookSchedules, func(c *coverage) []string {
		missing := unmet(c.reasons, "no phase ended for the reason %s", work.ReasonHook)
		for _, e := range hookEnds() {
			missing = append(missing, unmet(c.faults, "no schedule met %q", "a hook: "+e.name)...)
		}
		return append(missing, unmet(c.kinds, "no schedule reached %s", string(work.HookDue), string(work.HookStarted), string(work.HookFinished))...)
	})
	t.Logf("%d events\nfaults %v\nreasons %v\nended %v", c.events, c.faults, c.reasons, c.outcomes)

	for to, from := range onlyFrom() {
		for e := range c.edges {
			if e.machine == ofPhases && e.to == string(to) && !slices.Contains(from, Stage(e.from)) {
				t.Errorf("with hooks a phase went from %s to %s", e.from, e.to)
			}
		}
	}
}

// Each of these lets a hook be passed, and is found.
func TestSeededBugsOfHooks(t *testing.T) {
	pace.Slow(t, "schedules until each bug is found")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	passed := func(k *Hooks) {
		if k.Due == nil {
			return
		}
		k.Passed = map[work.HookEvent]string{k.Due.Event: k.Due.Key}
		k.Due = nil
	}
	l := newLab(t)
	l.hooks = true
	h := newHunter(t, l, 3000)
	for name, tt := range map[string]struct {
		bug  bug
		want string
	}{
		"what says nothing goes on": {bug{events: rewrite(work.HookFinished, func(_ *State, _ *work.Event, d *work.HookFinishedData) {
			if d.Exit == nil {
				d.Action = work.HookGo
			}
		})}, "is taken for one that did"},
		"a block goes on": {bug{events: rewrite(work.HookFinished, func(_ *State, _ *work.Event, d *work.HookFinishedData) {
			d.Action = work.HookGo
		})}, "is taken for one that did"},
		"a phase does not wait for its hooks": {bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.HookDue && p != nil {
				passed(&p.Hooks)
			}
		})}, "past its hooks"},
		"a run does not wait for its hooks": {bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.HookDue && e.Phase == "" {
				passed(&s.Hooks)
			}
		})}, "past its hooks"},
		"a resumed run passes over what a hook held": {bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind != work.RunResumed {
				return
			}
			passed(&s.Hooks)
			for _, p := range s.Phases {
				passed(&p.Hooks)
			}
		})}, "past its hooks"},
		"the second of two hooks is left out": {bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.HookFinished && p != nil && p.Hooks.Due != nil && p.Hooks.Due.Action == "" {
				passed(&p.Hooks)
			}
		})}, "past its hooks"},
		"an iteration is let pass once and for all": {bug{apply: afterApply(func(s *State, e work.Event) {
			p := s.Phases[e.Phase]
			if p == nil || p.Hooks.Passed[work.HookBeforeIteration] == "" || p.Begun {
				return
			}
			p.Hooks.Passed[work.HookBeforeIteration] = p.nextIteration()
		})}, "past its hooks"},
	} {
		h.hunt(t, name, tt.bug, []string{tt.want})
	}
}

// Every kind of hook, at every point, and every way to end: it lets the work go
// on where that was said clearly, and nowhere else.
func TestEveryWayAHookEnds(t *testing.T) {
	for _, at := range work.HookEvents() {
		for _, kind := range []string{work.HookCommand, work.HookPrompt} {
			for _, end := range hookEnds() {
				if !end.of(kind) {
					continue
				}
				got := readHook(work.Hook{Event: at, Kind: kind}, end.rep)
				if got.action.Passes() != end.goesAt(at) {
					t.Errorf("a %s at %s that %s: %s (%s), want go on: %v", kind, at, end.name, got.action, got.why, end.goesAt(at))
				}
				if !got.action.Passes() && got.why == "" {
					t.Errorf("a %s at %s that %s: held without a reason", kind, at, end.name)
				}
				if got.action == work.HookSkip && !at.Skips() {
					t.Errorf("a %s at %s that %s: left out", kind, at, end.name)
				}
			}
		}
	}
}

// Nothing that a hook prints makes it let the work go on but its own clear word.
func FuzzHookOutput(f *testing.F) {
	for _, e := range hookEnds() {
		code := 0
		if e.rep.Exit != nil {
			code = *e.rep.Exit
		}
		f.Add(code, e.rep.Out, true)
	}
	f.Fuzz(func(t *testing.T, code int, out string, prompt bool) {
		h := work.Hook{Event: work.HookBeforeMerge, Kind: work.HookCommand}
		if prompt {
			h.Kind = work.HookPrompt
		}
		got := readHook(h, exits(code, out))
		clear := code == 0 || code == 3
		if got.action.Passes() && (!clear || strings.Contains(out, `"block"`) && !strings.Contains(out, "inject") && !strings.Contains(out, "message") && strings.HasPrefix(strings.TrimSpace(out), `{"action":`)) {
			t.Errorf("exit code %d with %q: %s", code, out, got.action)
		}
		if len(got.tell) > maxHookTold+100 || !slices.Contains(work.HookActions(), got.action) {
			t.Errorf("exit code %d with %q: %+v", code, out, got)
		}
	})
}
