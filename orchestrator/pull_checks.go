package orchestrator

import (
	"cmp"
	"slices"
	"strings"

	"forge/internal/work"
)

// Checks of the code host that fail on a pull request send it back to the agent
// as a person would: by an answer, which is acted upon once the branch and its
// checks were read again.

// byChecks is who decides where checks of the host do.
const byChecks = "rule:checks"

// decides is who decides with an answer.
func decides(a work.Answer) string {
	if a.Checks != "" {
		return byChecks
	}
	return "person:" + a.By
}

// asks is who asked for changes, in words.
func asks(by string) string {
	if by == byChecks {
		return "The host's checks"
	}
	return strings.TrimPrefix(by, "person:")
}

// mended are the heads whose failed checks an agent was told of: they count for
// the phase, whatever pull request shows it.
func (u *Pull) mended() []string {
	if u == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(u.Heard), func(id string) bool { return work.ChecksTold([]string{id}) == 0 })
}

// mayMend says that an answer is a person's, or one of checks about what a pull
// request shows and as often as that is allowed.
func (s *State) mayMend(cp *work.Checkpoint, a work.Answer) bool {
	if a.Checks == "" {
		return true
	}
	if s.Spec.Pulls == nil || a.Status != work.CheckpointChangesRequested {
		return false
	}
	if p := s.Phases[cp.Phase]; p != nil {
		return p.AskedAt == StageProven && p.Pull != nil && p.Pull.Number != 0 && !p.peoples()
	}
	return aboutResult(cp.Kind) && work.ChecksTold(s.Final.Heard) < s.Spec.Pulls.Fixes
}

// mends decides what follows from checks that failed, once they were read again:
// they may be green by then, and people may have pushed.
func (d *decision) mends(p *Phase, r *PullReading, again func(why string)) {
	u := p.Pull
	switch {
	case r.Trouble != nil:
		again("the host's checks failed, and the branch could not be read: " + tellTrouble(*r.Trouble))
	case r.Lost != "":
		again(r.Lost)
	case r.Merged != "":
		again("it was merged on the host by " + r.MergedBy + " meanwhile; approve it to go on")
	case r.Commit != "":
		d.pullDecided(p, PullDecidedData{Decision: decideTake, Reason: tellPushed(r)})
	case r.Checks == nil:
		again("the host's checks failed, and nobody knows how they stand")
	case p.Iteration >= p.Budget:
		again("the host's checks fail, and the phase has used up its iterations: give it more, push what mends it, or answer")
	default:
		mend, why := r.Checks.After(r.Head, u.Heard, d.s.Spec.Pulls.Fixes).Next()
		if !mend {
			again(cmp.Or(why, "the host's checks do not fail any more: they ran again on the same commit"))
			return
		}
		d.acts(p, r)
	}
}

// ciEdited is in doubt where checks of the host were told to the agent, and what
// they run is not as a person last accepted it: the local proof does not run it, so
// that green there says nothing any more. It stays so for the rest of the run.
func (s *State) ciEdited(phase string, differs []string) (doubts []work.Doubt) {
	p := s.Phases[phase]
	if (p == nil || len(p.Pull.mended()) == 0) && work.ChecksTold(s.Final.Heard) == 0 {
		return nil
	}
	for _, path := range differs {
		if work.RunsInCI(path) {
			doubts = append(doubts, work.Doubt{Kind: work.DoubtWeakened, Path: path, What: "what CI runs was changed after the host's checks failed"})
		}
	}
	return doubts
}
