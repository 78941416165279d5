package vibekanban

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// Card is what a task becomes on a board here.
type Card struct {
	Key   string
	Issue work.Issue // without needs: those are numbers of the board
	Needs []string   // keys of cards that stand before it, or on the board already
	Left  []Left     // what of the task is not taken along
}

// Left is something that is not taken along, so and so often.
type Left struct {
	What  string `json:"what"` // the same words for the same kind
	N     int    `json:"n"`
	Names string `json:"names,omitempty"` // which, in one line; "" = there is no more to say
}

// Here is what has to be known of the board and its repository.
type Here struct {
	// Branch says where a branch is: BranchHere, BranchRemote or BranchGone.
	Branch func(name string) Whereabouts
	// Board says whether a task stands on this board, or on another, already.
	Board func(key string) Standing
	// Mine says that a person answers for the words of the tasks as their own.
	Mine bool
}

// Whereabouts is where a branch of an attempt is by now.
type Whereabouts string

// The whereabouts.
const (
	BranchHere   Whereabouts = "in this repository"
	BranchRemote Whereabouts = "only at a remote of this repository"
	BranchGone   Whereabouts = "not in this repository"
)

// Standing is where a task was taken to before.
type Standing int

// The standings.
const (
	Nowhere Standing = iota
	OnBoard
	Elsewhere
)

// fate is what becomes of the tasks of one status.
type fate struct {
	status string // lower case, letters and digits alone
	column work.Column
	state  work.IssueState
	reason string
}

// fates is the whole rule. Nothing that was begun there goes on here by itself, and
// nothing is in progress or in review that no run here brought there: what was, waits
// for a person, who looks at its branches.
func fates() []fate {
	const look = "look at its branches, then move it to ready if it shall be done here, or to done"
	return []fate{
		{"backlog", work.ColumnBacklog, "", ""},
		{"todo", work.ColumnBacklog, "", ""},
		{"inprogress", work.ColumnBacklog, work.IssueWaits, "it was in progress in Vibe Kanban: " + look},
		{"inreview", work.ColumnBacklog, work.IssueWaits, "it was in review in Vibe Kanban, and nothing of it was proven here: " + look},
		{"done", work.ColumnDone, "", ""},
		{"cancelled", work.ColumnBacklog, work.IssueCancelled, "cancelled in Vibe Kanban"},
		{"canceled", work.ColumnBacklog, work.IssueCancelled, "cancelled in Vibe Kanban"},
	}
}

// fateOf is what becomes of a task of a status, which people may name as they like.
func fateOf(status string) fate {
	word := strings.Map(func(r rune) rune {
		if text.IsWord(r) {
			return r
		}
		return -1
	}, strings.ToLower(status))
	if at := slices.IndexFunc(fates(), func(f fate) bool { return f.status == word }); at >= 0 {
		return fates()[at]
	}
	return fate{"", work.ColumnBacklog, work.IssueWaits,
		work.OneLine(fmt.Sprintf("it stood in %q in Vibe Kanban, which no column here is: move it to where it belongs", text.ClipLine(status, 60)))}
}

// Become says what tasks of a project become, each behind those that it waits for.
func Become(project string, tasks []Task, here Here) []Card {
	o := ordering{here: here, tasks: map[string]*Task{}, state: map[string]int{}, needs: map[string][]string{}, lost: map[string][]string{}}
	for i := range tasks {
		o.tasks[tasks[i].Key] = &tasks[i]
	}
	for _, t := range tasks {
		if o.state[t.Key] == 0 {
			o.visit(t.Key)
		}
	}

	cards := make([]Card, 0, len(tasks))
	for _, key := range o.order {
		cards = append(cards, card(project, *o.tasks[key], o.needs[key], append(o.lost[key], o.tasks[key].BlockedBy...), here))
	}
	return cards
}

// ordering puts tasks behind those that they wait for.
type ordering struct {
	here  Here
	tasks map[string]*Task
	state map[string]int // 1 = its blockers are looked at, 2 = it has its place
	order []string
	needs map[string][]string
	lost  map[string][]string // names of blockers that no need can be made of
}

