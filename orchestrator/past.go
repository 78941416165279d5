package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/stuck"
	"forge/internal/text"
	"forge/internal/work"
)

// What a new session is told of its phase is a summary of bounded size. The lines of
// the last iterations stand in Phase.History; Past holds what outlives them. What
// people say to a phase's agent is told beside it, whole; of their comments those that
// maxPastComments has no room for are cut.

// The most that Past holds of each kind.
const (
	maxPastFiles    = 60
	maxPastRefuted  = 12
	maxPastTold     = 6     // blockers, and strategies
	maxPastComments = 32000 // bytes of people's comments; older ones are cut to their first line
	maxPastSummary  = 2000  // bytes of the agent's own summary
	maxPastVerified = 2000  // bytes of what verify said last
)

// Past is what is known of a phase's iterations beyond the lines of the last ones.
type Past struct {
	Left       int       `json:",omitempty"` // lines of History that are gone
	Summary    string    `json:",omitempty"` // the agent's own words
	SummaryOf  int       `json:",omitempty"` // the iteration that wrote it
	Files      []string  `json:",omitempty"` // that iterations changed, the last ones last
	MoreFiles  bool      `json:",omitempty"`
	Refuted    []Refuted `json:",omitempty"` // promises that were proven wrong, oldest first
	Verified   string    `json:",omitempty"` // what the last red verify said
	Blockers   []string  `json:",omitempty"`
	Strategies []string  `json:",omitempty"` // that the agent announced
	Pivots     []string  `json:",omitempty"` // where it was stuck, and was told to change course
	Comments   []string  `json:",omitempty"` // of people, who asked for changes
	Nearly     bool      `json:",omitempty"` // the session is nearly as full as it may become
	Anew       bool      `json:",omitempty"` // a person wants a new session after this iteration
}

// Refuted is why promises were proven wrong.
type Refuted struct {
	Why   string
	First int // iteration
	Last  int `json:",omitempty"`
	Times int
}

// severalReasons stands for the oldest ones.
const severalReasons = "for several reasons"

// sees keeps what an iteration that came to something shows.
func (t *Past) sees(n int, d work.IterationFinishedData) {
	if d.Trace != nil {
		for _, f := range d.Trace.Files {
			if strings.HasPrefix(f, stuck.Others) {
				t.MoreFiles = true
				continue
			}
			t.Files = append(slices.DeleteFunc(slices.Clone(t.Files), func(known string) bool { return known == f }), f)
		}
		if over := len(t.Files) - maxPastFiles; over > 0 {
			t.Files, t.MoreFiles = t.Files[over:], true
		}
	}
	if said := d.Signals.Summaries; len(said) > 0 {
		t.Summary, t.SummaryOf, t.Nearly = said[len(said)-1], n, false
	}
	t.Blockers = lastOf(t.Blockers, d.Signals.Blockers)
	t.Strategies = lastOf(t.Strategies, d.Signals.Pivots)
}

// lastOf adds what is new, and keeps the last ones.
func lastOf(known, more []string) []string {
	for _, one := range more {
		one = text.Clip(one, 300)
		known = append(slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == one }), one)
	}
	return known[max(len(known)-maxPastTold, 0):]
}

// refuted keeps why a promise was wrong. The same reason again is counted; of more
// reasons than there is room for the oldest are put together.
func (t *Past) refuted(n int, why, output string) {
	t.Verified = text.Clip(strings.TrimSpace(why+"\n"+output), maxPastVerified)
	why = text.FirstLine(text.Plain(why), 200)
	t.Refuted = slices.Clone(t.Refuted)
	if i := slices.IndexFunc(t.Refuted, func(r Refuted) bool { return r.Why == why }); i >= 0 {
		t.Refuted[i].Last, t.Refuted[i].Times = n, t.Refuted[i].Times+1
		return
	}
	t.Refuted = append(t.Refuted, Refuted{Why: why, First: n, Times: 1})
	if len(t.Refuted) <= maxPastRefuted {
		return
	}
	one, two := t.Refuted[0], t.Refuted[1]
	one.Why, one.Last, one.Times = severalReasons, max(one.First, one.Last, two.First, two.Last), one.Times+two.Times
	t.Refuted = append([]Refuted{one}, t.Refuted[2:]...)
}

