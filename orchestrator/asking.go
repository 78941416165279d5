package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// An agent may ask what it cannot know, and say what it lacks. Where the policy
// wants a person, the phase waits for the answer; else Forge answers that
// nobody can be asked. Either way the same is never asked twice in a phase.

// maxAsks is how often one phase may ask; then its agent decides by itself.
const maxAsks = 5

// The decisions about what an agent asks, beside asking a person.
const (
	decideAnswer = "answer" // a person's words are the next prompt
	decideAlone  = "decide" // the agent decides, or works around what it lacks
	decideRepeat = "repeat" // it was answered before
)

// Asking is what the agent of a phase asks, and was told.
type Asking struct {
	Due  []Ask   `json:",omitempty"` // of the last iteration; the first one may be with a person
	Said []Reply `json:",omitempty"` // what was answered, oldest first
	// Put says that something of the last iteration was answered, or waits for
	// an answer: another iteration follows, whatever else it said.
	Put bool `json:",omitempty"`
}

// Ask is a question, or something that the agent lacks.
type Ask struct {
	work.Question
	Needs string `json:",omitempty"` // of what it lacks; "" = it is a question
}

// Reply is what became of an Ask.
type Reply struct {
	Ask
	By       string `json:",omitempty"` // who answered; "" = nobody could be asked
	Answer   string
	Due      bool `json:",omitempty"` // the next prompt says it
	Repeated bool `json:",omitempty"`
}

// Assumption is what an agent decided without knowing; or, where Text is "", a
// question that nobody answered.
type Assumption struct {
	Phase    string `json:"phase"`
	Text     string `json:"text,omitempty"`
	Question string `json:"question,omitempty"`
}

// maxAssumed is how many assumptions a run remembers; the events hold them all.
const maxAssumed = 50

// What an agent is told where nobody answers.
const (
	tellAlone  = "Nobody can be asked. Decide by yourself, and write down what you assumed in an element named assumption."
	tellAround = "Nobody can give you that. Work around it once; if you cannot, say so again, and the phase ends."
)

// questionGate is where an agent asks, or says what it lacks.
func questionGate() gate {
	return gate{
		names: []string{string(gates.PointQuestion), string(gates.PointBlocker)}, stages: []Stage{StageJudge}, ownWords: true,
		decide: (*decision).asks, answered: (*decision).answeredAsk, fold: foldAsk,
		moves: map[string][]Stage{
			decideAnswer: {StageJudge, StageGate}, decideAlone: {StageJudge, StageGate}, decideRepeat: {StageJudge, StageGate}, decideReject: {StageJudge, StageGate},
		},
		leads: leadAsk,
	}
}

// isAsk says that a gate is about what an agent asks.
func isAsk(gate string) bool {
	return gate == string(gates.PointQuestion) || gate == string(gates.PointBlocker)
}

func (a Ask) point() gates.Point {
	if a.Needs != "" {
		return gates.PointBlocker
	}
	return gates.PointQuestion
}

// same is what tells two asks of a phase apart.
func (a Ask) same() string { return string(a.point()) + " " + gates.SameQuestion(a.Text) }

// next takes in what an iteration asked.
func (k Asking) next(d work.IterationFinishedData) Asking {
	out := Asking{Said: append([]Reply(nil), k.Said...)}
	for i := range out.Said {
		out.Said[i].Due = false
	}
	if !d.Outcome.KeepsClaim() && !d.Outcome.Hung() {
		return out
	}
	add := func(a Ask) {
		if !slices.ContainsFunc(out.Due, func(b Ask) bool { return a.same() == b.same() }) {
			out.Due = append(out.Due, a)
		}
	}
	for _, q := range d.Signals.Questions {
		add(Ask{Question: q})
	}
	for _, l := range d.Signals.Lacks {
		add(Ask{Question: work.Question{Text: l.Text}, Needs: l.Needs})
	}
	return out
}

// said is the place of the answer to a among those given; -1 = there is none.
func (k Asking) said(a Ask) int {
	return slices.IndexFunc(k.Said, func(r Reply) bool { return r.same() == a.same() })
}

// questions says that a question waits to be put.
func (k Asking) questions() bool {
	return slices.ContainsFunc(k.Due, func(a Ask) bool { return a.Needs == "" })
}

