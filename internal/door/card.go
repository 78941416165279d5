package door

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"forge/factory"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/orchestrator"
)

// How much of what others wrote a card holds, in bytes.
const (
	mostTitle = 250
	mostPart  = 2500
	mostLabel = 70
)

const (
	questionSubject = "question "
	runSubject      = "run "
)

// hash is what a card says, for short.
func (c Card) hash() string {
	body, err := json.Marshal(c)
	if err != nil {
		return "" // it is made of words alone: there is no such card
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// line is a text of others as one line. Secrets go before it is cut: half of one
// would not be known.
func (d *Door) line(words string, most int) string { return text.OneLine(d.clean(words), most) }

// question is a checkpoint as people see it here.
func (d *Door) question(ctx context.Context, cp work.Checkpoint) Card {
	c := Card{
		Subject: questionSubject + cp.ID, Title: d.line(cp.Question, mostTitle),
		Facts: [][2]string{{"project", d.Project}, {"run", cp.Run}, {"checkpoint", cp.ID}},
		Link:  d.page("/p/" + url.PathEscape(d.Project) + "/checkpoints/" + url.PathEscape(cp.ID)),
	}
	now, over := gates.Expire(cp, d.p.Now())
	if over || cp.Status != work.CheckpointPending {
		c.Facts = append(c.Facts, [2]string{"answer", d.answered(now)})
		d.part(&c, "Comment", now.Comment, false)
		if now.Status == work.CheckpointExpired {
			c.Foot = "Its time is over: it still waits, and forge resume " + cp.Run + " asks again."
		}
		return c
	}
	shown, err := approval.ReadRecord(ctx, d.p, cp, false)
	if err != nil {
		// What is asked can be said, and answered on the page.
		d.p.Log.Warn("what a question judges is not shown there", "checkpoint", cp.ID, "err", err)
		shown = approval.Record{Checkpoint: cp, Who: gates.WhoAnswers(cp)}
	}
	phase := strings.TrimSpace(cp.Phase + " " + d.line(shown.Name, 100))
	c.Facts = append(c.Facts, [2]string{"phase", cmp.Or(phase, "the run as a whole")}, [2]string{"who answers", shown.Who})
	if cp.ExpiresAt != nil {
		c.Facts = append(c.Facts, [2]string{"until", cp.ExpiresAt.UTC().Format("2006-01-02 15:04 MST")})
	}
	d.part(&c, "Facts", factory.PlainFacts(cp.Facts), false)
	d.part(&c, "What its agent says", shown.Summary, false)
	d.part(&c, "In doubt", strings.Join(shown.Doubts, "\n"), false)
	if v := shown.Evidence.Verify; v != nil && !v.OK {
		d.part(&c, "Verify", "failed: "+v.Problem, false)
	}
	d.part(&c, "Protected files that it touched", strings.Join(slices.Concat(shown.Evidence.Protected, shown.Evidence.Gone), "\n"), true)
	if shown.Diff != "" {
		d.part(&c, text.Number(len(shown.Files), "file")+" changed", tui.PatchStat(shown.Diff), true)
	}
	c.Buttons = d.buttons(cp)
	c.Foot = "A reply in this thread is told to the agent of the phase; the question waits on."
	if cp.AnswerDue {
		c.Foot = "A reply in this thread is the answer."
	}
	return c
}

// part adds a text of others, as much of it as there is room for.
func (d *Door) part(c *Card, title, words string, fixed bool) {
	if words = strings.TrimSpace(text.Harmless(d.clean(words))); words != "" {
		c.Parts = append(c.Parts, Part{title, text.Clip(words, mostPart), fixed})
	}
}

// page is a page of the factory, "" where its address is not known.
func (d *Door) page(path string) string {
	if d.Pages == "" {
		return ""
	}
	return d.Pages + path
}

// doors are the words for where an answer was given.
var doors = [][2]string{{"web", "on the page"}, {"cli", "at the command line"}, {tui.DoorTerminal, "at the terminal"}, {"api", "by the API"}, {"pull request", "on the pull request"}}

// where says at which door an answer was given.
func (d *Door) where(door string) string {
	if door == d.Name {
		return "here"
	}
	for _, known := range doors {
		if known[0] == door {
			return known[1]
		}
	}
	return "by " + text.OneLine(door, 40)
}

// answered says how a question was answered, and by whom.
func (d *Door) answered(cp work.Checkpoint) string {
	if cp.Status == work.CheckpointExpired {
		return "its time is over"
	}
	word := map[work.CheckpointStatus]string{
		work.CheckpointApproved: "approved", work.CheckpointRejected: "rejected", work.CheckpointChangesRequested: "changes requested",
	}[cp.Status]
	if cp.Choice != "" {
		word = d.line(cp.Choice, mostLabel)
		if i := slices.IndexFunc(cp.Choices, func(o work.Choice) bool { return o.Name == cp.Choice && o.Label != "" }); i >= 0 {
			word = d.line(cp.Choices[i].Label, mostLabel)
		}
	}
	return fmt.Sprintf("%s, answered by %s %s", word, cmp.Or(d.line(cp.AnsweredBy, 60), "somebody"), d.where(cp.Door))
}

// buttons are the ways to answer a question. Stopping a run is not among them: that
// is not done in passing.
func (d *Door) buttons(cp work.Checkpoint) (out []Button) {
	add := func(label, style string, status work.CheckpointStatus, choice string, words Words) {
		if words != NoWords {
			label += "…"
		}
		out = append(out, Button{label, style, Press{Project: d.Project, Checkpoint: cp.ID, Revision: cp.Revision, Status: status, Choice: choice, Words: words}})
	}
	yes := NoWords
	if cp.ReasonDue {
		yes = DueWords
	}
	for _, o := range cp.Choices {
		label := cmp.Or(d.line(o.Label, mostLabel), d.line(o.Name, mostLabel))
		switch {
		case o.Name == orchestrator.ChoiceAbort || label == "":
		case o.Answer == work.CheckpointApproved:
			add(label, "", o.Answer, o.Name, yes)
		case o.Answer == work.CheckpointChangesRequested:
			add(label, "", o.Answer, o.Name, DueWords)
		default:
			add(label, "danger", o.Answer, o.Name, MayWords)
		}
	}
	at := gates.Point(cp.Kind)
	switch {
	case cp.AnswerDue:
		add("In your own words", "primary", work.CheckpointApproved, "", DueWords)
	case len(out) > 0:
	case at == gates.PointBlocker:
		add("Say what helps", "primary", work.CheckpointApproved, "", DueWords)
		add("Reject", "danger", work.CheckpointRejected, "", MayWords)
	default:
		add("Approve", "primary", work.CheckpointApproved, "", yes)
		if cp.Kind != orchestrator.PointBaseline {
			add("Request changes", "", work.CheckpointChangesRequested, "", DueWords)
		}
		add("Reject", "danger", work.CheckpointRejected, "", MayWords)
	}
	return out
}

// run is a run as people see it here: how it stands, and where its agents can be
// told something.
func (d *Door) run(ctx context.Context, row journal.RunRow, asks int) Card {
	c := Card{Subject: runSubject + row.ID, Title: "Run " + row.ID, Facts: [][2]string{{"project", d.Project}}}
	c.Link = d.page("/p/" + url.PathEscape(d.Project) + "/runs/" + url.PathEscape(row.ID))
	if row.Issue != 0 {
		if i, err := d.p.Journal.Issue(ctx, row.Project, row.Issue); err == nil {
			c.Title = d.line(i.Title, mostTitle)
		}
		c.Facts = append(c.Facts, [2]string{"run", row.ID}, [2]string{"issue", fmt.Sprint(row.Issue)})
	}
	state := project.RunState(row)
	switch {
	case row.Outcome.Final():
		state = string(row.Outcome)
	case asks > 0:
		state = "waits for " + text.Number(asks, "answer")
	}
	c.Facts = append(c.Facts, [2]string{"state", state})
	if row.Outcome == work.RunCompleted && row.Branch != "" {
		c.Facts = append(c.Facts, [2]string{"branch", d.line(row.Branch, 200)})
	}
	if !row.Outcome.Final() {
		c.Foot = "A reply in this thread is told to the agent that works."
	}
	return c
}
