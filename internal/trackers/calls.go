package trackers

import (
	"context"
	"fmt"
	"strings"

	"forge/internal/project"
	"forge/internal/work"
)

// Level says whether a level may be chosen on the board by its name, as its project is
// configured now.
func (g Goal) Level(name string) error {
	cfg, err := project.RecordedConfig(g.Env, g.Base.RepoRoot)
	if err == nil {
		_, err = project.Preset(cfg, name)
	}
	return err
}

// mappedOf are the labels that a board's project maps, as it is configured now.
func mappedOf(g Goal) ([]string, error) {
	cfg, err := project.ConfigNow(g.Env, g.Base.RepoRoot)
	if err != nil {
		return nil, err
	}
	return cfg.MappedLabels(), nil
}

// History are the newest lines of an issue's history, in words.
func (g Goal) History(ctx context.Context, i work.Issue, most int) ([]string, error) {
	lines, err := g.Journal.IssueHistory(ctx, i.Project, i.ID, most, 0)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, l := range lines {
		said := fmt.Sprintf("%s %s by %s", l.At.UTC().Format("2006-01-02 15:04Z"), l.Action, l.By)
		var more []string
		for _, f := range l.Fields {
			switch f.Field {
			case "column", "state", "reason", "hold", "level", "budget":
				more = append(more, fmt.Sprintf("%s %s", f.Field, f.To))
			}
		}
		if len(more) > 0 {
			said += ": " + strings.Join(more, ", ")
		}
		if l.Note != "" {
			said += " (" + l.Note + ")"
		}
		out = append(out, said)
	}
	return out, nil
}

// Calls counts the calls by name of all trackers since the server began, by their
// end.
func (t *All) Calls() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]int{}
	for _, one := range t.list {
		for end, n := range one.sync.Heard() {
			out[end] += n
		}
	}
	return out
}
