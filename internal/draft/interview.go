package draft

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"forge/internal/atomicfile"
	"forge/internal/interview"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// Interview is an interview of a project, in the state folder: what was asked and
// answered outlives the program that asks.
type Interview struct {
	p     *project.Checkout
	model string
	by    *author
	kept  []byte // its file as it was read or written here last, nil = there was none
	interview.Record
}

func interviewFile(p *project.Checkout, kind interview.Kind) string {
	return filepath.Join(p.State, "interviews", string(kind)+".json")
}

// OpenInterview is the interview of a kind that is under way; ok is false where
// none is.
func OpenInterview(p *project.Checkout, kind interview.Kind, model string) (i *Interview, ok bool, err error) {
	i = &Interview{p: p, model: model, Record: interview.Record{Kind: kind}}
	body, err := os.ReadFile(interviewFile(p, kind))
	if errors.Is(err, fs.ErrNotExist) {
		return i, false, nil
	}
	i.kept = body
	if err == nil {
		err = json.Unmarshal(body, &i.Record)
	}
	if err != nil {
		i.Record = interview.Record{Kind: kind}
		return i, false, refusal.New("--new begins another one", "the interview that was under way cannot be read: %v", err)
	}
	return i, true, nil
}

// Begin begins it anew, about a text.
func (i *Interview) Begin(wish, from string) error {
	i.Record = interview.Record{Kind: i.Kind, Wish: wish, From: from, Began: i.p.Now()}
	return i.Keep()
}

// Keep writes it down, unless somebody answered it at another door meanwhile.
func (i *Interview) Keep() error {
	path := interviewFile(i.p, i.Kind)
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the interview: %w", err)
	}
	if !bytes.Equal(now, i.kept) {
		return refusal.New(i.command()+" goes on with what is asked there", "this interview was answered or dropped at another door meanwhile; nothing was changed")
	}
	body, err := json.MarshalIndent(i.Record, "", "  ")
	body = append(body, '\n')
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(path, body, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the interview: %w", err)
	}
	i.kept = body
	return nil
}

// Next has the agent ask the next question, or hand over the result.
func (i *Interview) Next(ctx context.Context) error {
	if i.by == nil {
		by, err := newAuthor(ctx, i.p, i.model, string(i.Kind), interview.FileName)
		if err != nil {
			return err
		}
		i.by = by
	}
	i.Problem = ""
	err := interview.Step(ctx, i.by, &i.Record, i.Keep)
	var bad *interview.ReplyError
	if errors.As(err, &bad) {
		return refusal.New("go on with the same command, or ask another agent with --agent", "%v", bad)
	}
	return err
}

// Reply answers the question of the interview of an id, where it is still the one
// that was seen: work.ErrStale where it is not, ErrNone where there is no interview.
func Reply(p *project.Checkout, id, seen, words string) (*Interview, error) {
	for _, kind := range []interview.Kind{interview.OfSpec, interview.OfDesign} {
		if id != interviewID(kind) {
			continue
		}
		i, there, err := OpenInterview(p, kind, "")
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, ErrNone
		}
		if turn := i.Open(); turn == nil || asked(turn) != seen {
			return nil, work.ErrStale
		}
		if err := i.Answer(words); err != nil {
			return nil, refusal.New("say it shorter", "%v", err)
		}
		return i, i.Keep()
	}
	return nil, ErrNone
}

// asked is a question on one line, as lists and pages show it.
func asked(turn *interview.Turn) string { return text.OneLine(turn.Text, work.MaxQuestionBytes) }

// GoOn has the agent go on after an answer while nobody waits for it. What keeps it
// from that is kept, unless ctx is over.
func (i *Interview) GoOn(ctx context.Context) error {
	defer i.Close()
	err := i.Next(ctx)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	if _, gone := os.Lstat(interviewFile(i.p, i.Kind)); gone != nil {
		return nil // somebody dropped it
	}
	i.Problem = err.Error()
	return i.Keep()
}

// Over removes what is no longer needed once the result is where it belongs.
func (i *Interview) Over() error {
	if err := os.Remove(interviewFile(i.p, i.Kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the interview: %w", err)
	}
	return nil
}

// Close removes the agent's folder.
func (i *Interview) Close() {
	if i.by != nil {
		i.by.close()
	}
}
