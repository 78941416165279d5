package orchestrator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// A council judges the tries of a phase. Once all are over and more than one is
// proven, each worker gives points to the changes of the others, without knowing
// whose they are; a chairman then makes one more try out of all, with what was said
// of each, from the same base. It is proven as any try is, and taken where it is;
// else the points decide among the proven ones, and then the rules of tries. Who
// gives no usable answer has no vote.

// Council is how the tries of a phase are judged.
type Council struct {
	Votes []Vote
	// Synthesis is the number of the chairman's try, "" = it has not begun. Shown
	// are the tries in the order in which the chairman sees them.
	Synthesis string   `json:",omitempty"`
	Shown     []string `json:",omitempty"`
}

// Vote is what one worker thinks of the others' changes.
type Vote struct {
	Voter
	Cleared bool           `json:",omitempty"` // it may be asked for: there is money for it
	Begun   work.CommandID `json:",omitempty"` // likewise, once it has begun
	Over    bool           `json:",omitempty"`
	Scores  []work.Score   `json:",omitempty"` // in the order of Of; none = no vote
}

// Voter is who judges, and which tries, in the order in which they are shown: never
// one that it made itself.
type Voter struct {
	Agent string   `json:"agent"`
	Model string   `json:"model,omitempty"`
	Of    []string `json:"of"`
}

// CouncilBeganData is the payload of council.began; the event's phase is the one
// that is tried.
type CouncilBeganData struct {
	Voters []Voter `json:"voters"`
}

// VoteStartedData is the payload of vote.started.
type VoteStartedData struct {
	Command  work.CommandID `json:"command"`
	Voter    int            `json:"voter"` // from 1
	Reserved *float64       `json:"reserved_usd,omitempty"`
}

// VoteFinishedData is the payload of vote.finished. Without scores it is no vote.
type VoteFinishedData struct {
	Command work.CommandID `json:"command"`
	Voter   int            `json:"voter"`
	Of      []string       `json:"of"`
	Scores  []work.Score   `json:"scores,omitempty"` // in the order of Of
	Why     string         `json:"why,omitempty"`    // there are none
	Model   string         `json:"model,omitempty"`
	Usage   work.Usage     `json:"usage"`
	Request string         `json:"request,omitempty"` // blob
	Answer  string         `json:"answer,omitempty"`  // blob
}

// SynthesisBeganData is the payload of synthesis.began.
type SynthesisBeganData struct {
	TryStarted
	Of     []string `json:"of"` // the tries that it is made out of, as they are shown
	Budget int      `json:"budget"`
}

// convene begins the judgement of the tries that are proven.
func (d *decision) convene(p *Phase, facts []TryFacts) {
	data := CouncilBeganData{Voters: []Voter{}}
	for i, v := range d.s.voters(p) {
		for _, t := range facts {
			if t.Proven && !d.s.madeBy(d.s.Phases[t.Number], v) {
				v.Of = append(v.Of, t.Number)
			}
		}
		if len(v.Of) > 0 {
			v.Of = d.s.shuffled(p, fmt.Sprint(i+1), v.Of)
			data.Voters = append(data.Voters, v)
		}
	}
	d.phase(p.Number, work.CouncilBegan, data)
}

// voters are the reviewers of p's council, else its workers, each once.
func (s *State) voters(p *Phase) []Voter {
	var out []Voter
	add := func(agent, model string) {
		agent = cmp.Or(agent, p.Set.Agent)
		model = cmp.Or(model, s.Spec.Settings.Agents[agent].Model)
		if !slices.ContainsFunc(out, func(v Voter) bool { return v.Agent == agent && v.Model == model }) {
			out = append(out, Voter{Agent: agent, Model: model})
		}
	}
	for _, r := range p.Set.Council.Reviewers {
		add(r.Agent, r.Model)
	}
	if len(out) > 0 {
		return out
	}
	for _, n := range p.Contest.Tries {
		add(s.Phases[n].Set.Agent, s.Phases[n].Set.Model)
	}
	return out
}

