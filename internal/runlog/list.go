package runlog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/internal/effect"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Filter says which logs are wanted; zero values let all through.
type Filter struct {
	Phase              string // its number
	Iteration, Attempt int
	Verify             bool // what verify commands printed, not agents
	Prompt             bool // what agents were sent, not what they printed
	Raw                bool // the bytes as they came, not the conversation
	Full               bool // with what tools answered and what agents thought
}

// talks says that conversations are shown, not bytes.
func (f Filter) talks() bool { return !f.Raw && !f.Verify && !f.Prompt }

// log is what was written of one effect of a run.
type log struct {
	id    work.CommandID // of the effect
	title string
	path  string
	over  bool // nothing is added to it any more
	// before is the green verify that stands for this one, whose commands did not
	// run; nil = they ran.
	before *work.ProvenBefore

	kind         string // of the agent
	times        string // file that says when what came
	full         bool   // results of tools are told
	began, ended work.Event
}

// list are the logs of a run that a filter lets through, in the order in
// which their effects began.
type list struct {
	filter Filter
	layout effect.Layout
	agents map[string]work.AgentSettings
	logs   []*log
}

// maxAgentRunes bounds the name of an agent in a title.
const maxAgentRunes = 60

// listOf lists the wanted logs of a run, and the last event that it looked at.
func listOf(ctx context.Context, p *project.Checkout, run string, f Filter) (*list, int64, error) {
	_, s, evs, err := p.LookAt(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	if f.Phase != "" && s.View(f.Phase) == nil {
		return nil, 0, runs.NoPhase(s, f.Phase)
	}
	l := &list{filter: f, layout: p.Layout(), agents: s.Spec.Settings.Agents}
	for _, e := range evs {
		l.see(e)
	}
	return l, s.Seq, nil
}

// see takes in an event: it begins a log, or ends one.
func (l *list) see(e work.Event) {
	began, ended := []work.EventKind{work.IterationStarted}, []work.EventKind{work.IterationFinished}
	if l.filter.Verify {
		began = []work.EventKind{work.VerifyStarted, work.ControlStarted, work.RestStarted}
		ended = []work.EventKind{work.VerifyFinished, work.ControlFinished, work.RestFinished}
	}
	switch {
	case slices.Contains(began, e.Kind):
		if one := l.of(e); one != nil {
			one.id = commandOf(e)
			// The same effect done again writes the same file anew.
			l.logs = append(slices.DeleteFunc(l.logs, func(old *log) bool { return old.path == one.path }), one)
		}
	case slices.Contains(ended, e.Kind):
		id := commandOf(e)
		for _, known := range l.logs {
			if known.id == id {
				known.over, known.ended, known.before = true, e, provenBefore(e)
			}
		}
	case e.Kind == work.RunFinished, e.Kind == work.RunResumed:
		// What a dead process left unfinished is not written to any more.
		for _, known := range l.logs {
			known.over = true
		}
	}
}

// provenBefore is the proof that stands for a verify that ended, nil where its
// commands ran.
func provenBefore(e work.Event) *work.ProvenBefore {
	var d work.VerifyFinishedData
	if e.Kind != work.VerifyFinished || work.Decode(e, &d) != nil {
		return nil
	}
	return d.Before
}

// commandOf is the effect that an event begins or ends; events call it by two names.
func commandOf(e work.Event) work.CommandID {
	var d struct {
		Command work.CommandID `json:"command"`
		ID      work.CommandID `json:"id"`
	}
	if work.Decode(e, &d) != nil {
		return ""
	}
	return cmp.Or(d.Command, d.ID)
}

// of is the log of the effect that e began; nil when it is not wanted.
func (l *list) of(e work.Event) *log {
	f := l.filter
	if f.Phase != "" && e.Phase != f.Phase || f.Iteration > 0 && e.Iteration != f.Iteration || f.Attempt > 0 && e.Attempt != f.Attempt {
		return nil
	}
	if !f.Verify {
		one := &log{
			title: fmt.Sprintf("phase %s, iteration %d, attempt %d", e.Phase, e.Iteration, e.Attempt),
			path:  l.layout.IterationLog(e.Run, e.Phase, e.Iteration, e.Attempt),
		}
		var d work.IterationStartedData
		if f.talks() && e.Kind == work.IterationStarted && work.Decode(e, &d) == nil {
			one.kind, one.began, one.full = l.agents[d.Agent].Kind, e, f.Full
			one.times = l.layout.IterationTimes(e.Run, e.Phase, e.Iteration, e.Attempt)
			one.title += ", " + text.OneLine(d.Agent, maxAgentRunes)
		}
		if f.Prompt {
			one.title, one.path = one.title+", prompt", strings.TrimSuffix(one.path, ".log")+".prompt"
		}
		return one
	}
	var d struct {
		On work.VerifyOn `json:"on"`
	}
	if work.Decode(e, &d) != nil {
		return nil
	}
	if d.On.OfBase() {
		return &log{title: "verify on the base", path: l.layout.Log(e.Run, "base-verify")}
	}
	step, what := orchestrator.StepVerify, "verify"
	switch e.Kind {
	case work.ControlStarted:
		step, what = orchestrator.StepControl, "test runners asked"
	case work.RestStarted:
		step, what = orchestrator.StepRest, "test runners asked at the end of the run"
	}
	return &log{
		title: fmt.Sprintf("phase %s, iteration %d, %s on %s", e.Phase, e.Iteration, what, d.On.Tree()),
		path:  l.layout.Log(e.Run, orchestrator.LogName(e.Phase, e.Iteration, step, d.On)),
	}
}
