package project

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/text"
	"forge/internal/work"
)

// StartFacts are what a person should know before work begins, although it can.
type StartFacts struct {
	Changed   []string // tracked files with changes that are not committed
	Untracked []string
	// Branch is what the result is merged into by itself; "" = it is not.
	Branch     string
	NoIdentity bool // git knows no name and address for commits
	// Dumb says that somebody sits at a terminal that can show no questions.
	Dumb bool
	// Gone are files that lessons are about and that are not there any more.
	Gone []string
	// Servers are the other processes that work on the project's board.
	Servers []work.Server
}

// Notes are the facts as sentences, each with the way out; none where all is well.
func (f StartFacts) Notes() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := len(f.Changed); n > 0 {
		end := ""
		if f.Branch != "" {
			end = ", and its result is not merged into " + text.Line(f.Branch) + " while that is so"
		}
		add("%s not committed: the work starts from the last commit without it%s (commit or stash first): %s", count(n, "change is", "changes are"), end, someOf(f.Changed))
	}
	if n := len(f.Untracked); n > 0 {
		add("%s not tracked by git: no agent sees it (git add and commit what belongs to the project): %s", count(n, "file is", "files are"), someOf(f.Untracked))
	}
	if f.NoIdentity {
		add("git knows no user.name and user.email: commits are by Forge <forge@localhost> (git config --global user.name NAME, and user.email)")
	}
	if f.Dumb {
		add("TERM=dumb: this terminal can show no live view and no questions; a question waits until forge approve answers it")
	}
	if n := len(f.Gone); n > 0 {
		add("%s not told: what each is about is not there (forge lessons remove --gone): %s", count(n, "lesson is", "lessons are"), someOf(f.Gone))
	}
	for _, s := range f.Servers {
		add("another forge factory works on this board, process %d on %s since %s: each issue is still worked on by one of them", s.PID, text.Line(s.Host), s.Since.Local().Format(time.DateTime))
	}
	return out
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// mostNamed is how many files a note names.
const mostNamed = 3

func someOf(paths []string) string {
	var named []string
	for _, p := range paths[:min(len(paths), mostNamed)] {
		named = append(named, text.OneLine(p, 80))
	}
	out := strings.Join(named, ", ")
	if n := len(paths) - len(named); n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// SayAtStart warns of what f says, and of how the user's checkout stands.
func (p *Checkout) SayAtStart(ctx context.Context, repo *git.Store, f StartFacts) {
	for _, note := range p.StartNotes(ctx, repo, f) {
		p.Log.Warn(note)
	}
}

// StartNotes are f's notes, with what is to be known of how the user's checkout
// stands. What cannot be found out is left unsaid: nothing depends on it.
func (p *Checkout) StartNotes(ctx context.Context, repo *git.Store, f StartFacts) []string {
	var err error
	if f.Changed, f.Untracked, err = repo.Uncommitted(ctx); err != nil {
		p.Log.Debug("look for uncommitted changes", "err", err)
	}
	kept, _, err := config.ReadLessons(p.Base.RepoRoot)
	if err != nil {
		p.Log.Debug("look for lessons", "err", err)
	}
	for _, l := range kept {
		if l.Gone {
			f.Gone = append(f.Gone, l.File)
		}
	}
	_, _, known := repo.Identity()
	f.NoIdentity = !known
	return f.Notes()
}