// madeBy says that a try is v's own work, or partly was before another agent went on
// with it.
func (s *State) madeBy(try *Phase, v Voter) bool {
	if slices.ContainsFunc(try.Switches, func(w Switch) bool { return w.From == v.Agent }) {
		return true
	}
	return try.Set.Agent == v.Agent && cmp.Or(try.Set.Model, s.Spec.Settings.Agents[v.Agent].Model) == v.Model
}

// shuffled is an order of tries that says nothing of who made them, other for each
// who looks; the ids alone decide it, so that it is the same again after a crash.
func (s *State) shuffled(p *Phase, who string, tries []string) []string {
	key := func(try string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s\x00%s", s.Run, p.Number, p.Reopened, who, try))
		return hex.EncodeToString(sum[:])
	}
	out := slices.Clone(tries)
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(key(a), key(b)) })
	return out
}

func applyCouncilBegan(_ *State, p *Phase, _ work.Event, d CouncilBeganData) {
	c := p.Contest
	if c == nil || c.Council != nil || c.Chosen != "" || p.Stage != StageTries {
		return
	}
	c.Council = &Council{}
	for _, v := range d.Voters {
		c.Council.Votes = append(c.Council.Votes, Vote{Voter: v})
	}
	p.Stage = StageCouncil
}

// due are the votes that may be asked for once there is money, and those that are
// asked for.
func (c *Contest) due() (ready, going []*Vote) {
	if c == nil || c.Council == nil {
		return nil, nil
	}
	for i := range c.Council.Votes {
		switch v := &c.Council.Votes[i]; {
		case v.Over:
		case v.Cleared || v.Begun != "":
			going = append(going, v)
		default:
			ready = append(ready, v)
		}
	}
	return ready, going
}

// begun are the commands that are under way.
func (c *Contest) begun() []work.CommandID {
	var out []work.CommandID
	_, going := c.due()
	for _, v := range going {
		if v.Begun != "" {
			out = append(out, v.Begun)
		}
	}
	return out
}

// underWay counts as State.underWay does.
func (c *Contest) underWay() (going, begun int) {
	_, asked := c.due()
	return len(asked), len(c.begun())
}

// takeBack forgets what has begun and not finished: it is asked again, when there is
// money for it.
func (c *Contest) takeBack() {
	_, going := c.due()
	for _, v := range going {
		v.Begun, v.Cleared = "", false
	}
}

// councilRow is who gives the vote at a place, from 0, in commands and logs.
func councilRow(at int) string { return fmt.Sprintf("council-%d", at+1) }

// voteOf is the vote that a command asks for, from 0; -1 = there is none.
func (p *Phase) voteOf(c Command) int {
	if p == nil || p.Contest == nil || p.Contest.Council == nil {
		return -1
	}
	for at := range p.Contest.Council.Votes {
		if councilRow(at) == c.Specialist {
			return at
		}
	}
	return -1
}

func (s *State) pendingVotes(p *Phase) []Command {
	var out []Command
	if p.Contest == nil || p.Contest.Council == nil {
		return nil
	}
	for at, v := range p.Contest.Council.Votes {
		if v.Over || !v.Cleared && v.Begun == "" {
			continue
		}
		c := Command{Phase: p.Number, Iteration: p.Iteration, Attempt: p.Reopened + 1, Step: StepVote, Commit: p.Base, Specialist: councilRow(at)}
		c.ID = s.id(p.Number, p.turnOf(c.Attempt), p.Iteration, fmt.Sprintf("%s-%d", StepVote, at+1))
		out = append(out, c)
	}
	return out
}

func (d *decision) voteBegan(c Command) {
	p := d.s.Phases[c.Phase]
	if at := p.voteOf(c); at >= 0 && p.Contest.Council.Votes[at].Begun == "" {
		d.emit(work.VoteStarted, c, VoteStartedData{Command: c.ID, Voter: at + 1, Reserved: d.s.Spec.Settings.Cost.IterationUSD})
	}
}

