package companion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

type inTell struct {
	Phase string `json:"phase,omitempty" jsonschema:"number of the phase; absent = the one that is worked on"`
	Text  string `json:"text" jsonschema:"what is said to its agent"`
	Why   string `json:"why,omitempty" jsonschema:"why, for the person"`
}

func tellWay() way {
	return define(way{
		kind: work.ProposeTell, least: web.RoleReviewer, run: true, about: "Say something to the agent of a phase.",
		do: func(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error) {
			told, err := r.Project.Questions.Tell(ctx, p.Run, work.Message{Phase: p.Phase, Text: p.Text}, by.Name, by.Door)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("message %s for phase %s is %s", told.ID, told.Phase, told.How(false)), nil
		},
	}, func(_ context.Context, t *turn, in inTell) (work.Proposal, error) {
		message, err := words(in.Text, work.MaxMessage)
		if err != nil {
			return work.Proposal{}, err
		}
		phase := in.Phase
		if can := t.st.CanTell(); phase == "" && len(can) == 1 {
			phase = can[0]
		}
		if phase == "" {
			return work.Proposal{}, refusal.New("name the phase", "it is not plain which agent is meant")
		}
		if why := t.st.CannotTell(phase); why != "" {
			return work.Proposal{}, refusal.New("the tool status says how far it is", "%s", why)
		}
		return work.Proposal{
			Phase: phase, Text: message, Why: in.Why, Diff: added(message), Says: "Say this to the agent of phase " + text.Label(phase),
			Command: "forge tell " + t.run + " " + text.ShellWord(phase) + " " + text.ShellWord(message),
		}, nil
	})
}

type inIssue struct {
	Title       string   `json:"title"`
	Description string   `json:"description,omitempty" jsonschema:"Markdown"`
	Criteria    []string `json:"criteria,omitempty" jsonschema:"what the result is held against, each a line"`
	Why         string   `json:"why,omitempty" jsonschema:"why, for the person"`
}

// issueWay proposes an issue for the backlog alone: nothing is worked on before a
// person moves it.
func issueWay() way {
	return define(way{
		kind: work.ProposeIssue, least: web.RoleOperator, about: "Put a new issue into the backlog of the board.",
		do: func(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error) {
			i := work.Issue{Title: p.Title, Description: p.Text, Priority: work.PriorityNormal, Column: work.ColumnBacklog}
			for n, one := range p.Criteria {
				i.Criteria = append(i.Criteria, work.Criterion{ID: fmt.Sprintf("c%d", n+1), Text: one})
			}
			i, err := r.Project.Board.Add(ctx, i, factory.Place{At: factory.Bottom}, factory.By{Name: by.Name, Door: by.Door, Note: "proposed by the companion"})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("it is issue %d", i.ID), nil
		},
	}, func(_ context.Context, _ *turn, in inIssue) (work.Proposal, error) {
		title, err := words(in.Title, 200)
		if err != nil {
			return work.Proposal{}, err
		}
		if strings.Contains(title, "\n") {
			return work.Proposal{}, refusal.New("put the rest into the description", "a title is one line")
		}
		p := work.Proposal{Title: title, Column: string(work.ColumnBacklog), Why: in.Why, Says: "Put a new issue into the backlog"}
		shown := title
		command := "forge issue add " + text.ShellWord(title)
		if in.Description != "" {
			if p.Text, err = words(in.Description, 32<<10); err != nil {
				return work.Proposal{}, err
			}
			shown += "\n\n" + p.Text
			command += " --description " + text.ShellWord(p.Text)
		}
		for _, one := range in.Criteria {
			line, err := words(one, 500)
			if err != nil {
				return work.Proposal{}, err
			}
			p.Criteria = append(p.Criteria, line)
			shown += "\n- " + line
			command += " --criterion " + text.ShellWord(line)
		}
		p.Diff, p.Command = added(shown), command
		return p, nil
	})
}

