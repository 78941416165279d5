package vibekanban

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/git"
	"forge/internal/text"
	"forge/internal/work"
)

// How is what a person wants of an import.
type How struct {
	Projects []string // by name or id; none = the project of the board's folder
	Mine     bool     // see Here
	Take     bool     // false = only look
	By       factory.By
}

// Result is what becomes of a task.
type Result string

// The results.
const (
	ResultAdded     Result = "added"     // or would be, of a dry run
	ResultHere      Result = "here"      // on this board already
	ResultElsewhere Result = "elsewhere" // on another board already
)

// Plan is what becomes of tasks: before they are taken along, and after.
type Plan struct {
	File     string           `json:"file"`
	Kind     Kind             `json:"kind"`
	DryRun   bool             `json:"dry_run"`
	Projects []PlannedProject `json:"projects"`
	// Left is what of the file as a whole is not taken along; Total is what of tasks
	// is not, counted.
	Left      []string `json:"left"`
	Total     []Left   `json:"not_taken"`
	Added     int      `json:"added"`
	Here      int      `json:"here_already"`
	Elsewhere int      `json:"on_another_board"`
}

// PlannedProject is a project of a Plan.
type PlannedProject struct {
	Name  string        `json:"name"`
	Left  []string      `json:"left"`
	Tasks []PlannedTask `json:"tasks"`
}

// PlannedTask is a task of a Plan.
type PlannedTask struct {
	Task   string          `json:"task"`
	Title  string          `json:"title"`
	Column work.Column     `json:"column,omitempty"` // that it gets
	State  work.IssueState `json:"state,omitempty"`
	Result Result          `json:"result"`
	Issue  int64           `json:"issue,omitempty"`
	Board  string          `json:"board,omitempty"` // of Issue
	Left   []Left          `json:"left"`

	card Card
}

// Import decides what becomes of the tasks of a file on a board, and takes them there
// if it is told to. The board is open for changes then.
func Import(ctx context.Context, b *board.Opened, read Board, how How) (*Plan, error) {
	roots := []string{b.Base.RepoRoot}
	if real, err := filepath.EvalSymlinks(b.Base.RepoRoot); err == nil {
		roots = append(roots, real)
	}
	projects, err := Pick(read, how.Projects, roots...)
	if err != nil {
		return nil, err
	}
	taken := Taken{}
	if b.Journal != nil {
		if taken, err = Before(ctx, b.Journal, projects); err != nil {
			return nil, err
		}
	}
	here, remote, err := git.Branches(ctx, b.Environ, b.Base.RepoRoot)
	if err != nil {
		return nil, err
	}
	p, err := planOf(projects, Here{
		Mine:  how.Mine,
		Board: func(key string) Standing { return taken.Standing(b.Project, key) },
		Branch: func(name string) Whereabouts {
			switch {
			case here[name]:
				return BranchHere
			case remote[name]:
				return BranchRemote
			}
			return BranchGone
		},
	}, taken)
	if err != nil {
		return nil, err
	}
	p.File, p.Kind, p.Left = read.Path, read.Kind, append(p.Left, read.Left...)
	if how.Take {
		err = p.take(ctx, b, taken, how)
	}
	return p, err
}

// planOf decides what becomes of the tasks of projects.
func planOf(projects []Project, here Here, taken Taken) (*Plan, error) {
	p := &Plan{Projects: []PlannedProject{}, Left: []string{}, Total: []Left{}}
	for _, of := range projects {
		cards := Become(of.Name, of.Tasks, here)
		if err := Check(cards); err != nil {
			return nil, err
		}
		planned := PlannedProject{Name: of.Name, Left: append([]string{}, of.Left...), Tasks: []PlannedTask{}}
		for _, c := range cards {
			planned.Tasks = append(planned.Tasks, p.task(c, here.Board(c.Key), taken))
		}
		p.Projects = append(p.Projects, planned)
	}
	return p, nil
}

