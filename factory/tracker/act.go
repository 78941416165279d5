package tracker

import (
	"fmt"
	"strconv"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// calling is a call beside the board's issue that it is about: what a command
// makes of it is a value like it.
type calling struct {
	Call
	by    string
	held  string // why the tracker's text does not count, "" = it does
	level func(name string) error
	Acted
}

// Acted is what becomes of a call.
type Acted struct {
	Is      work.Issue // of the board, from then on
	Said    string     // what is answered in words; "" = the issue says it by how it stands
	Explain bool       // its history is told
	Refused string     // why nothing follows, with the way out
}

// Commands is the table of what may be called. All of it is here.
func Commands() []Command {
	return []Command{
		{Name: "do", Does: "work on the issue", act: (calling).do},
		{Name: "plan", Does: "work on it, and ask before its plan is carried out", act: (calling).plan},
		{Name: "retry", Does: "take up what failed or was stopped", act: (calling).retry},
		{Name: "stop", Does: "nobody works on it any more", act: (calling).stop},
		{Name: "level", Takes: "NAME", Does: "where people are asked, for runs that have not begun", act: (calling).setLevel},
		{Name: "budget", Takes: "N", Does: "iterations of each phase, for runs that have not begun", act: (calling).setBudget},
		{Name: "explain", Does: "say how it stands, and why", act: (calling).explain},
		{Name: "review", Does: "of a pull request", Pull: true, act: (calling).onPull},
		{Name: "fix", Does: "of a pull request", Pull: true, act: (calling).onPull},
		{Name: "ignore", Does: "of a finding of a pull request", Pull: true, act: (calling).onPull},
	}
}

// do lets an issue be worked on.
func (c calling) do() calling {
	switch {
	case c.held != "":
		c.Refused = c.held
	case c.Is.State == work.IssueFailed, c.Is.State == work.IssueCancelled:
		return c.retry()
	case c.Is.Column == work.ColumnBacklog:
		c.Is = ready(c.Is)
	case c.Is.Column == work.ColumnDone:
		c.Refused = "it is done: open an issue for what is still wanted"
	}
	return c
}

// ready is an issue at the column from which it is claimed.
func ready(i work.Issue) work.Issue {
	i.Column, i.State, i.Reason = work.ColumnReady, "", ""
	return i
}

// planLevel asks people once the plan is there.
const planLevel = "plan_then_review"

func (c calling) plan() calling {
	if c.Given = planLevel; c.Is.Column == work.ColumnBacklog || c.Is.Column == work.ColumnReady || c.Is.State != "" {
		if c = c.setLevel(); c.Refused != "" {
			return c
		}
		return c.do()
	}
	c.Refused = "it is being worked on: stop it first"
	return c
}

func (c calling) retry() calling {
	now, err := factory.Retried(c.Is)
	if err != nil {
		c.Refused = err.Error()
	}
	if c.Is = now; c.held != "" {
		c.Refused = c.held
	}
	return c
}

func (c calling) stop() calling {
	now, err := factory.Cancelled(c.Is, "stopped by "+text.OneLine(c.by, 60)+" in a comment")
	if err != nil {
		c.Refused = err.Error()
	}
	c.Is = now
	return c
}

func (c calling) setLevel() calling {
	if err := c.level(c.Given); err != nil {
		c.Refused = err.Error()
		return c
	}
	if c.Is.Level = c.Given; c.Is.Run != "" {
		c.Said = "This holds for the next run. The one that has begun keeps its level."
	}
	return c
}

func (c calling) setBudget() calling {
	n, err := strconv.Atoi(c.Given)
	if err != nil || n < 1 || n > work.MaxIssueBudget {
		c.Refused = fmt.Sprintf("budget takes a number from 1 to %d", work.MaxIssueBudget)
		return c
	}
	if c.Is.Budget = n; c.Is.Run != "" {
		c.Said = "This holds for the next run. The one that has begun keeps its budget."
	}
	return c
}

func (c calling) explain() calling {
	c.Explain = true
	return c
}

func (c calling) onPull() calling {
	c.Refused = c.Command + " is for pull requests; below an issue: " + list()
	return c
}

// Act is what a call makes of the board's issue.
func Act(c Call, is work.Issue, by, held string, level func(string) error) Acted {
	command, known := CommandNamed(c.Command)
	switch {
	case !known:
		return Acted{Is: is, Refused: "there is no such command: " + list()}
	case command.Takes != "" && c.Given == "":
		return Acted{Is: is, Refused: c.Command + " takes " + command.Takes}
	}
	after := command.act(calling{Call: c, by: by, held: held, level: level, Acted: Acted{Is: is}}).Acted
	if after.Refused != "" {
		return Acted{Is: is, Refused: after.Refused}
	}
	return after
}

// list names what may be called below an issue.
func list() string {
	out := ""
	for _, c := range Commands() {
		if !c.Pull {
			out += ", " + c.Name
		}
	}
	return out[2:]
}
