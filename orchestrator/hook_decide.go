package orchestrator

import (
	"fmt"

	"forge/internal/text"
	"forge/internal/work"
)

// hooked says that hooks have to be asked, or are being asked, before p, or the
// run, goes on from a point; key tells one time from another.
func (d *decision) hooked(p *Phase, event work.HookEvent, key, about string) bool {
	if !d.s.unpassed(p, event, key) {
		return false
	}
	if d.s.hooksOf(p).Due == nil {
		d.ofHook(p, work.HookDue, work.HookDueData{Event: event, Key: key, About: text.ClipJSON(about, 2000)})
	}
	return true
}

// ofHook records what is about p, or about the run.
func (d *decision) ofHook(p *Phase, kind work.EventKind, data any) {
	if p == nil {
		d.run(kind, data)
		return
	}
	d.phase(p.Number, kind, data)
}

// hooks decides what follows from the hooks of p, or of the run. True says that
// nothing else of it is decided now.
func (d *decision) hooks(p *Phase) bool {
	if len(d.s.Spec.Settings.Hooks) == 0 {
		return false
	}
	k := d.s.hooksOf(p)
	if k.Due != nil {
		if k.Due.Action != "" {
			d.hookHolds(p, *k.Due)
		}
		return true
	}
	if p != nil && p.Stage == StageGate && k.Skipped > 0 && p.Spent >= p.Budget && !p.Kind.Free() {
		d.finish(p, work.PhaseFailed, work.ReasonBudgetExhausted, fmt.Sprintf("%d of %d iterations used; a hook left out %d of them", p.Spent, p.Budget, k.Skipped))
		return true
	}
	event, key := d.s.hookPoint(p)
	return event != "" && d.hooked(p, event, key, d.s.hookAbout(p, event))
}

// hookHolds decides what becomes of what a hook does not let pass. What has
// landed stays, and what has failed has failed: there the run stops, and asks
// the hook again when it is resumed.
func (d *decision) hookHolds(p *Phase, at HookPoint) {
	why := fmt.Sprintf("%s: %s", at.Event, at.Why)
	switch {
	case p == nil, p.Stage == StageLanded, p.Stage == StageFinished:
		if p != nil {
			why = "phase " + p.Number + ": " + why
		}
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunInterrupted, Reason: StopHook + text.ClipJSON(why, 500)})
	case at.Action == work.HookSkip && at.Event == work.HookBeforePhase:
		d.finish(p, work.PhaseSkipped, work.ReasonHook, why)
	default:
		d.finish(p, work.PhaseFailed, work.ReasonHook, why)
	}
}

// idleHooks asks about phases that are not under way: those that have failed, and
// those that a person is to be asked about before they start. True says that
// nothing new is started meanwhile.
func (d *decision) idleHooks() bool {
	for _, p := range d.s.idle() {
		if (p.Stage == StageFinished || p.Hooks.Due != nil) && d.hooks(p) {
			return true
		}
	}
	return false
}

// endHooks asks what is to be asked before the run is over.
func (d *decision) endHooks() bool {
	s := d.s
	key := fmt.Sprint(s.Hooks.Ends + 1)
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Last != "" && d.hooked(p, work.HookBeforeRemove, key, "") {
			return true
		}
	}
	return d.hooked(nil, work.HookAfterRun, key, s.summary())
}

// hookBegan records that a hook is being asked.
func (d *decision) hookBegan(c Command) {
	p := d.s.Phases[c.Phase]
	k := d.s.hooksOf(p)
	if all := d.s.hooksAt(p, k.Due.Event); k.Due.Next < len(all) {
		d.emit(work.HookStarted, c, work.HookStartedData{Command: c.ID, Event: k.Due.Event, Hook: all[k.Due.Next].Label()})
	}
}

// hookDone records what a hook said, and what that comes to.
func (d *decision) hookDone(f HookDone) {
	if !d.awaited(f.Command) {
		return
	}
	p := d.s.Phases[f.Command.Phase]
	k := d.s.hooksOf(p)
	data := work.HookFinishedData{Command: f.Command.ID, Event: k.Due.Event, Action: work.HookBlock, Why: "there is no such hook"}
	if all := d.s.hooksAt(p, k.Due.Event); k.Due.Next < len(all) {
		h := all[k.Due.Next]
		said := readHook(h, f.Report)
		data.Hook, data.Action, data.Why, data.Tell = h.Label(), said.action, text.ClipJSON(said.why, 1000), text.ClipJSON(said.tell, maxHookTold)
	}
	data.Output = text.ClipMiddle(text.Plain(f.Report.Out+f.Report.Err), maxHookOutput)
	data.Exit, data.Millis, data.Model = f.Report.Exit, f.Report.Millis, text.ClipJSON(f.Report.Model, 200)
	if u := f.Report.Usage; u != nil {
		clean := u.Clean()
		data.Usage = &clean
	}
	d.emit(work.HookFinished, f.Command, data)
}
