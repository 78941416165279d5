package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Hooks is what hooks were asked about a phase, or about the run, and said.
type Hooks struct {
	// Due is the point at which hooks are being asked; nothing else of the phase
	// goes on until all of them have said so.
	Due *HookPoint `json:",omitempty"`
	// Passed are the points that every hook let pass, with the time of the last.
	Passed map[work.HookEvent]string `json:",omitempty"`
	Told   []string                  `json:",omitempty"` // what they say to the agent, for its next prompt
	// Verified is the proof that after_verify is due for, and what it said.
	Verified string `json:",omitempty"`
	Verdict  string `json:",omitempty"`
	Opened   int    `json:",omitempty"` // checkpoints so far
	Ends     int    `json:",omitempty"` // how often the run was over
	Skipped  int    `json:",omitempty"` // iterations that a hook left out
	Asked    int    `json:",omitempty"` // answers so far, so that no command's id comes twice
}

// HookPoint is one time at which a run has come to a point.
type HookPoint struct {
	Event work.HookEvent
	Key   string
	About string `json:",omitempty"`
	Next  int    // of the hooks of that point
	// Action is what a hook said that does not let it pass; "" = it is asked.
	Action work.HookAction `json:",omitempty"`
	Why    string          `json:",omitempty"`
}

// HookEffect asks one hook. Its fact is HookDone.
type HookEffect struct {
	Command Command
	Request work.HookRequest
}

// HookDone is the end of a hook command.
type HookDone struct {
	Command Command
	Report  work.HookReport
}

func (e HookEffect) Of() Command { return e.Command }
func (HookEffect) effect()       {}
func (HookDone) fact()           {}
func (f HookDone) of() Command   { return f.Command }

// StopHook begins the reason of a run that a hook stopped. It can be resumed; the
// hook is asked again then.
const StopHook = "hook: "

// hooksOf are the hooks' books of p, or of the run.
func (s *State) hooksOf(p *Phase) *Hooks {
	if p == nil {
		return &s.Hooks
	}
	return &p.Hooks
}

// hooksAt are the hooks that are asked at a point of p, or of the run, in their
// order. A glob that cannot be read matches: no hook is passed over for it.
func (s *State) hooksAt(p *Phase, event work.HookEvent) []work.Hook {
	var out []work.Hook
	for _, h := range s.Spec.Settings.Hooks {
		if h.Event != event {
			continue
		}
		if h.Match == "" || p == nil {
			out = append(out, h)
			continue
		}
		if _, matches, err := work.MatchName([]string{h.Match}, p.Plan.Name); matches || err != nil {
			out = append(out, h)
		}
	}
	return out
}

// unpassed says that hooks have to be asked before p goes on from a point.
func (s *State) unpassed(p *Phase, event work.HookEvent, key string) bool {
	return s.hooksOf(p).Passed[event] != key && len(s.hooksAt(p, event)) > 0
}

// hookPoint is the point to which p, or the run, has come by its stage alone, and
// the key of this time. "" = it has come to none whose hooks are to be asked.
func (s *State) hookPoint(p *Phase) (event work.HookEvent, key string) {
	if len(s.Spec.Settings.Hooks) == 0 {
		return "", ""
	}
	for _, at := range s.hookPoints(p) {
		if at.key != "" && s.unpassed(p, at.event, at.key) {
			return at.event, at.key
		}
	}
	return "", ""
}

type hookAt struct {
	event work.HookEvent
	key   string
}

func (s *State) hookPoints(p *Phase) []hookAt {
	if p == nil {
		return []hookAt{{work.HookBeforeRun, "1"}}
	}
	attempt := fmt.Sprint(p.Reopened + 1)
	// What people pushed is proven before any iteration, so that the folder may be
	// come to by several ways.
	created := hookAt{work.HookAfterCreate, attempt}
	verified := hookAt{work.HookAfterVerify, p.Hooks.Verified}
	switch p.Stage {
	case StageFinished:
		if p.Outcome == work.PhaseFailed {
			return []hookAt{{work.HookOnFailure, attempt}}
		}
		return nil
	case StageFolder:
		return []hookAt{{work.HookBeforePhase, attempt}}
	case StageGate:
		return []hookAt{created}
	case StageIterate:
		if p.Begun {
			return nil
		}
		return []hookAt{created, {work.HookBeforeIteration, p.nextIteration()}}
	case StageJudge:
		if p.Judged.Outcome == outcomeSetup {
			return nil
		}
		return []hookAt{created, verified, {work.HookAfterIteration, s.afterIteration(p)}}
	case StageVerify, StageReverify:
		return []hookAt{created, verified, {work.HookBeforeVerify, s.proofID(p)}}
	case StageLand:
		return []hookAt{verified, {work.HookBeforeMerge, s.landing(p)}}
	case StageLanded:
		return []hookAt{{work.HookAfterMerge, attempt + "-" + p.Last}, {work.HookAfterPhase, attempt + "-" + p.Last}}
	case StageProven:
		points := []hookAt{created, verified}
		if p.Parent != "" {
			points = append(points, hookAt{work.HookAfterPhase, attempt + "-" + p.Last})
		}
		return points
	case StageEvidence, StageControl, StageReview, StageArbiter, StageTurn, StageMerged, StagePull:
		return []hookAt{created, verified}
	case StageWaiting, StageReady, StageAsked, StageOutage, StageSub, StageTries, StageCouncil:
	}
	return nil
}