type inLevel struct {
	Level string `json:"level" jsonschema:"name of a preset"`
	Why   string `json:"why,omitempty" jsonschema:"why, for the person"`
}

func levelWay() way {
	return define(way{
		kind: work.ProposeLevel, least: web.RoleAdmin, run: true, about: "Change who decides in this run, from its next boundary on.",
		do: func(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error) {
			return "the run is on level " + p.Level + " from its next boundary on", r.Project.Questions.SetLevel(ctx, p.Run, p.Level, by.Name, by.Door)
		},
	}, func(_ context.Context, t *turn, in inLevel) (work.Proposal, error) {
		policy, ok := t.set.Levels.Preset(in.Level)
		if !ok || !slices.Contains(t.set.Levels.Names(), in.Level) {
			return work.Proposal{}, refusal.New("there are "+strings.Join(t.set.Levels.Names(), ", "), "%s is no level", text.Label(text.OneLine(in.Level, 40)))
		}
		now := t.st.Spec.Policy
		if now.Preset == in.Level {
			return work.Proposal{}, refusal.New("choose another one", "the run is on that level")
		}
		return work.Proposal{
			Level: in.Level, Why: in.Why, Diff: changed(does(now), does(policy)), Says: "Put the run on level " + in.Level + ", from its next boundary on",
			Command: "forge level " + t.run + " " + in.Level,
		}, nil
	})
}

// does is what a policy does, a line each.
func does(p gates.Policy) string {
	var b strings.Builder
	b.WriteString("level " + p.Preset + "\n")
	e := gates.Explain(p)
	for _, h := range e.Stops {
		b.WriteString("it stops " + h.When + "\n")
	}
	for _, s := range e.Alone {
		b.WriteString(s + "\n")
	}
	return b.String()
}

type inSettings struct {
	Values []inSetting `json:"values" jsonschema:"what is to hold instead"`
	Why    string      `json:"why,omitempty" jsonschema:"why, for the person"`
}

type inSetting struct {
	Key   string `json:"key" jsonschema:"agent.use, autonomy.level, factory.default_policy, verify.timeout_secs, verify.cache, verify.cold, cost.run_usd, cost.phase_usd, cost.iteration_usd, cost.day_usd or defaults.budget"`
	Value string `json:"value" jsonschema:"a list has a line for each element; empty = nothing is said of it"`
}

// notProposed are settings that say what is run on this machine: whoever could
// talk the model into them would have a program started.
func notProposed() []string { return []string{"verify.commands"} }

func settingsWay() way {
	return define(way{
		kind: work.ProposeSettings, least: web.RoleAdmin, about: "Change the project's configuration: its agent, levels, caps and limits.",
		do: func(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error) {
			return p.Path + " is changed; new runs go by it", r.Project.Settings.Write(ctx, p.Text, p.Seen, by.Name)
		},
	}, func(ctx context.Context, t *turn, in inSettings) (work.Proposal, error) {
		settings := t.room.Project.Settings
		now, err := settings.Read(ctx)
		if err != nil {
			return work.Proposal{}, err
		}
		values := map[string]string{}
		for _, v := range in.Values {
			known := slices.ContainsFunc(now.Fields, func(f web.Field) bool { return f.Key == v.Key })
			if !known || slices.Contains(notProposed(), v.Key) {
				return work.Proposal{}, refusal.New("a person changes its file", "%s is not changed from here", text.Label(text.OneLine(v.Key, 60)))
			}
			values[v.Key] = v.Value
		}
		after, err := settings.Propose(ctx, values, now.Sum)
		if err != nil {
			return work.Proposal{}, plain(err)
		}
		if after == now.Text {
			return work.Proposal{}, refusal.New("read what holds now", "that says what the file says already")
		}
		return work.Proposal{Path: now.File, Text: after, Seen: now.Sum, Why: in.Why, Diff: changed(now.Text, after), Says: "Change " + now.File}, nil
	})
}
