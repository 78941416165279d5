package draft

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/interview"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// Asking is what somebody says who begins an interview, or goes on with one.
type Asking struct {
	Kind    interview.Kind
	Command string  // by which it goes on
	From    string  // FILE or ISSUE; "" = Text
	Text    string  // "" = what is under way
	Answer  *string // to the question that waits
	Anew    bool    // begin anew
	Done    bool    // ask nothing more
	Model   string  // the agent's; "" = its own

	In       io.Reader
	Out      io.Writer
	Attended bool // a person reads Out and answers on In
	Env      project.Env
}

// ErrWaits is returned where a question waits for an answer, and nobody is there.
var ErrWaits = errors.New("a question waits for an answer")

// Ask is an interview that came to its result: what was begun goes on, and every
// answer is kept before the next question. Where nobody is there, the question is
// printed, and the error is ErrWaits.
func Ask(ctx context.Context, p *project.Checkout, o Asking) (*Interview, error) {
	i, there, err := OpenInterview(p, o.Kind, o.Model)
	if err != nil && !o.Anew {
		return nil, err
	}
	if err := beginAsking(ctx, p, i, there, o); err != nil {
		return nil, err
	}
	if o.Answer != nil {
		if err := i.Answer(*o.Answer); err != nil {
			return nil, refusal.New(o.Command+" goes on", "%v", err)
		}
		if err := i.Keep(); err != nil {
			return nil, err
		}
	}
	if o.Done && !i.Done() {
		i.Enough = true
		if turn := i.Open(); turn != nil {
			turn.Answered = true
		}
		if err := i.Keep(); err != nil {
			return nil, err
		}
	}
	in := bufio.NewReader(o.In)
	for {
		if err := i.Next(ctx); err != nil {
			i.Close()
			return nil, err
		}
		if i.Done() {
			return i, nil
		}
		if err := sayQuestion(i, o); err != nil {
			i.Close()
			return nil, err
		}
		if !o.Attended {
			i.Close()
			return nil, ErrWaits
		}
		if err := readAnswer(ctx, i, in); err != nil {
			i.Close()
			return nil, err
		}
	}
}

// beginAsking finds out what the interview is about, where it is not under way.
func beginAsking(ctx context.Context, p *project.Checkout, i *Interview, there bool, o Asking) error {
	wish, from, err := wishOf(ctx, p, o)
	if err != nil {
		return err
	}
	switch {
	case there && !o.Anew && wish != "" && wish != i.Wish:
		return refusal.New(o.Command+" goes on with it, --new begins another one", "an interview about something else is under way, with %s", text.Number(len(i.Turns), "question"))
	case there && !o.Anew:
		return nil
	case wish == "":
		return refusal.New(`say it: forge interview "…"; or --from FILE, --from ISSUE`, "nothing says what is wanted")
	}
	if what, fix := planner.CheckSpec(wish); what != "" {
		return refusal.New(fix, "%s", what)
	}
	return i.Begin(wish, from)
}

// wishOf is the text that an interview is about, and where it is from.
func wishOf(ctx context.Context, p *project.Checkout, o Asking) (wish, from string, err error) {
	if o.From == "" {
		return strings.TrimSpace(o.Text), "", nil
	}
	if id, err := strconv.ParseInt(strings.TrimPrefix(o.From, "#"), 10, 64); err == nil && id > 0 {
		b, err := board.Open(ctx, o.Env, false)
		if err != nil {
			return "", "", err
		}
		defer b.Close()
		if b.None {
			return "", "", refusal.New(`forge issue add "…" puts an issue on it`, "this project has no board")
		}
		issue, err := b.Journal.Issue(ctx, b.Project, id)
		if err != nil {
			return "", "", err
		}
		words := issue.Title + "\n\n" + issue.Description
		for _, c := range issue.Criteria {
			words += "\n- " + c.Text
		}
		return strings.TrimSpace(words), "issue " + strconv.FormatInt(id, 10), nil
	}
	path := o.From
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", refusal.New("name a file, or the number of an issue", "read %s: %v", o.From, err)
	}
	defer func() { _ = f.Close() }()
	body, err := io.ReadAll(io.LimitReader(f, planner.MaxSpecBytes+1))
	if err != nil {
		return "", "", refusal.New("name a file, or the number of an issue", "read %s: %v", o.From, err)
	}
	return strings.TrimSpace(string(body)), o.From, nil
}

// sayQuestion prints the question that waits, with its reason and its choices.
func sayQuestion(i *Interview, o Asking) error {
	turn := i.Open()
	var b strings.Builder
	fmt.Fprintf(&b, "Question %d: %s\n", len(i.Turns), text.HarmlessLine(turn.Text))
	if turn.Why != "" {
		fmt.Fprintf(&b, "  why: %s\n", text.HarmlessLine(turn.Why))
	}
	for n, c := range turn.Choices {
		fmt.Fprintf(&b, "  %d  %s\n", n+1, text.HarmlessLine(c))
	}
	if o.Attended {
		b.WriteString("Your answer (a number or words; nothing: the agent decides; done: no more questions): ")
	} else {
		fmt.Fprintf(&b, "Answer: %s --answer \"…\"   (--answer \"\" lets the agent decide, --done ends the questions)\n", o.Command)
	}
	_, err := fmt.Fprint(o.Out, b.String())
	return err
}

// readAnswer takes one line of a person. Leaving is no answer: the question waits.
func readAnswer(ctx context.Context, i *Interview, in *bufio.Reader) error {
	line, err := in.ReadString('\n')
	if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
		return context.Canceled
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if strings.TrimSpace(line) == "done" {
		i.Enough, line = true, ""
	}
	if err := i.Answer(line); err != nil {
		return refusal.New("ask again with the same command", "%v", err)
	}
	return i.Keep()
}

// Plan is the plan of a design's parts, checked as any plan is, in addition to the
// one that is there.
func (i *Interview) Plan(first int, tdd bool, existing *work.Plan) (*config.Plan, error) {
	made, problems := i.Design.Plan(first, tdd)
	if len(problems) > 0 {
		return nil, refusal.New("--no-tdd makes one phase of each part; --new asks again", "%s", strings.Join(problems, "\n  "))
	}
	whole := made
	if existing != nil {
		whole = planner.Extend(*existing, made)
	}
	whole.SpecHash, whole.GeneratedAt = SpecHash(i.Wish), i.p.Now().UTC().Format(time.RFC3339)
	var wrong []string
	for _, problem := range append(whole.Check(), project.CheckGraph(whole)...) {
		wrong = append(wrong, problem.String())
	}
	if len(wrong) > 0 {
		return nil, refusal.New(fmt.Sprintf("--start-phase N gives other numbers than from %d on", first), "the plan cannot be used:\n  %s", strings.Join(wrong, "\n  "))
	}
	return config.NewPlan(whole), nil
}