// nextIteration tells the attempt at an iteration that is next from all others.
func (p *Phase) nextIteration() string {
	return fmt.Sprintf("%d-%d-%d-%d", p.Reopened, p.Iteration+1, p.Tries[p.Iteration+1], p.Hooks.Skipped)
}

// afterIteration is the key of the iteration that is being judged; "" where it is
// none, or runs again.
func (s *State) afterIteration(p *Phase) string {
	switch p.Judged.Outcome {
	case outcomeSetup, work.OutcomeRateLimited, work.OutcomeInterrupted, work.OutcomeCancelled:
		return ""
	}
	if p.Iteration == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d", p.Reopened, p.Iteration, p.Tries[p.Iteration])
}

// proofID tells one proof of p from another.
func (s *State) proofID(p *Phase) string {
	c, _ := s.pendingStep(p)
	return string(c.ID)
}

// landing tells what would land from anything else.
func (s *State) landing(p *Phase) string {
	if p.Merge == nil {
		return ""
	}
	rounds := 0
	if p.Pull != nil {
		rounds = p.Pull.Rounds
	}
	return fmt.Sprintf("%d-%s-%d", p.Reopened, p.Merge.Commit, rounds)
}

// pendingHook is the hook of p, or of the run, that is to be asked now. held says
// that nothing else of it may be done: a point has been come to, and not every
// hook has let it pass.
func (s *State) pendingHook(p *Phase) (c Command, due, held bool) {
	if len(s.Spec.Settings.Hooks) == 0 {
		return Command{}, false, false
	}
	k := s.hooksOf(p)
	if k.Due == nil {
		event, _ := s.hookPoint(p)
		return Command{}, false, event != ""
	}
	if k.Due.Action != "" {
		return Command{}, false, true
	}

	c = Command{Step: StepHook, Attempt: 1}
	if p != nil {
		c.Phase, c.Iteration, c.Attempt, c.Commit = p.Number, p.Iteration, p.Reopened+1, p.Last
	}
	c.ID = s.id(c.Phase, c.Attempt, c.Iteration, fmt.Sprintf("%s-%s-%d", StepHook, k.Due.Event, k.Asked+1))
	return c, true, true
}

// idle are the phases that are not under way, where there are hooks.
func (s *State) idle() []*Phase {
	if len(s.Spec.Settings.Hooks) == 0 {
		return nil
	}
	var out []*Phase
	for _, n := range s.Order {
		if !slices.Contains(s.working, n) {
			out = append(out, s.Phases[n])
		}
	}
	return out
}

// hookEffect is what asking the hook of c takes.
func (s *State) hookEffect(c Command, p *Phase) (Effect, error) {
	k := s.hooksOf(p)
	if k.Due == nil {
		return nil, fmt.Errorf("carry out %s: no hook is due", c.ID)
	}
	all := s.hooksAt(p, k.Due.Event)
	if k.Due.Next >= len(all) {
		return nil, fmt.Errorf("carry out %s: there are %d hooks", c.ID, len(all))
	}

	in := work.HookInput{Event: k.Due.Event, Run: s.Run, Commit: s.Head, Base: s.Spec.Base.Commit, About: k.Due.About}
	if p != nil {
		in.Phase = &work.HookPhase{Number: p.Number, Name: p.Plan.Name, Promise: p.Plan.Promise, Budget: p.Budget, Spent: p.Spent}
		in.Iteration, in.Attempt = p.Iteration, p.Reopened+1
		if k.Due.Event == work.HookBeforeIteration {
			in.Iteration = p.Iteration + 1
		}
		in.Commit, in.Base = cmp.Or(p.Last, s.Head), p.Base
		if p.Merge != nil && k.Due.Event == work.HookBeforeMerge {
			in.Commit = p.Merge.Commit
		}
		in.PromiseFound = len(p.Judged.Claims) > 0
	}
	return HookEffect{Command: c, Request: work.HookRequest{
		Run: s.Run, Phase: c.Phase, Hook: all[k.Due.Next], Input: in, Commit: s.Spec.Base.Commit, Sandbox: s.Spec.Settings.Sandbox,
	}}, nil
}

// hookAbout is what a point is about, in words.
func (s *State) hookAbout(p *Phase, event work.HookEvent) string {
	switch event {
	case work.HookOnFailure:
		return strings.TrimSpace(string(p.Reason) + ": " + p.Detail)
	case work.HookAfterVerify:
		return p.Hooks.Verdict
	case work.HookAfterIteration:
		return strings.TrimSpace(string(p.Judged.Outcome) + ": " + p.Judged.Detail)
	case work.HookAfterRun:
		return s.summary()
	}
	return ""
}

// writeHooks puts what hooks said into a prompt. It is data like any other: a
// hook may have read what an outsider wrote.
func writeHooks(b *strings.Builder, told []string) {
	for _, said := range told {
		section(b, "A hook of the project says", text.ClipMiddle(said, maxHookTold))
	}
}