func (o *ordering) visit(key string) {
	o.state[key] = 1
	for _, by := range o.tasks[key].Blockers {
		of, now := o.tasks[by], o.here.Board(by)
		switch {
		case slices.Contains(o.needs[key], by):
			continue
		case now == Elsewhere, of == nil && now != OnBoard, o.state[by] == 1, len(o.needs[key]) == work.MaxIssueNeeds:
			// It is on no board or another one, waits for this one itself, or is one too many.
			name := by
			if of != nil {
				name = of.Title
			}
			o.lost[key] = append(o.lost[key], name)
			continue
		case of != nil && o.state[by] == 0:
			o.visit(by)
		}
		o.needs[key] = append(o.needs[key], by)
	}
	o.state[key], o.order = 2, append(o.order, key)
}

// The parts of a description, in bytes: together they fit into one.
const (
	mostWords    = 160 << 10
	mostComments = 32 << 10
	mostListed   = 20 // attempts, pull requests
	mostLine     = 1200
)

// card is what one task becomes.
func card(project string, t Task, needs, lost []string, here Here) Card {
	f := fateOf(t.Status)
	c := Card{Key: t.Key, Needs: needs, Issue: work.Issue{
		Priority: work.PriorityNormal, Needs: []int64{}, Criteria: []work.Criterion{}, Hold: []string{}, Labels: []string{},
		Column: f.column, State: f.state, Reason: text.Clip(f.reason, work.MaxIssueReason),
	}}
	if !here.Mine {
		c.Issue.Source = work.ImportedSource + "vibe-kanban/" + text.ClipLine(project, 60) + "/" + text.ClipLine(t.Name, 60)
	}
	c.leave(len(t.Attempts), "conversations of attempts with their agents", "")
	c.leave(len(t.Attachments), "attachments", strings.Join(t.Attachments, ", "))
	c.leave(len(lost), "tasks that a task waited for, which are on no board or wait for it themselves", strings.Join(lost, ", "))
	c.priority(t.Priority)
	c.labels(t.Labels)

	title, hidden := text.Reveal(t.Title)
	title = work.OneLine(title)
	var all strings.Builder
	if short := text.Clip(title, work.MaxIssueTitle); short != title {
		all.WriteString(text.Clip(title, mostWords/2) + "\n\n")
		title = strings.TrimSpace(short)
	}
	if c.Issue.Title = title; title == "" {
		c.Issue.Title = work.OneLine("Task " + text.ClipLine(t.Name, 60) + " of Vibe Kanban")
	}
	words, n := text.Reveal(t.Description)
	words, hidden = strings.TrimSpace(words), hidden+n
	if short := text.Clip(words, mostWords-all.Len()); short != words {
		c.leave(1, "ends of descriptions that do not fit onto a card", "")
		words = short
	}
	all.WriteString(words)
	hidden += c.comments(&all, t.Comments)
	fmt.Fprintf(&all, "\n\n---\n%s\n", strings.Join(trailer(project, t, lost, hidden, here), "\n"))
	c.Issue.Description = strings.TrimLeft(all.String(), "\n")
	return c
}

func (c *Card) leave(n int, what, names string) {
	if n > 0 {
		c.Left = append(c.Left, Left{what, n, text.ClipLine(names, 300)})
	}
}

func (c *Card) priority(word string) {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "urgent", "high", "low":
		c.Issue.Priority = work.Priority(word)
	case "", "medium":
	default:
		c.leave(1, "priorities that there are none of here", word)
	}
}

func (c *Card) labels(names []string) {
	var lost []string
	for _, name := range names {
		label := strings.TrimSpace(text.Clip(work.OneLine(strings.ReplaceAll(name, ",", " ")), work.MaxIssueLabel))
		switch {
		case slices.Contains(c.Issue.Labels, label):
		case label == "" || len(c.Issue.Labels) == work.MaxIssueLabels:
			lost = append(lost, name)
		default:
			c.Issue.Labels = append(c.Issue.Labels, label)
		}
	}
	c.leave(len(lost), "labels beyond what a card has", strings.Join(lost, ", "))
}