// asks decides on the first thing that the agent asks; false when there is
// none. A question comes before a claim: who has to know something is not done.
// What is lacked comes after it: it may be done all the same.
func (d *decision) asks(p *Phase) bool {
	if len(p.Asking.Due) == 0 || !p.Asking.questions() && p.claiming() {
		return false
	}
	a := p.Asking.Due[0]
	if d.hooked(p, work.HookOnQuestion, fmt.Sprintf("%d-%d-%d", p.Reopened, p.Iteration, len(p.Asking.Said)), a.facts()) {
		return true
	}
	gate, before := string(a.point()), p.Asking.said(a)
	switch {
	case before >= 0 && a.Needs != "" && (p.Asking.Said[before].By == "" || p.Asking.Said[before].Repeated):
		d.rule(p.Number, gate, decideStop, "it says again what it lacks: "+a.Text)
		d.finish(p, work.PhaseFailed, work.ReasonBlocked, a.lacks())
	case before >= 0:
		d.rule(p.Number, gate, decideRepeat, "it was answered before: "+a.Text)
	case len(p.Asking.Said) >= maxAsks && a.Needs != "":
		d.rule(p.Number, gate, decideStop, fmt.Sprintf("it asked %d times before", maxAsks))
		d.finish(p, work.PhaseFailed, work.ReasonBlocked, a.lacks())
	case len(p.Asking.Said) >= maxAsks:
		d.rule(p.Number, gate, decideReject, fmt.Sprintf("a phase may ask at most %d times", maxAsks))
	case d.s.passes(p, a.point()):
		d.gate(p.Number, gate, decideAlone, d.s.policyName(p), "nobody is asked: "+a.Text)
	default:
		d.open(p, gate, []string{gate}, a.question(p), a.facts()+"\n"+strings.Join(p.History, "\n"))
	}
	return true
}

// lacks is why a phase fails for what nobody gave its agent, in its own words.
func (a Ask) lacks() string { return fmt.Sprintf("it needs %s: %s", needs(a.Needs), a.Text) }

// needs is what a blocker needs, with its article.
func needs(word string) string {
	if word == "access" {
		return word
	}
	return "a " + word
}

func (a Ask) question(p *Phase) string {
	line := text.FirstLine(text.Plain(a.Text), work.MaxQuestionBytes)
	if a.Needs != "" {
		return fmt.Sprintf("Phase %s %q needs %s: %s", p.Number, p.Plan.Name, needs(a.Needs), line)
	}
	return fmt.Sprintf("Phase %s %q asks: %s", p.Number, p.Plan.Name, line)
}

func (a Ask) facts() string {
	said := a.Text + "\n"
	if a.Why != "" {
		said += "Why it asks: " + a.Why + "\n"
	}
	return said
}

// The choices of a question beside those that the agent offers, which are
// numbered.
const (
	choiceOther  = "other"
	choiceDecide = "decide"
)

// choices are the ways to answer a; nil where the three answers say it.
func (a Ask) choices() []work.Choice {
	if a.Needs != "" {
		return nil
	}
	var out []work.Choice
	for i, label := range a.Choices {
		out = append(out, work.Choice{Name: fmt.Sprint(i + 1), Answer: work.CheckpointApproved, Label: label})
	}
	return append(out,
		work.Choice{Name: choiceOther, Answer: work.CheckpointChangesRequested, Label: "answer in your own words"},
		work.Choice{Name: choiceDecide, Answer: work.CheckpointRejected, Label: "let the agent decide"})
}

// offers says that cp names the choice of an answer.
func offers(cp *work.Checkpoint, a work.Answer) bool {
	return slices.ContainsFunc(cp.Choices, func(c work.Choice) bool { return c.Name == a.Choice && c.Answer == a.Status })
}

// answeredAsk turns a person's answer into the agent's next prompt.
func (d *decision) answeredAsk(p *Phase, a answer) {
	cp := a.cp
	data := work.GateDecidedData{Gate: cp.Kind, Decision: decideAnswer, By: a.by, Policy: cp.Policy, Reason: text.ClipJSON(a.Comment, 500)}
	if len(p.Asking.Due) == 0 {
		return // only in a journal by somebody else's hand
	}
	ask := p.Asking.Due[0]
	if a.Status != work.CheckpointRejected {
		data.Comment = text.ClipJSON(answerWords(cp, a.Answer), maxWords)
		d.decide(p.Number, data)
		return
	}
	data.Comment = text.ClipJSON(a.Comment, maxWords)
	if ask.Needs == "" {
		data.Decision = decideAlone
		d.decide(p.Number, data)
		return
	}
	data.Decision = decideReject
	d.decide(p.Number, data)
	d.finish(p, work.PhaseFailed, work.ReasonBlocked, ask.lacks()+"; rejected by "+a.By+": "+a.Comment)
}

// answerWords are a person's choice and comment as one text.
func answerWords(cp *work.Checkpoint, a work.Answer) string {
	var said []string
	for _, c := range cp.Choices {
		if c.Name == a.Choice && c.Answer == work.CheckpointApproved {
			said = append(said, c.Label)
		}
	}
	if !text.Blank(a.Comment) {
		said = append(said, strings.TrimSpace(a.Comment))
	}
	return strings.Join(said, "\n")
}

// leadAsk is the next thing that is asked, or the iteration that hears what was
// answered, or what else follows from one that heard it before.
func leadAsk(_ *State, p *Phase, d work.GateDecidedData) Stage {
	k := p.Asking
	if len(k.Due) == 0 {
		return ""
	}
	a := k.Due[0]
	put := k.Put || d.Decision == decideAlone && a.Needs == "" && !strings.HasPrefix(d.By, "person:")
	switch {
	case a.Needs != "" && d.Decision == decideReject:
		return "" // a person said no, and the phase ends
	case put && len(k.Due) == 1:
		return StageGate
	}
	return StageJudge
}