func applyVoteStarted(s *State, p *Phase, _ work.Event, d VoteStartedData) {
	if v := p.vote(d.Voter); v != nil && !v.Over && v.Begun == "" {
		v.Begun = d.Command
		s.reserve(p, d.Command, d.Reserved)
	}
}

// vote is one of the votes that p waits for, from 1; nil = there is no such.
func (p *Phase) vote(number int) *Vote {
	if p.Stage != StageCouncil || p.Contest == nil || p.Contest.Council == nil || number < 1 || number > len(p.Contest.Council.Votes) {
		return nil
	}
	return &p.Contest.Council.Votes[number-1]
}

// voteDone records a vote as far as it is one: points within their bounds for each
// change, and nothing else.
func (d *decision) voteDone(f VoteDone) {
	if !d.awaited(f.Command) {
		return
	}
	p, r := d.s.Phases[f.Command.Phase], f.Report
	at := p.voteOf(f.Command)
	if at < 0 || p.Contest.Council.Votes[at].Begun == "" {
		return
	}
	v := p.Contest.Council.Votes[at]
	data := VoteFinishedData{
		Command: f.Command.ID, Voter: at + 1, Of: v.Of, Why: text.ClipJSON(r.Why, 300), Model: text.ClipJSON(r.Model, 200), Usage: r.Usage.Clean(),
		Request: text.ClipJSON(r.Request, 100), Answer: text.ClipJSON(r.Answer, 100),
	}
	wrong := len(r.Scores) != len(v.Of) || slices.ContainsFunc(r.Scores, func(s work.Score) bool { return s.Score < 0 || s.Score > work.MostScore })
	if wrong {
		data.Why = cmp.Or(data.Why, "it does not judge each change")
	} else {
		data.Why = ""
		for _, s := range r.Scores {
			data.Scores = append(data.Scores, work.Score{Score: s.Score, Critique: text.ClipJSON(s.Critique, 1000)})
		}
	}
	d.emit(work.VoteFinished, f.Command, data)
}

func applyVoteFinished(s *State, p *Phase, _ work.Event, d VoteFinishedData) {
	v := p.vote(d.Voter)
	if v == nil || v.Over || v.Begun != d.Command {
		return
	}
	s.settle(p, d.Command, d.Usage)
	v.Begun, v.Cleared, v.Over = "", false, true
	if len(d.Scores) == len(v.Of) {
		v.Scores = d.Scores
	}
}

// judged adds to what is known of tries what their peers think of them: only where
// each that is proven has a vote, since points and no points cannot be compared.
func (c *Contest) judged(all []TryFacts) {
	if c.Council == nil {
		return
	}
	means, whole := make([]*float64, len(all)), true
	for i := range all {
		t := &all[i]
		t.Synthesis, means[i] = t.Number == c.Council.Synthesis, c.Council.mean(t.Number)
		whole = whole && (!t.Proven || t.Synthesis || means[i] != nil)
	}
	for i := range all {
		if whole {
			all[i].Score = means[i]
		}
	}
}

// mean is the average of what those who have a vote give a try; nil = nobody does.
func (c *Council) mean(try string) *float64 {
	sum, n := 0, 0
	for _, v := range c.Votes {
		if at := slices.Index(v.Of, try); at >= 0 && len(v.Scores) == len(v.Of) {
			sum, n = sum+v.Scores[at].Score, n+1
		}
	}
	if n == 0 {
		return nil
	}
	mean := float64(sum) / float64(n)
	return &mean
}

// said are the critiques of a try, without who gave them.
func (c *Council) said(try string) []string {
	var out []string
	for _, v := range c.Votes {
		if at := slices.Index(v.Of, try); at >= 0 && len(v.Scores) == len(v.Of) {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%d of %d points. %s", v.Scores[at].Score, work.MostScore, v.Scores[at].Critique)))
		}
	}
	slices.Sort(out) // the order of the voters would say who
	return out
}