// comments writes the last comments, as many as there is room for, and says how much
// was hidden in them.
func (c *Card) comments(all *strings.Builder, list []Comment) (hidden int) {
	var said []string
	room := mostComments
	for _, m := range slices.Backward(list) {
		words, n := text.Reveal(m.Words)
		line := fmt.Sprintf("\n\n---\n%s said%s:\n\n%s", cmp.Or(text.ClipLine(m.By, 80), "Somebody"), on(m.At), strings.TrimSpace(words))
		if room -= len(line); room < 0 {
			break
		}
		said, hidden = append(said, line), hidden+n
	}
	c.leave(len(list)-len(said), "older comments that do not fit onto a card", "")
	for _, line := range slices.Backward(said) {
		all.WriteString(line)
	}
	return hidden
}

// trailer says where a task comes from, and what became of it there.
func trailer(project string, t Task, lost []string, hidden int, here Here) (lines []string) {
	add := func(format string, args ...any) {
		lines = append(lines, text.Clip(fmt.Sprintf(format, args...), mostLine))
	}
	from := fmt.Sprintf("Task %s of project %s in Vibe Kanban: %s there", quoted(t.Name), quoted(project), quoted(cmp.Or(t.Status, "without a status")))
	if fateOf(t.Status).column == work.ColumnDone {
		from += ", and not proven here"
	}
	if t.Creator != "" {
		from += ", written by " + quoted(t.Creator)
	}
	add("%s%s.", from, on(t.Created))
	for _, word := range []struct{ what, said string }{
		{"Part of", t.Parent}, {"Assigned there to", t.Assignees}, {"To begin", day(t.Start)}, {"Due", day(t.Due)}, {"Waited there also for", strings.Join(lost, ", ")},
		{"Not taken along: the attachments", strings.Join(t.Attachments, ", ")},
	} {
		if word.said != "" {
			add("%s: %s.", word.what, quoted(word.said))
		}
	}
	for n, p := range t.Pulls {
		if n == mostListed {
			add("And %d more pull requests.", len(t.Pulls)-n)
			break
		}
		add("%s.", text.UpperFirst(pullWords(p)))
	}
	if len(t.Attempts) > 0 {
		add("\nAttempts there, whose conversations are not taken along:\n")
	}
	for n, a := range t.Attempts {
		if n == mostListed {
			add("and %d more.", len(t.Attempts)-n)
			break
		}
		add("%d. %s", n+1, attemptWords(a, here))
	}
	if hidden > 0 {
		add("\n%d hidden comments or invisible characters were taken out.", hidden)
	}
	return lines
}

func attemptWords(a Attempt, here Here) string {
	words := "no branch is known"
	if a.Branch != "" {
		words = "branch " + quoted(a.Branch) + ", " + string(here.Branch(a.Branch))
	}
	if len(a.Targets) > 0 {
		words += ", from " + quoted(strings.Join(a.Targets, ", "))
	}
	if a.Agent != "" {
		words += ", by " + quoted(a.Agent)
	}
	words += on(a.Created)
	for _, m := range a.Merged {
		words += "; merged as " + quoted(m)
	}
	for _, p := range a.Pulls {
		words += "; " + pullWords(p)
	}
	return words
}

func pullWords(p Pull) string {
	words := "pull request " + quoted(p.URL)
	if p.Status != "" {
		words += ", " + quoted(strings.ToLower(p.Status))
	}
	if p.Target != "" {
		words += ", onto " + quoted(p.Target)
	}
	return words
}

// quoted is words of others as they stand in a line of Markdown.
func quoted(words string) string { return text.Code(text.Clip(words, 200)).String() }

// day is the day of a time as it is written there, "" where it is none.
func day(at string) string {
	if len(at) < 10 {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, at[:10]); err != nil {
		return ""
	}
	return at[:10]
}

func on(at string) string {
	if at = day(at); at != "" {
		return " on " + at
	}
	return ""
}
