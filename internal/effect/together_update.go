package effect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"forge/internal/work"
	"forge/orchestrator"
)

// update merges the result in m's repository with its target as that is by now, and
// proves what comes of it: as it is, and with the evidence that what it changes of the
// target asks for. Nothing is moved.
func (m *Machine) update(ctx context.Context, e orchestrator.TogetherEffect, a Attending) orchestrator.Fact {
	c, u := e.Command, e.Update
	done := orchestrator.TogetherDone{Command: c}
	if m.Targets == nil {
		return broke(c, "merge the result with "+e.Base.Branch, fmt.Errorf("this machine moves no targets"))
	}
	merged, err := m.Repo.Merge(ctx, u.Onto, c.Commit)
	if err != nil {
		return failed(ctx, c, "merge the result with "+e.Base.Branch, err)
	}
	if len(merged.Conflicts) > 0 {
		done.Why = "the result conflicts with what " + e.Base.Branch + " holds by now, in " + strings.Join(merged.Conflicts, ", ")
		return done
	}
	done.Tree = merged.Tree
	if done.Made, err = m.Targets.MergeCommit(ctx, merged.Tree, []string{u.Onto, c.Commit}, u.Message, u.Ref); err != nil {
		return failed(ctx, c, "merge the result with "+e.Base.Branch, err)
	}
	v := orchestrator.VerifyEffect{Command: c, Proof: u.Proof, Judge: true, Base: u.Proof.Verify.Base}
	v.Command.On, v.Command.Commit, v.Proof.Verify.Commit, v.Proof.Evidence.Commit = work.OnMerged, done.Made, done.Made, done.Made
	due := []work.VerifyOn{work.OnMerged}
	for n := 0; n < len(due); n++ {
		if v.Command.On = due[n]; n > 0 {
			v.Mix, v.Judge = true, false
		}
		fact := m.verify(ctx, v, a)
		is, green := fact.(orchestrator.VerifyDone)
		if b, of := fact.(orchestrator.Broke); of {
			b.Command = c
			return b
		}
		if !green {
			return nil
		}
		if why := unproven(is, u.Proof.Settings); why != "" {
			done.Why = "merged with what " + e.Base.Branch + " holds by now, it is not proven: "
			if n > 0 {
				done.Why += "with the " + string(due[n]) + " evidence: "
			}
			done.Why += why
			return done
		}
		if n == 0 && !u.Approved {
			due = append(due, is.Evidence.Floors...)
		}
	}
	return done
}

// unproven is why a verify proves nothing; "" = it does. What was not asked is no yes.
func unproven(v orchestrator.VerifyDone, set work.ProofSettings) string {
	if rep := v.Report; !rep.OK || len(rep.Ran) == 0 {
		return cmp.Or(rep.Problem, "no verify command ran")
	}
	if v.Command.On != work.OnMerged {
		return ""
	}
	switch h := v.Hidden; {
	case v.Evidence == nil:
		return "nobody knows what it does to the evidence"
	case h == nil && len(set.Hidden) > 0:
		return "the hidden checks were not asked"
	case h != nil && h.Disturbed != "":
		return h.Disturbed
	case h != nil && h.Red != "":
		return "a check of the project's owner is red: " + h.Red
	case len(set.Pages) == 0:
		return ""
	case v.Pages == nil:
		return "nobody can show its pages"
	}
	_, red := v.Pages.Held(set.Pages)
	return strings.Join(red, "; ")
}