func applySynthesisBegan(s *State, p *Phase, _ work.Event, d SynthesisBeganData) {
	c := p.Contest
	if p.Stage != StageCouncil || c == nil || c.Council == nil || c.Council.Synthesis != "" || s.Phases[d.Number] != nil {
		return
	}
	c.Council.Synthesis, c.Council.Shown = d.Number, d.Of
	c.Tries = append(c.Tries, d.Number)
	s.beginTry(p, d.TryStarted, len(c.Tries), d.Budget)
	p.Stage = StageTries
}

// ShownChange is the change of a try as the chairman sees it.
type ShownChange struct {
	Label  string
	Commit string
}

// synthesised are the changes that p is made out of; nil = p is no synthesis.
func (s *State) synthesised(p *Phase) []ShownChange {
	parent := s.Phases[p.Parent]
	if p.Try == 0 || parent == nil || parent.Contest == nil || parent.Contest.Council == nil || parent.Contest.Council.Synthesis != p.Number {
		return nil
	}
	var out []ShownChange
	for at, n := range parent.Contest.Council.Shown {
		out = append(out, ShownChange{Label: work.ChangeLabel(at), Commit: s.Phases[n].Last})
	}
	return out
}

// writeCouncil tells the chairman what it is to make, and what was said of each
// change. The changes themselves follow, see ShowChange.
func (s *State) writeCouncil(b *strings.Builder, p *Phase) {
	shown := s.synthesised(p)
	if shown == nil {
		return
	}
	fmt.Fprintf(b, "\n## Make one result out of %d\n\nOthers have done this phase before you, each alone; all of their changes were proven. Your folder is as it was before them. Make one result that is better than each: take what is right, leave what is wrong, and add what all of them miss. It is proven from the beginning, as theirs were. The changes stand below, each with what was said of it by workers who did not know whose it is.\n", len(shown))
	council := s.Phases[p.Parent].Contest.Council
	for at, n := range council.Shown {
		for _, said := range council.said(n) {
			section(b, "What one says of change "+shown[at].Label, said)
		}
	}
}

// mostShown is how many bytes of changes a chairman is shown, of all together.
const mostShown = 160 << 10

// ShowChanges are the changes of e.Council as they stand in a prompt, by what each
// is called; diff gives the text of one within so many bytes.
func (e IterateEffect) ShowChanges(diff func(commit string, most int) (string, error)) (string, error) {
	var b strings.Builder
	for _, c := range e.Council {
		change, err := diff(c.Commit, mostShown/len(e.Council))
		if err != nil {
			return "", err
		}
		section(&b, "Change "+c.Label, change)
	}
	return b.String(), nil
}

// VoteEffect asks one worker for its vote. Its fact is VoteDone. No answer within
// TimeoutSecs is no vote.
type VoteEffect struct {
	Command     Command
	Request     work.VoteRequest
	Log         string // name of the log
	TimeoutSecs int
}

func (s *State) voteEffect(c Command, p *Phase, day Day) (Effect, error) {
	at := p.voteOf(c)
	if at < 0 {
		return nil, fmt.Errorf("carry out %s: there is no such vote", c.ID)
	}
	v, set := p.Contest.Council.Votes[at], s.Spec.Settings
	agent := set.Agents[v.Agent]
	req := work.VoteRequest{ReviewRequest: work.ReviewRequest{
		Run: s.Run, Phase: p.Number, PhaseName: p.Plan.Name, Specialist: work.Specialist{Name: c.Specialist}, By: "agent:" + v.Agent,
		Agent: agent, Model: cmp.Or(v.Model, agent.Model), Base: p.Base, Commit: p.Base, Ask: 1, Summary: reviewSummary(s, p),
		Sandbox: set.Sandbox, Limits: set.Limits,
	}}
	for _, n := range v.Of {
		req.Of = append(req.Of, s.Phases[n].Last)
	}
	req.CostUSD, req.Tokens = s.ceiling(p, day)
	return VoteEffect{Command: c, Request: req, TimeoutSecs: int(mostReview / time.Second), Log: fmt.Sprintf("%s-%s", p.Number, c.Specialist)}, nil
}

// Of is the command that is carried out.
func (e VoteEffect) Of() Command { return e.Command }

func (VoteEffect) effect() {}