// foldAsk folds a decision about what the agent of p asks.
func foldAsk(s *State, p *Phase, d folded) {
	k := &p.Asking
	if d.Decision == decideStop || len(k.Due) == 0 {
		return
	}
	a := k.Due[0]
	if d.Decision == decideAsk {
		s.put(p, a)
		return
	}
	if a.Needs != "" && d.Decision == decideReject {
		return // a person said no, and the phase ends
	}
	k.Due = append([]Ask(nil), k.Due[1:]...)
	reply := Reply{Ask: a, Due: true}
	who, person := strings.CutPrefix(d.By, "person:")
	switch d.Decision {
	case decideRepeat:
		if i := k.said(a); i >= 0 {
			k.Said = slices.Clone(k.Said)
			k.Said[i].Due, k.Said[i].Repeated = true, true
		}
	case decideReject:
		p.note("Your question was not put to anybody: %s. %s", d.Reason, tellAlone)
	case decideAnswer:
		reply.By, reply.Answer = who, d.Comment
		k.Said = append(slices.Clip(k.Said), reply)
	case decideAlone:
		reply.Answer = tellAlone
		switch {
		case a.Needs != "":
			reply.Answer = tellAround
		case person:
			reply.By, reply.Answer = who, "Decide by yourself, and write down what you assumed in an element named assumption. "+d.Comment
		default:
			s.put(p, a)
		}
		if a.Needs == "" {
			s.assume(Assumption{Phase: p.Number, Question: a.Text})
		}
		k.Said = append(slices.Clip(k.Said), reply)
	}
}

// put notes that a, of p's last iteration, gets an answer. Such an iteration
// costs none of the budget, and claims nothing.
func (s *State) put(p *Phase, a Ask) {
	if p.Asking.Put {
		return
	}
	p.Asking.Put = true
	if len(p.Judged.Claims) > 0 {
		p.note("Your promise does not count: you asked something in the same iteration. Make it again when you are done.")
	}
	p.Judged.Claim, p.Judged.Stalling, p.Judged.Obstacle = ClaimNone, false, "it asks what it has to know: "+a.Text
	p.Blocked = gates.BlockerTracker{}
	p.steered()
	if p.Kind != IterationWork {
		return
	}
	for ; p != nil; p = s.Phases[p.Parent] {
		p.Budget++
	}
}

// again is what still counts of k when the phase is opened again: what a person
// answered. What was lacked may be there by now.
func (k Asking) again() Asking {
	var out Asking
	for _, r := range k.Said {
		if r.By != "" && r.Needs == "" {
			out.Said = append(out.Said, r)
		}
	}
	return out
}

// assume remembers what was decided without knowing, each once.
func (s *State) assume(a Assumption) {
	if len(s.Assumed) < maxAssumed && !slices.Contains(s.Assumed, a) {
		s.Assumed = append(slices.Clip(s.Assumed), a)
	}
}

// tellAssumed is what the result rests on that nobody knows, for people.
func (s *State) tellAssumed() string {
	var b strings.Builder
	for _, a := range s.Assumed {
		b.WriteString(a.String() + "\n")
	}
	return text.ClipMiddle(b.String(), 2<<10)
}

// String is a as a line for people.
func (a Assumption) String() string {
	if a.Text == "" {
		return fmt.Sprintf("phase %s asked, and nobody answered: %s", a.Phase, text.FirstLine(text.Plain(a.Question), work.MaxQuestionBytes))
	}
	return fmt.Sprintf("phase %s assumed: %s", a.Phase, text.FirstLine(text.Plain(a.Text), maxAssumption))
}

// maxAssumption is how much of an assumption is kept, in bytes.
const maxAssumption = 300

// aboutAsking tells a new session how it asks.
const aboutAsking = "If you cannot go on without knowing something, ask instead of guessing: an element named question that holds a JSON object with text, choices (a list of answers; optional) and why (optional). End your message there; the answer comes with the next one. " +
	"What you decided without knowing belongs into an element named assumption. A blocker that only a person can remove holds a JSON object with text and needs (person, credential, access or decision).\n"

// writeAnswers gives the answers that are due, each with what it answers.
func writeAnswers(b *strings.Builder, p *Phase) {
	for _, r := range p.Asking.Said {
		switch {
		case !r.Due:
			continue
		case r.Needs != "":
			section(b, "You said that you lack this", r.Text)
		case r.Repeated:
			section(b, "You asked this again; it was answered before", r.Text)
		default:
			section(b, "You asked", r.Text)
		}
		if r.By == "" {
			b.WriteString("\n" + r.Answer + "\n")
			continue
		}
		section(b, "The answer, from a person", r.Answer)
	}
}

// writeAnswered tells a new session what was asked and answered before.
func writeAnswered(b *strings.Builder, p *Phase) {
	var said []string
	for _, r := range p.Asking.Said {
		if !r.Due && r.Needs == "" {
			said = append(said, "Question: "+r.Text+"\nAnswer: "+r.Answer)
		}
	}
	if len(said) > 0 {
		section(b, "What was asked and answered in this phase", strings.Join(said, "\n"))
	}
}
