package web

import (
	"context"
	"slices"
	"strings"
	"sync"

	"forge/internal/work"
)

// mostStuck is how many issues of a column are looked at for those that need a
// person.
const mostStuck = 1000

// begun are the columns in which work goes on, and stands still.
var begun = [...]work.Column{work.ColumnInProgress, work.ColumnInReview}

// stuckCache keeps which issues of a project need a person, by the version of
// its journal.
type stuckCache struct {
	mu   sync.Mutex
	kept map[string]keptStuck
}

type keptStuck struct {
	version int64
	list    []work.Issue
}

// of are the issues that failed, or wait for a person.
func (c *stuckCache) of(ctx context.Context, p Project) ([]work.Issue, error) {
	var version int64
	if p.Watch != nil {
		var err error
		// Before anything is read: what is kept is never newer than it says.
		if version, err = p.Watch.Version(ctx); err != nil {
			return nil, err
		}
		c.mu.Lock()
		kept, ok := c.kept[p.ID]
		c.mu.Unlock()
		if ok && kept.version == version {
			return kept.list, nil
		}
	}
	var out []work.Issue
	for _, column := range begun {
		list, err := p.Cards.Issues(ctx, work.IssueFilter{Project: p.Board.Project, Column: column}, mostStuck, "")
		if err != nil {
			return nil, err
		}
		for _, i := range list {
			if i.State == work.IssueWaits || i.State == work.IssueFailed {
				i.Description = "" // nobody asks for it
				out = append(out, i)
			}
		}
	}
	if p.Watch != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.kept == nil {
			c.kept = map[string]keptStuck{}
		}
		c.kept[p.ID] = keptStuck{version, out}
	}
	return out, nil
}

// stirs says whether a change of an issue may let it need a person, or not any
// more.
func stirs(c work.FieldChange) bool {
	switch c.Field {
	case "state", "reason", "run":
		return true
	case "column":
		return slices.ContainsFunc(begun[:], func(name work.Column) bool {
			return strings.EqualFold(c.From, string(name)) || strings.EqualFold(c.To, string(name))
		})
	}
	return false
}