// task is what becomes of one task, which is counted.
func (p *Plan) task(c Card, now Standing, taken Taken) PlannedTask {
	t := PlannedTask{Task: c.Key, Title: c.Issue.Title, Column: c.Issue.Column, State: c.Issue.State, Result: ResultAdded, Left: append([]Left{}, c.Left...), card: c}
	switch now {
	case OnBoard:
		t.Result = ResultHere
		p.Here++
	case Elsewhere:
		t.Result = ResultElsewhere
		p.Elsewhere++
	default:
		p.Added++
		p.count(c.Left)
		return t
	}
	t.Column, t.State, t.Left, t.Issue, t.Board = "", "", []Left{}, taken[c.Key].Issue, taken[c.Key].Project
	return t
}

// count adds up what is not taken along of tasks that are taken.
func (p *Plan) count(left []Left) {
next:
	for _, l := range left {
		for i := range p.Total {
			if p.Total[i].What == l.What {
				p.Total[i].N += l.N
				continue next
			}
		}
		p.Total = append(p.Total, Left{What: l.What, N: l.N})
	}
}

// take puts onto the board what was planned. A task that somebody else takes meanwhile
// is not added.
func (p *Plan) take(ctx context.Context, b *board.Opened, taken Taken, how How) error {
	by := how.By
	if !how.Mine {
		by.Name = text.Clip(by.Name, 60) + " (Vibe Kanban)"
	}
	for i := range p.Projects {
		for j := range p.Projects[i].Tasks {
			t := &p.Projects[i].Tasks[j]
			if t.Result != ResultAdded {
				continue
			}
			added, err := Take(ctx, b.Board, b.Journal, t.card, taken, by)
			if err != nil {
				return err
			}
			t.Issue, t.Board = taken[t.card.Key].Issue, taken[t.card.Key].Project
			if added {
				continue
			}
			p.Added--
			if t.Result = ResultHere; taken.Standing(b.Project, t.card.Key) == Elsewhere {
				t.Result = ResultElsewhere
				p.Elsewhere++
			} else {
				p.Here++
			}
		}
	}
	return nil
}

// Text is the plan as people read it.
func (p *Plan) Text() string {
	var b strings.Builder
	did := "Added"
	if p.DryRun {
		did = "Would add"
	}
	for _, ip := range p.Projects {
		fmt.Fprintf(&b, "Project %s of the %s, %s\n", text.OneLine(ip.Name, 80), p.Kind, text.Number(len(ip.Tasks), "task"))
		for _, t := range ip.Tasks {
			number, where := "new", string(t.Column)
			if t.Issue != 0 {
				number = fmt.Sprintf("#%d", t.Issue)
			}
			switch {
			case t.Result == ResultHere:
				where = "here already, not changed"
			case t.Result == ResultElsewhere:
				where = "on the board " + t.Board + " already"
			case t.State != "":
				where += " (" + string(t.State) + ")"
			}
			fmt.Fprintf(&b, "  %-5s %-22s %s\n", number, where, text.OneLine(t.Title, 70))
			for _, l := range t.Left {
				if t.Result == ResultAdded {
					fmt.Fprintf(&b, "        not taken along: %s\n", leftWords(l))
				}
			}
		}
		for _, l := range ip.Left {
			fmt.Fprintf(&b, "  not taken along: %s\n", l)
		}
	}

	fmt.Fprintf(&b, "%s %s; %d here already, %d on other boards.\n", did, text.Number(p.Added, "issue"), p.Here, p.Elsewhere)
	var lost []string
	for _, l := range p.Total {
		lost = append(lost, leftWords(l))
	}
	if lost = append(lost, p.Left...); len(lost) > 0 {
		fmt.Fprintf(&b, "Not taken along: %s.\n", strings.Join(lost, "; "))
	}
	if !p.DryRun && p.Added > 0 {
		b.WriteString("Nothing of it begins by itself: forge issue move ISSUE ready.\n")
	}
	return b.String()
}

func leftWords(l Left) string {
	words := fmt.Sprintf("%d %s", l.N, l.What)
	if l.Names != "" {
		words += " (" + l.Names + ")"
	}
	return text.OneLine(words, 400)
}
