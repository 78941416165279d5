package draft

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/interview"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// thinking is how long an agent of an interview may take for its next question.
// Only after that the interview waits for somebody who goes on with it.
const thinking = time.Hour

// Waiting is something drafted that waits for a person.
type Waiting struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // plan; kept: of forge generate; spec or design: of an interview
	State    State     `json:"state"`
	About    string    `json:"about"`              // what it is for, on one line
	Question string    `json:"question,omitempty"` // that an interview asks
	Choices  []string  `json:"choices,omitempty"`
	Problem  string    `json:"problem,omitempty"` // why there is nothing
	By       string    `json:"by,omitempty"`
	Since    time.Time `json:"since"`
	// Way is the command that goes on with it.
	Way string `json:"way"`
}

// IsFor is what a draft is for, in few words.
func (w Waiting) IsFor() string {
	switch {
	case w.Question != "":
		return w.Question
	case w.Problem != "":
		return w.About + ": " + w.Problem
	}
	return w.About
}

// Listed are drafts that wait as a person reads them, each with the command that
// goes on with it.
func Listed(list []Waiting, ago func(time.Time) string) string {
	kinds := map[string]string{"spec": "an interview for a spec", "design": "an interview for a plan"}
	states := map[State]string{Ready: "is ready", Asks: "asks", Failed: "failed", Interrupted: "was interrupted"}
	var b strings.Builder
	for _, w := range list {
		fmt.Fprintf(&b, "Draft %s, %s, %s (%s): %s\n", w.ID, cmp.Or(kinds[w.Kind], "a plan"), states[w.State], ago(w.Since), text.OneLine(w.IsFor(), 200))
		for n, c := range w.Choices {
			fmt.Fprintf(&b, "  %d  %s\n", n+1, text.OneLine(c, 100))
		}
		fmt.Fprintf(&b, "  %s\n", w.Way)
	}
	return b.String()
}

// Waits are the drafts that wait for a person, what waits longest first. What an
// agent works on at the moment does not.
func Waits(p *project.Checkout) ([]Waiting, error) {
	records, err := Records(p.State, p.Now())
	if err != nil {
		return nil, err
	}
	var out []Waiting
	for _, d := range records {
		if w, ok := d.waits(); ok {
			out = append(out, w)
		}
	}
	others, err := Others(p)
	if err != nil {
		return nil, err
	}
	out = append(out, others...)
	slices.SortStableFunc(out, func(a, b Waiting) int { return a.Since.Compare(b.Since) })
	return out, nil
}

// waits is a draft as what waits; ok is false while it is under way.
func (d Record) waits() (w Waiting, ok bool) {
	w = Waiting{ID: d.ID, Kind: "plan", State: d.State, About: text.OneLine(d.Text, 80), Problem: d.Problem, By: d.By, Since: d.Ended}
	if w.Since.IsZero() {
		w.Since = d.Began
	}
	switch d.State {
	case UnderWay:
		return w, false
	case Ready:
		w.Way = "forge do --draft " + d.ID + " begins its run"
	default:
		w.Way = "forge do --plan drafts another; forge gc --draft " + d.ID + " forgets this one"
	}
	return w, true
}

// interviewID is the id of an interview among drafts.
func interviewID(kind interview.Kind) string { return "interview-" + string(kind) }

// Others are what waits and is no Record: interviews that wait for an answer, for a
// yes to their result, or for somebody who goes on with them; and the plan that
// forge generate kept.
func Others(p *project.Checkout) ([]Waiting, error) {
	var out []Waiting
	if info, err := os.Lstat(keptFile(p)); err == nil {
		out = append(out, Waiting{
			ID: keptID, Kind: "kept", State: Ready, About: "a plan that forge generate could ask nobody about", Since: info.ModTime(),
			Way: "mv " + text.ShellWord(keptFile(p)) + " " + project.PlanFile + " takes it",
		})
	}
	for _, kind := range []interview.Kind{interview.OfSpec, interview.OfDesign} {
		info, err := os.Lstat(interviewFile(p, kind))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		i, there, err := OpenInterview(p, kind, "")
		if !there && err == nil {
			continue // it is over
		}
		w := Waiting{ID: interviewID(kind), Kind: string(kind), State: Interrupted, Since: info.ModTime(), About: text.OneLine(i.Wish, 80)}
		command := i.command()
		w.Way = command + " goes on with it"
		switch turn := i.Open(); {
		case err != nil:
			w.State, w.Problem, w.About, w.Way = Failed, "it cannot be read", "an interview", command+" --new begins another one"
		case turn != nil:
			w.State, w.Question, w.Choices, w.Way = Asks, asked(turn), turn.Choices, command+` --answer "…"`
		case i.Done():
			w.State, w.Way = Ready, command+" --yes writes its result"
		case i.Problem != "":
			w.State, w.Problem = Failed, text.OneLine(i.Problem, 300)
		case p.Now().Sub(info.ModTime()) < thinking:
			continue
		}
		out = append(out, w)
	}
	return out, nil
}

