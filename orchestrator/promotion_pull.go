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
	Said    string            // "" = nothing
	Answers map[string]string `json:",omitempty"` // of single threads
	// From is the commit that people spoke of, and To what came of it; "" = not
	// known.
	From string `json:",omitempty"`
	To   string `json:",omitempty"`
}

// owes notes threads that the agent is told of, which speak of a commit.
func (f *Final) owes(threads []string, of string) {
	for _, t := range threads {
		if !slices.Contains(f.Owed, t) {
			f.Owed, f.From = append(slices.Clip(f.Owed), t), of
		}
	}
}

// words keeps the agent's last ones, where threads wait for them.
func (f *Final) words(p *Phase, d work.IterationFinishedData) {
	if len(f.Owed) == 0 || p.Parent != "" {
		return
	}
	if f.Said == nil {
		f.Said = map[string]string{}
	}
	f.Said[p.Number] = d.Message
	f.Answers = answered(f.Answers, f.Owed, d.Signals.Replies)
}

// answered adds what the agent said in threads that it was told of; what it says
// in others is heard by nobody.
func answered(before map[string]string, owed []string, replies []work.ThreadReply) map[string]string {
	for _, r := range replies {
		if !slices.Contains(owed, r.Thread) {
			continue
		}
		if before == nil {
			before = map[string]string{}
		}
		before[r.Thread] = r.Text
	}
	return before
}

// answerThreads closes the round: the work on it is over.
func (s *State) answerThreads() {
	f := &s.Final
	if len(f.Owed) == 0 {
		return
	}
	round := Round{Threads: f.Owed, Said: s.said(), Answers: f.Answers, From: f.From, To: s.Head}
	if f.Note != "" {
		round.Answers = nil // nothing of the work that they speak of is there
	}
	f.Rounds = append(slices.Clip(f.Rounds), round)
	f.Owed, f.Said, f.Answers, f.From = nil, nil, nil, ""
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
		out = append(out, replies(fmt.Sprintf("%s/result/%d", s.Run, n+1), r)...)
	}
	return out
}

// replies are a round's answers: to each thread its own, and, where the agent
// answered none of them, its last words once for all.
func replies(key string, r Round) []PullReply {
	var out []PullReply
	for _, t := range r.Threads {
		out = append(out, PullReply{Thread: t, Key: key + " " + t, Body: r.Answers[t], From: r.From, To: r.To})
	}
	if len(out) > 0 && len(r.Answers) == 0 && r.Said != "" {
		out = append(out, PullReply{Key: key + " all", Body: r.Said, From: r.From, To: r.To})
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

// conflicting is the earlier result whose conflict p resolves.
func (s *State) conflicting(p *Phase) *work.Conflict {
	if s.Spec.Issue == nil || !s.first(p) {
		return nil
	}
	return s.Spec.Issue.Conflict
}

// begin lets p begin with what people pushed, or with an earlier result
// beside what came to be meanwhile.
func (s *State) begin(p *Phase) {
	if w := s.pushed(p); w != nil {
		p.Last, p.Tree = w.Commit, w.Tree
		p.note("Somebody pushed to the branch. Their changes are in your folder, they stay: %s", strings.Join(w.Files, ", "))
	}
	if c := s.conflicting(p); c != nil {
		p.Last, p.Tree, p.Marked = c.Commit, c.Tree, c.Files
		p.note("This was done already, and does not go together with %s. In your folder is both, with markers where they conflict. Mend that so that what is there now stays and the work still does what it is for, and change nothing else.", c.With)
	}
}

// prove sends what people pushed and approved to its proof.
func (s *State) prove(p *Phase) {
	if s.asPushed(p) != "" {
		p.Judged, p.Proof = Judged{Claim: ClaimNone}, s.byWord(p)
		s.move(p, s.toProve(p))
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
