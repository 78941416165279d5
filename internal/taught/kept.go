package taught

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/lessons"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// Kept are the lessons of a project, as forge lessons --output json shows them.
type Kept struct {
	Lessons []Lesson `json:"lessons"`
	Bytes   int      `json:"bytes"` // of work.MaxLessonsBytes
}

// Lesson is one that is kept.
type Lesson struct {
	ID string `json:"id"`
	work.Lesson
	Gone bool   `json:"gone"`
	Told []Told `json:"told"` // runs whose prompts carried it, the newest first
}

// Told is a run, and its phases whose agents were told.
type Told struct {
	Run    string   `json:"run"`
	Phases []string `json:"phases"`
}

// mostToldRuns are looked at for who was told a lesson, the newest first.
const mostToldRuns = 30

// ReadKept reads the lessons of p, and from its runs who was told.
func ReadKept(ctx context.Context, p *project.Checkout) (Kept, error) {
	out := Kept{Lessons: []Lesson{}}
	all, _, err := config.ReadLessons(p.Base.RepoRoot)
	if err != nil {
		return out, err
	}
	who, err := told(ctx, p)
	if err != nil {
		return out, err
	}
	for _, l := range all {
		out.Bytes += l.Size()
		out.Lessons = append(out.Lessons, Lesson{ID: l.ID(), Lesson: l.Lesson, Gone: l.Gone, Told: append([]Told{}, who[l.ID()]...)})
	}
	return out, nil
}

// opened opens the journal of p, unless whoever asks has it open, as a server has.
func opened(ctx context.Context, p *project.Checkout) (there bool, err error) {
	if p.Journal != nil {
		return true, nil
	}
	return p.OpenStore(ctx, false)
}

// told says by id which of the last runs were told a lesson.
func told(ctx context.Context, p *project.Checkout) (map[string][]Told, error) {
	out := map[string][]Told{}
	if there, err := opened(ctx, p); err != nil || !there {
		return out, err
	}
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows[:min(len(rows), mostToldRuns)] {
		evs, err := p.Journal.Events(ctx, r.ID, 0)
		if err != nil {
			return nil, err
		}
		for _, e := range evs {
			var d work.IterationStartedData
			if e.Kind != work.IterationStarted || work.Decode(e, &d) != nil {
				continue
			}
			for _, id := range d.Lessons {
				list := out[id]
				if n := len(list); n == 0 || list[n-1].Run != r.ID {
					list = append(list, Told{Run: r.ID})
				}
				if last := &list[len(list)-1]; !slices.Contains(last.Phases, e.Phase) {
					last.Phases = append(last.Phases, e.Phase)
				}
				out[id] = list
			}
		}
	}
	return out, nil
}

// String is k for a person.
func (k Kept) String() string {
	if len(k.Lessons) == 0 {
		return "No lessons are kept. forge learn keeps what a run taught, forge lessons add what you say.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of at most %d, %d of %d bytes: %s\n\n", text.Number(len(k.Lessons), "lesson"), work.MaxLessons, k.Bytes, work.MaxLessonsBytes, lessons.File)
	for _, l := range k.Lessons {
		fmt.Fprintf(&b, "%s  %s\n          %s\n", l.ID, narrate.LessonText(l.Lesson), l.standing())
	}
	return text.Harmless(b.String())
}

// standing says where a lesson is from, who kept it, and who was told.
func (l Lesson) standing() string {
	var parts []string
	if l.Run != "" {
		from := "from run " + l.Run
		for _, part := range [][2]string{{"phase", l.Phase}, {"commit", text.Short(l.Commit)}, {"agent", l.Agent}} {
			if part[1] != "" {
				from += ", " + part[0] + " " + part[1]
			}
		}
		parts = append(parts, from)
	}
	if l.Kept != "" {
		parts = append(parts, "kept by "+l.Kept)
	}
	if l.Gone {
		parts = append(parts, "told to nobody: "+l.File+" is not there")
	}
	var runs []string
	for _, t := range l.Told[:min(len(l.Told), 3)] {
		runs = append(runs, t.Run+" ("+strings.Join(t.Phases, ", ")+")")
	}
	if len(runs) == 0 {
		return strings.Join(append(parts, "not told yet"), "; ")
	}
	return strings.Join(append(parts, fmt.Sprintf("told in %s: %s", text.Number(len(l.Told), "run"), strings.Join(runs, ", "))), "; ")
}