// Thinking are the interviews whose agents are at work: those whose ids atWork knows.
func Thinking(p *project.Checkout, atWork func(id string) bool) []Waiting {
	var out []Waiting
	for _, kind := range []interview.Kind{interview.OfSpec, interview.OfDesign} {
		id := interviewID(kind)
		if !atWork(id) {
			continue
		}
		if i, there, err := OpenInterview(p, kind, ""); there && err == nil {
			out = append(out, Waiting{ID: id, Kind: string(kind), State: UnderWay, About: text.OneLine(i.Wish, 80), Since: i.Began})
		}
	}
	return out
}

// command is the one that goes on with an interview.
func (i *Interview) command() string {
	if i.Kind == interview.OfDesign {
		from := i.From
		if from == "" {
			from = "DOC"
		}
		return "forge implement " + text.ShellWord(from)
	}
	return "forge interview"
}

// Begun is the plan of a draft, with the text that it is for, to begin a run with.
func Begun(p *project.Checkout, id string) (*work.Plan, string, error) {
	d, err := ReadRecord(p.State, id, p.Now())
	switch {
	case errors.Is(err, ErrNone):
		return nil, "", refusal.New("forge inbox lists what waits", "there is no draft %q, or a run began with it", id)
	case err != nil:
		return nil, "", err
	case d.State == UnderWay:
		return nil, "", refusal.New("forge inbox shows it once it is ready", "the draft %s is still under way", id)
	case d.Plan == nil:
		return nil, "", refusal.New("forge do --plan drafts another; forge gc --draft "+id+" forgets this one", "the draft %s has no plan: %s", id, cmp.Or(d.Problem, string(d.State)))
	}
	return d.Plan, d.Text, nil
}

// Forget drops what waits by an id and says what that was; dry only says so.
func Forget(p *project.Checkout, id string, dry bool) (string, error) {
	waits, err := Waits(p)
	if err != nil {
		return "", err
	}
	n := slices.IndexFunc(waits, func(w Waiting) bool { return w.ID == id })
	if n < 0 {
		return "", refusal.New("forge inbox lists them", "no draft %q waits", id)
	}
	said := fmt.Sprintf("the draft %s: %s", id, text.HarmlessLine(waits[n].IsFor()))
	if dry {
		return "would remove " + said, nil
	}
	return "removed " + said, Drop(p, id)
}

// Drop forgets what waits by an id, or is ErrNone.
func Drop(p *project.Checkout, id string) error {
	path := ""
	switch id {
	case interviewID(interview.OfSpec):
		path = interviewFile(p, interview.OfSpec)
	case interviewID(interview.OfDesign):
		path = interviewFile(p, interview.OfDesign)
	case keptID:
		path = keptFile(p)
	default:
		return DropRecord(p.State, id)
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	} else if err != nil {
		return fmt.Errorf("forget the draft %s: %w", id, err)
	}
	return nil
}

// keptID is the draft that forge generate made and could ask nobody about.
const keptID = "generated"

func keptFile(p *project.Checkout) string { return filepath.Join(p.State, "drafts", "phases.json") }

// Settled forgets the draft of forge generate that was kept, once a plan is written.
func Settled(p *project.Checkout) {
	if err := os.Remove(keptFile(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Log.Warn("the draft that was kept stays", "err", err)
	}
}
