package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// What people say in the threads of the pull request of an issue's result is
// answered as in those of a phase's. The answer is due when what came of it is
// decided on; who shows people the result posts it, and looks for it before.

// Round is what the agent says to the threads of one request for changes.
type Round struct {
	Threads []string
	Said    string // "" = nothing
}

// owes notes threads that the agent is told of.
func (f *Final) owes(threads []string) {
	for _, t := range threads {
		if !slices.Contains(f.Owed, t) {
			f.Owed = append(slices.Clip(f.Owed), t)
		}
	}
}

// words keeps the agent's last ones, where threads wait for them.
func (f *Final) words(p *Phase, message string) {
	if len(f.Owed) == 0 || p.Parent != "" {
		return
	}
	if f.Said == nil {
		f.Said = map[string]string{}
	}
	f.Said[p.Number] = message
}

// answerThreads closes the round: the work on it is over.
func (s *State) answerThreads() {
	f := &s.Final
	if len(f.Owed) == 0 {
		return
	}
	f.Rounds = append(slices.Clip(f.Rounds), Round{Threads: f.Owed, Said: s.said()})
	f.Owed, f.Said = nil, nil
}

// said is the agent's answer; that of several phases says which says what.
func (s *State) said() string {
	if s.Final.Note != "" {
		return "The agent worked on it, and nothing of that is in the branch: " + s.Final.Note
	}
	var all []string
	for _, n := range s.Order {
		if words := strings.TrimSpace(s.Final.Said[n]); words != "" {
			all = append(all, words)
			if len(s.Final.Said) > 1 {
				all[len(all)-1] = fmt.Sprintf("%s: %s", s.Phases[n].Plan.Name, words)
			}
		}
	}
	return text.ClipJSON(strings.Join(all, "\n\n"), maxWords)
}

// Replies are the answers to the threads of the result's pull request, each
// under a key that is the same each time.
func (s *State) Replies() []PullReply {
	var out []PullReply
	for n, r := range s.Final.Rounds {
		for _, t := range r.Threads {
			out = append(out, PullReply{Thread: t, Key: fmt.Sprintf("%s/result/%d %s", s.Run, n+1, t), Body: r.Said})
		}
	}
	return out
}

// Commits of people on the pull request of a result that is decided are judged
// by a run of their own, as those on a phase's are: its first phase begins with
// them. Approved as they are, they are proven and reviewed before any agent
// does anything, and that approval counts for just this content.

// tellApproved is why nobody is asked about what people pushed.
const tellApproved = "what people pushed was approved as it is, on the pull request"

// pushed is what people pushed, where p begins with it.
func (s *State) pushed(p *Phase) *work.Pushed {
	if s.Spec.Issue == nil || !s.first(p) {
		return nil
	}
	return s.Spec.Issue.Pushed
}

// first says that p is the phase that begins with what an earlier run left.
func (s *State) first(p *Phase) bool { return len(s.topo) > 0 && p.Number == s.topo[0] }

// clashed is the earlier result whose conflict p resolves.
func (s *State) clashed(p *Phase) *work.Clash {
	if s.Spec.Issue == nil || !s.first(p) {
		return nil
	}
	return s.Spec.Issue.Clash
}

// begin lets p begin with what people pushed, or with an earlier result
// beside what came to be meanwhile.
func (s *State) begin(p *Phase) {
	if w := s.pushed(p); w != nil {
		p.Last, p.Tree = w.Commit, w.Tree
		p.note("Somebody pushed to the branch. Their changes are in your folder, they stay: %s", strings.Join(w.Files, ", "))
	}
	if c := s.clashed(p); c != nil {
		p.Last, p.Tree, p.Marked = c.Commit, c.Tree, c.Files
		p.note("This was done already, and does not go together with %s. In your folder is both, with markers where they conflict. Mend that so that what is there now stays and the work still does what it is for, and change nothing else.", c.With)
	}
}

// prove sends what people pushed and approved to its proof.
func (s *State) prove(p *Phase) {
	if s.asPushed(p) != "" {
		p.Judged, p.Proof = Judged{Claim: ClaimNone}, s.byWord()
		p.Stage = s.toProve(p)
	}
}

// asPushed is who approved p's content, which is what people pushed and nothing
// else; "" = nobody, or it is not.
func (s *State) asPushed(p *Phase) string {
	w := s.pushed(p)
	if w == nil || p.Last != w.Commit || p.Iteration > 0 || p.Landed {
		return ""
	}
	return w.Approved
}

// approvedResult is who approved the very content of the result.
func (s *State) approvedResult() string {
	if w := s.Spec.Issue.Pushed; w != nil && w.Tree != "" && w.Tree == s.Issue.Tree {
		return w.Approved
	}
	return ""
}

// Specialists says that some look at what the run makes.
func (s *State) Specialists() bool {
	return slices.ContainsFunc(s.Order, func(n string) bool { return s.reviews(s.Phases[n]) })
}
