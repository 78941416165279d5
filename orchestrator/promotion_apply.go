package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"forge/internal/work"
)

// What the events of an issue's run leave behind for its promotion. All of it
// is nothing for a run that is no issue's.

func newIssue(sp Spec) *IssueState {
	if sp.Issue == nil {
		return nil
	}
	return &IssueState{External: sp.Issue.External, Green: map[string]string{}, AllowedIn: map[string]bool{}}
}

// verified notes the tree that a phase's commands passed on.
func (i *IssueState) verified(p *Phase, d work.VerifyFinishedData) {
	if i == nil {
		return
	}
	tree := p.Tree
	if d.On == work.OnMerged && p.Merge != nil {
		tree = p.Merge.Tree
	}
	if d.Rides == "" {
		i.Green[p.Number] = tree
	}
	i.AllowedIn[p.Number] = len(d.Allowed) > 0 || i.External && len(d.Touched) > 0
}

func (i *IssueState) fixed() {
	if i != nil {
		i.Fixes++
	}
}

func (i *IssueState) proceeded() {
	if i != nil {
		i.Proceeded = true
	}
}

// landed notes what a phase brought into the result: call it while its merge
// is still known.
func (i *IssueState) landed(p *Phase, reviewed, same bool) {
	if i == nil || p.Merge == nil {
		return
	}
	m := p.Merge
	if m.Tree != i.Tree {
		i.Tree, i.Passed, i.Prover = m.Tree, nil, ""
	}
	if m.Tree != "" && i.Green[p.Number] == m.Tree && p.Proof == work.ProofVerified {
		i.Passed, i.Prover = p.Set.Verify, p.Number
	}
	l := Landing{Phase: p.Number, Files: m.Paths, Known: !m.Resolved && (len(m.Paths) > 0 || m.Files == 0)}
	if reviewed {
		i.heard(p, &l)
	}
	i.Landings = land(i.Landings, l, same, p.Reworking)
	i.Allowed = i.Allowed || i.AllowedIn[p.Number] || p.Review.Evidence != "" || len(p.Review.LetFiles) > 0
}

// heard takes over what reviewers said of the very content that lands.
func (i *IssueState) heard(p *Phase, l *Landing) {
	r := &p.Review
	lands := r.Commit != "" && (r.Commit == p.Last || r.Commit == p.Merge.Commit)
	for _, sp := range p.Set.Reviewers {
		o := r.Of[sp.Name]
		if o == nil {
			continue
		}
		i.Reviewed, i.Warned = true, i.Warned || o.Verdict != work.VerdictPass
		if !lands || o.Commit != r.Commit || o.Due {
			continue
		}
		stands := o.Verdict == work.VerdictPass || o.Verdict == work.VerdictWarn
		for _, a := range o.Criteria {
			// Somebody whose no was passed over speaks for nothing, and against
			// it all the same.
			if stands || o.Verdict == work.VerdictFail && !a.Met {
				l.Said = append(l.Said, Said{Reviewer: sp.Name, Gating: sp.Gating, CriterionAnswer: a})
			}
		}
	}
}

// undecide forgets what was decided on a result that is being changed.
func (i *IssueState) undecide() {
	if i != nil {
		i.Decided, i.Evidence = nil, nil
	}
}

func applyCriteria(_ *State, p *Phase, _ work.Event, d CriteriaAnsweredData) {
	if o := p.Review.Of[d.Specialist]; o != nil && !o.Due && o.Commit == d.Commit {
		o.Criteria = d.Criteria
	}
}

func applyEvidenced(s *State, _ *Phase, e work.Event, d work.Evidence) {
	if s.Issue != nil && d.Commit == s.Head {
		d.At = e.Time
		s.Issue.Evidence = append(slices.Clip(s.Issue.Evidence), d)
	}
}

func applyPromotion(s *State, _ *Phase, _ work.Event, d PromotionDecidedData) {
	if s.Issue != nil && d.Commit == s.Head {
		s.Issue.Decided = &d
		if d.By == byPromote {
			s.answerThreads()
		}
	}
}

// mostPaths is how many paths of a phase's change are told apart.
const mostPaths = 200

// PathMarks are short marks of the paths of a change, which fit into an event;
// nil where it has too many. Two paths with one mark are taken for the same
// path, which voids more than it must and never less.
func PathMarks(changes []work.FileChange) []string {
	if len(changes) > mostPaths {
		return nil
	}
	out := make([]string, 0, len(changes))
	for _, c := range changes {
		sum := sha256.Sum256([]byte(c.Path))
		out = append(out, hex.EncodeToString(sum[:4]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