// Keep writes lessons into the project's file, in the name of who says so: all of
// them, or none. It returns what was done, for a person.
func Keep(p *project.Checkout, all ...work.Lesson) (string, error) {
	return KeepBy(p, p.User(), all...)
}

// KeepBy keeps lessons as Keep does, in the name of by.
func KeepBy(p *project.Checkout, by string, all ...work.Lesson) (string, error) {
	kept, body, err := config.ReadLessons(p.Base.RepoRoot)
	if err != nil {
		return "", err
	}
	var said strings.Builder
	for _, l := range all {
		if err := l.Check(); err != nil {
			return "", refusal.New(fmt.Sprintf("write one line of at most %d bytes, about a file of the repository or none", work.MaxLessonBytes), "the lesson cannot be used: %v", err)
		}
		if isKept(kept, l) {
			return "", refusal.New("forge lessons shows it", "lesson %s is kept already", l.ID())
		}
		l.Kept, l.Commit = by, text.Short(l.Commit)
		more, problems := lessons.Add(body, l)
		if len(problems) > 0 {
			return "", refusal.New(problems[0].Fix, "the lesson cannot be kept: %s", problems[0].What)
		}
		body = more
		kept = append(kept, config.Lesson{Lesson: l})
		fmt.Fprintf(&said, "Kept %s: %s\n", l.ID(), narrate.LessonText(l))
	}
	if err := write(p, body); err != nil {
		return "", err
	}
	return text.Harmless(said.String()) + "The next run is told. Commit " + lessons.File + " for others.\n", nil
}

// isKept says that the project keeps a lesson.
func isKept(kept []config.Lesson, l work.Lesson) bool {
	return slices.ContainsFunc(kept, func(k config.Lesson) bool { return k.ID() == l.ID() })
}

func write(p *project.Checkout, body string) error {
	path := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(lessons.File))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Write(path, []byte(body), 0o644)
	}
	if err != nil {
		return refusal.New("make the folder writable", "write the lessons: %v", err)
	}
	return nil
}

// Remove unlearns the lessons of so many ids, or their beginnings; of none, those
// whose files are gone. It returns what was done, for a person.
func Remove(p *project.Checkout, ids ...string) (string, error) {
	// One that breaks a rule of the file can be removed as well.
	kept, body, err := config.ReadLessons(p.Base.RepoRoot)
	var bad *config.Problems
	if err != nil && (!errors.As(err, &bad) || body == "") {
		return "", err
	}
	var remove []string
	for _, l := range kept {
		if len(ids) == 0 && l.Gone {
			remove = append(remove, l.ID())
		}
	}
	for _, id := range ids {
		found := slices.DeleteFunc(slices.Clone(kept), func(l config.Lesson) bool { return !strings.HasPrefix(l.ID(), id) })
		if len(found) == 0 || id == "" {
			return "", refusal.New("forge lessons shows the ids", "there is no lesson %q", text.OneLine(id, 60))
		}
		if slices.ContainsFunc(found, func(l config.Lesson) bool { return l.ID() != found[0].ID() }) {
			return "", refusal.New("write more of its id", "%q is the beginning of %d lessons", id, len(found))
		}
		remove = append(remove, found[0].ID())
	}
	if len(remove) == 0 {
		return "No lesson is about a file that is gone.\n", nil
	}
	return "Removed " + strings.Join(remove, ", ") + ". The next run is not told.\n", write(p, lessons.Remove(body, remove...))
}
