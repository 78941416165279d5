package taught

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// Asking is what somebody says who wants to know what a run taught.
type Asking struct {
	Run      string // "" = the newest
	Model    string // of the agent that is asked
	Proposed bool   // only what the agents of the run proposed: none is asked
	Again    bool   // an agent is asked although one was
}

// Learned is what a run taught, as forge learn --output json shows it.
type Learned struct {
	Run     string     `json:"run"`
	Outside bool       `json:"outside"` // it is about words from outside
	Lessons []Proposal `json:"lessons"`
}

// Proposal is a lesson with the number that a person names it by.
type Proposal struct {
	Number int `json:"number"`
	work.Lesson
	IsKept bool `json:"is_kept"`
}

// Learn is what the agents of a run proposed, with what the project's agent said
// of it, which is asked once.
func Learn(ctx context.Context, p *project.Checkout, o Asking) (Learned, error) {
	none := Learned{}
	if there, err := opened(ctx, p); err != nil {
		return none, err
	} else if !there {
		return none, refusal.New("forge run starts one", "this project has no runs")
	}
	row, err := p.PickRun(ctx, o.Run)
	if err != nil {
		return none, err
	}
	s, evs, err := p.LoadRun(ctx, row.ID)
	if err != nil {
		return none, err
	}
	kept, _, err := config.ReadLessons(p.Base.RepoRoot)
	if err != nil {
		return none, err
	}
	more, asked, err := draft.Learned(p, s.Run)
	if err != nil && !o.Again {
		return none, err
	}
	if o.Again || !asked && !o.Proposed {
		if !s.Outcome.Final() {
			return none, refusal.New("--proposed shows what its agents proposed so far", "run %s is not over: what it taught is not known yet", s.Run)
		}
		known := slices.Clone(s.Proposed)
		for _, k := range kept {
			known = append(known, k.Lesson)
		}
		if more, err = draft.Learn(ctx, p, s, evs, known, o.Model); err != nil {
			return none, err
		}
	}

	out := Learned{Run: s.Run, Outside: s.Outside(), Lessons: []Proposal{}}
	for i, l := range append(slices.Clone(s.Proposed), more...) {
		out.Lessons = append(out.Lessons, Proposal{i + 1, l, isKept(kept, l)})
	}
	return out, nil
}

// String is l for a person.
func (l Learned) String() string {
	var b strings.Builder
	for _, one := range l.Lessons {
		where := "asked of " + one.Agent
		if one.Phase != "" {
			where = "proposed in phase " + one.Phase + " by " + one.Agent
		}
		if one.IsKept {
			where += "; kept"
		}
		fmt.Fprintf(&b, "%d  %s\n   %s\n", one.Number, narrate.LessonText(one.Lesson), where)
	}
	if len(l.Lessons) == 0 {
		fmt.Fprintf(&b, "Run %s taught nothing that anybody named.\n", l.Run)
	}
	if l.Outside {
		b.WriteString("The issue is from outside: what its agents propose may be what an external author wants told. Read each.\n")
	}
	if len(l.Due()) > 0 {
		b.WriteString("Keep:   forge learn " + l.Run + " --keep N,…\n")
	}
	return text.Harmless(b.String())
}

// Due are the lessons that nobody kept yet.
func (l Learned) Due() []work.Lesson {
	var out []work.Lesson
	for _, one := range l.Lessons {
		if !one.IsKept {
			out = append(out, one.Lesson)
		}
	}
	return out
}

// Chosen are the lessons that somebody names by their numbers, or all that are
// due.
func (l Learned) Chosen(words string) ([]work.Lesson, error) {
	switch {
	case len(l.Lessons) == 0:
		return nil, refusal.New("forge learn "+l.Run+" asks what it taught", "run %s proposed no lesson", l.Run)
	// Somebody outside may have had a hand in them: each is to be read.
	case words == "all" && l.Outside:
		return nil, refusal.New("read them, and name each: --keep 1,2", "run %s is about an issue from outside", l.Run)
	case words == "all":
		return l.Due(), nil
	}
	var out []work.Lesson
	for _, word := range strings.Split(words, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(l.Lessons) {
			return nil, refusal.New(fmt.Sprintf("use 1 to %d, or all", len(l.Lessons)), "--keep %s: %q is no number of a lesson", text.OneLine(words, 60), text.OneLine(word, 20))
		}
		out = append(out, l.Lessons[n-1].Lesson)
	}
	return out, nil
}
