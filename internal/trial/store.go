package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/eval"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// folder is where trials are stored, under the state folder.
const folder = "eval"

// file is where a trial is stored.
func file(p *project.Checkout, t *eval.Trial) string {
	return filepath.Join(p.State, folder, t.ID+".json")
}

func save(p *project.Checkout, t *eval.Trial) error {
	dir := filepath.Join(p.State, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return refusal.New("set FORGE_STATE_DIR to a folder that can be written", "store the trial: %v", err)
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("store the trial: %w", err)
	}
	return atomicfile.Write(file(p, t), append(text, '\n'), 0o600)
}

// Stored are all trials that are stored, oldest first.
func Stored(p *project.Checkout) ([]*eval.Trial, error) {
	dir := filepath.Join(p.State, folder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, refusal.New("make it readable", "read the trials: %v", err)
	}
	var out []*eval.Trial
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, refusal.New("make it readable", "read the trials: %v", err)
		}
		t, err := eval.ReadTrial(text)
		if err != nil {
			p.Log.Warn("leave a trial out", "file", filepath.Join(dir, e.Name()), "err", err)
			continue
		}
		out = append(out, t)
	}
	slices.SortStableFunc(out, func(a, b *eval.Trial) int { return a.Started.Compare(b.Started) })
	return out, nil
}

// Pick finds a trial by its id or the beginning of it; "" = the newest.
func Pick(p *project.Checkout, id string) (*eval.Trial, error) {
	all, err := Stored(p)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, refusal.New("forge eval makes one", "there are no trials")
	}
	if id == "" {
		return all[len(all)-1], nil
	}
	var found []*eval.Trial
	for _, t := range all {
		if t.ID == id {
			return t, nil
		}
		if strings.HasPrefix(t.ID, id) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, refusal.New("forge eval list names them", "there is no trial %q", text.FirstLine(id, 60))
	}
	return nil, refusal.New("write more of its id", "%q is the beginning of %d trials", text.FirstLine(id, 60), len(found))
}

// recordOf is what is on record about a case: in the setup's folder of answers
// where there is one, else beside the case itself.
func recordOf(s eval.Setup, c eval.Case) (*eval.Recorded, error) {
	if s.Answers == "" {
		return c.Recorded, nil
	}
	file := filepath.Join(s.Answers, c.Name, "recorded.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refusal.New("make it readable", "read the recorded answer: %v", err)
	}
	r, err := eval.ReadRecorded(text, c.Name)
	return r, problemsAt(err, s.Answers)
}

// problemsAt shows problems of files below dir; other errors stay.
func problemsAt(err error, dir string) error {
	var bad *eval.Problems
	if !errors.As(err, &bad) {
		return err
	}
	out := &config.Problems{}
	for _, p := range bad.List {
		out.List = append(out.List, config.Problem{File: filepath.Join(dir, filepath.FromSlash(p.File)), Line: p.Line, What: p.What, Fix: p.Fix})
	}
	return out
}

func writeRecord(dir, name string, r eval.Recorded) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("record the answer: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		return refusal.New("name a folder that can be written", "record the answer: %v", err)
	}
	return atomicfile.Write(filepath.Join(dir, name, "recorded.json"), append(text, '\n'), 0o644)
}

// readHand is what a person said so far; a file that is not there says nothing.
func readHand(file string) ([]eval.Same, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, refusal.New("make it readable", "read %s: %v", file, err)
	}
	said, err := eval.ReadSame(filepath.Base(file), text)
	return said, problemsAt(err, filepath.Dir(file))
}

const handHow = "Each pair is a finding at a place where something is expected. Set same to true when the finding means what is expected, else to false; null counts as unknown."

// writeHand writes the file for a person to fill in, and says how many pairs
// are open.
func writeHand(file string, pairs []eval.HandPair) (open int, err error) {
	text, err := json.MarshalIndent(map[string]any{"how": handHow, "pairs": pairs}, "", "  ")
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", file, err)
	}
	for _, p := range pairs {
		if p.Same.Same == nil {
			open++
		}
	}
	if err := atomicfile.Write(file, append(text, '\n'), 0o644); err != nil {
		return open, refusal.New("name a file that can be written", "%v", err)
	}
	return open, nil
}

// left is what a trial may still consume, nil where there is no limit. What
// did not report counts as iteration_usd and iteration_tokens; where those are
// not set, ok is false: nobody knows what is left.
func left(l eval.Ledger, cost work.Cost) (usd *float64, tokens *int64, ok bool) {
	ok = true
	if cost.RunUSD != nil {
		rest := *cost.RunUSD - l.USD
		if l.UnknownUSD > 0 {
			if cost.IterationUSD == nil {
				return nil, nil, false
			}
			rest -= float64(l.UnknownUSD) * *cost.IterationUSD
		}
		usd = &rest
	}
	if cost.RunTokens != nil {
		rest := *cost.RunTokens - l.Tokens
		if l.UnknownTokens > 0 {
			if cost.IterationTokens == nil {
				return nil, nil, false
			}
			rest -= int64(l.UnknownTokens) * *cost.IterationTokens
		}
		tokens = &rest
	}
	return usd, tokens, ok
}