// pivoted keeps that an agent was stuck after an iteration and was told to change
// its course: the session that saw it is over then.
func (t *Past) pivoted(n int, evidence string) {
	t.Pivots = lastOf(t.Pivots, []string{fmt.Sprintf("After iteration %d: %s", n, cmp.Or(text.FirstLine(text.Plain(evidence), 200), "it made no progress"))})
}

// commented keeps a person's words for later sessions, the newest whole.
func (t *Past) commented(said string) {
	if text.Blank(said) {
		return
	}
	t.Comments = append(slices.Clone(t.Comments), said)
	room := maxPastComments
	for i := range slices.Backward(t.Comments) {
		if room -= len(t.Comments[i]); room < 0 && i < len(t.Comments)-1 {
			t.Comments[i] = text.FirstLine(text.Plain(t.Comments[i]), 160)
		}
	}
}

// backTo forgets what is about work that is gone; what was tried and refuted, and
// what people said, stays.
func (t *Past) backTo(iteration int) {
	if t.SummaryOf > iteration {
		t.Summary, t.SummaryOf = "", 0
	}
	t.Files, t.MoreFiles, t.Verified, t.Nearly, t.Anew = nil, false, "", false, false
}

// comment gives a person's words to the next iteration, and keeps them for later
// sessions.
func (p *Phase) comment(said string) {
	p.Comments = append(p.Comments, said)
	p.Past.commented(said)
}

// fills looks how full a session is after an iteration, as its tokens say.
func (t *Past) fills(tokens *int64, limit int64) (full bool) {
	t.Nearly = false
	if limit <= 0 || tokens == nil {
		return false
	}
	t.Nearly = *tokens <= limit && *tokens > limit-limit/4
	return *tokens > limit
}

// writePast tells a new session what happened so far.
func (p *Phase) writePast(b *strings.Builder) {
	t := &p.Past
	if t.Summary != "" {
		section(b, fmt.Sprintf("Your own summary, of iteration %d", t.SummaryOf), t.Summary)
	}
	if len(t.Files) > 0 {
		head := "Files that your iterations changed"
		if t.MoreFiles {
			head = fmt.Sprintf("The last %d files that your iterations changed, of more", len(t.Files))
		}
		section(b, head, strings.Join(t.Files, "\n"))
	}
	var refuted []string
	for _, r := range t.Refuted {
		refuted = append(refuted, r.String())
	}
	if len(refuted) > 0 {
		section(b, "Your promises that were proven wrong", strings.Join(refuted, "\n"))
	}
	if t.Verified != "" && p.Verified == "" {
		section(b, "What verify said when it was red last", t.Verified)
	}
	if earlier := lessOf(t.Blockers, p.Blockers); len(earlier) > 0 {
		section(b, "Blockers that you named before", strings.Join(earlier, "\n"))
	}
	if earlier := lessOf(t.Strategies, p.Strategy); len(earlier) > 0 {
		section(b, "Strategies that were tried", strings.Join(earlier, "\n"))
	}
	if len(t.Pivots) > 0 {
		section(b, "Where you were stuck, and were told to change your strategy", strings.Join(t.Pivots, "\n"))
	}
	for _, said := range lessOf(t.Comments, p.Comments) {
		section(b, "A person asked for this before", said)
	}
	if len(p.History) == 0 {
		return
	}
	head := "What happened so far"
	if t.Left > 0 {
		head += fmt.Sprintf("; %s before are left out", text.Number(t.Left, "line"))
	}
	section(b, head, strings.Join(p.History, "\n"))
}

func (r Refuted) String() string {
	if r.Times == 1 {
		return fmt.Sprintf("Iteration %d: %s", r.First, r.Why)
	}
	return fmt.Sprintf("Iterations %d to %d, %d times: %s", r.First, r.Last, r.Times, r.Why)
}

// lessOf is all but what others hold.
func lessOf(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(others, one) })
}

// aboutSummary asks for the agent's own summary while its session is still there.
const aboutSummary = "\nYour session is nearly full; a new one may go on after this iteration. Write into an element named session-summary, in at most 2000 characters, what it has to know that the files do not say: what is done, what failed and why, what is next. It counts for nothing else.\n"

// Summary is what a new session of a phase would be told of it, as in its prompt;
// the error says that there is no such phase.
func (s *State) Summary(number string) (string, error) {
	p := s.Phases[number]
	if p == nil {
		return "", fmt.Errorf("there is no phase %s", text.Label(number))
	}
	var b strings.Builder
	writeAnswered(&b, p)
	writeRead(&b, p)
	p.writePast(&b)
	return strings.TrimSpace(b.String()), nil
}
