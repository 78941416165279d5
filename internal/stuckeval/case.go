// Package stuckeval says how well a rule tells what is stuck from what works
// and what waits: it reads or makes cases whose right answer is known, and holds
// rules against them. It stores nothing.
package stuckeval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"forge/internal/config"
	"forge/internal/refusal"
	"forge/internal/stuck"
)

// maxFileBytes bounds one file of cases, maxLineBytes one case.
const (
	maxFileBytes = 256 << 20
	maxLineBytes = 16 << 20
)

// Case is a sequence of iterations with what its end is.
type Case struct {
	ID     string      `json:"id"`
	Family string      `json:"family"`
	Label  stuck.State `json:"label"`
	// Onset is the number of the first iteration that brought nothing, or waited;
	// nil for one that works.
	Onset      *int      `json:"onset"`
	Iterations []Written `json:"iterations"`
}

// Written is an iteration as a file of cases holds it.
type Written struct {
	N        int           `json:"n"`
	Outcome  string        `json:"outcome"` // ok or agent_failed
	Tree     string        `json:"tree"`
	Changed  bool          `json:"changed"`
	Files    []string      `json:"files"`
	Shape    string        `json:"shape"`
	Message  string        `json:"message"`
	Progress *float64      `json:"progress"`
	Verify   *Verify       `json:"verify"`
	Tools    []WrittenCall `json:"tools"`
	Wait     *stuck.Wait   `json:"wait"`
}

// Verify is what a verify said.
type Verify struct {
	Pass   bool   `json:"pass"`
	Digest string `json:"digest"`
}

// WrittenCall is a call of a tool. Failing is nil where it ran no tests.
type WrittenCall struct {
	Name    string   `json:"name"`
	Args    string   `json:"args"`
	Result  string   `json:"result"`
	Norm    string   `json:"norm,omitempty"` // the result without what differs each time, "" = Result
	Error   bool     `json:"error"`
	Failing []string `json:"failing,omitzero"`
}

// History is the case as the detector sees it.
func (c Case) History() []stuck.Iteration {
	out := make([]stuck.Iteration, 0, len(c.Iterations))
	for _, w := range c.Iterations {
		out = append(out, w.iteration())
	}
	return out
}

func (w Written) iteration() stuck.Iteration {
	it := stuck.Iteration{
		N: w.N, Failed: w.Outcome != "ok", Changed: w.Changed, Tree: w.Tree, Shape: w.Shape,
		Bare: w.Changed && w.Shape == "", Files: w.Files, Said: w.Message, Wait: w.Wait,
	}
	if w.Progress != nil {
		it.Progress = *w.Progress
	}
	if w.Verify != nil && !w.Verify.Pass {
		it.Red = w.Verify.Digest
	}
	for _, t := range w.Tools {
		result := t.Norm
		if result == "" {
			result = t.Result
		}
		it.Calls = append(it.Calls, stuck.Call{
			Name: t.Name, Subject: stuck.Subject(t.Args), Args: t.Args, Result: result, Error: t.Error, Edit: stuck.EditTool(t.Name),
		})
		if t.Failing != nil {
			it.Tested, it.Failing = true, t.Failing
		}
	}
	return it
}

// Read takes the cases of a file, or of every .jsonl file below a folder, one
// JSON object a line. Errors name all that is wrong, by file and line, and are
// the user's to mend.
func Read(path string) ([]Case, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	var cases []Case
	problems := &config.Problems{}
	ids := map[string]string{}
	for _, name := range files {
		more, wrong, err := readFile(name, ids)
		if err != nil {
			return nil, err
		}
		cases, problems.List = append(cases, more...), append(problems.List, wrong...)
	}
	switch {
	case len(problems.List) > 0:
		return nil, problems
	case len(cases) == 0:
		return nil, refusal.New("a case is one line of JSON in a .jsonl file", "%s holds no case", path)
	}
	return cases, nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refusal.New("give a folder of .jsonl files, or one of them", "%s is not there", path)
	case err != nil:
		return nil, fmt.Errorf("look at the cases: %w", err)
	case !info.IsDir():
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(name) == ".jsonl" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the cases: %w", err)
	}
	return files, nil
}

// readFile takes the cases of one file. ids are those of the cases so far, with their places.
func readFile(name string, ids map[string]string) (cases []Case, problems []config.Problem, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the cases: %w", err)
	}
	if info.Size() > maxFileBytes {
		return nil, []config.Problem{{File: name, What: fmt.Sprintf("is larger than %d MB", maxFileBytes>>20), Fix: "give fewer cases"}}, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the cases: %w", err)
	}

	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLineBytes)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		say := func(what string) {
			problems = append(problems, config.Problem{File: name, Line: n, What: what, Fix: "docs/eval.md has the format"})
		}
		var c Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			say("is no case: " + err.Error())
			continue
		}
		for _, wrong := range c.problems() {
			say(wrong)
		}
		if other := ids[c.ID]; other != "" {
			say(fmt.Sprintf("id %q is that of %s too", c.ID, other))
		}
		ids[c.ID] = fmt.Sprintf("%s:%d", name, n)
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		problems = append(problems, config.Problem{File: name, What: err.Error(), Fix: fmt.Sprintf("a line holds at most %d MB", maxLineBytes>>20)})
	}
	return cases, problems, nil
}

// problems is everything that is wrong with a case.
func (c Case) problems() (wrong []string) {
	if c.ID == "" {
		wrong = append(wrong, "id is missing")
	}
	if !slices.Contains([]stuck.State{stuck.Stuck, stuck.Working, stuck.Waiting}, c.Label) {
		wrong = append(wrong, fmt.Sprintf("label %q is none of stuck, working, waiting", c.Label))
	}
	if c.Label != stuck.Working && c.Onset == nil {
		wrong = append(wrong, "onset is missing")
	}
	if len(c.Iterations) == 0 {
		wrong = append(wrong, "iterations is empty")
	}
	for i, it := range c.Iterations {
		if it.N != i+1 {
			wrong = append(wrong, fmt.Sprintf("iteration %d has n = %d", i+1, it.N))
			break
		}
	}
	if c.Onset != nil && (*c.Onset < 1 || *c.Onset > max(1, len(c.Iterations))) {
		wrong = append(wrong, fmt.Sprintf("onset %d is no iteration", *c.Onset))
	}
	for _, it := range c.Iterations {
		if it.Wait != nil && !slices.Contains(stuck.WaitKinds(), it.Wait.Kind) {
			wrong = append(wrong, fmt.Sprintf("iteration %d waits for %q, which is none of %v", it.N, it.Wait.Kind, stuck.WaitKinds()))
		}
		if !slices.Contains([]string{"ok", "agent_failed"}, it.Outcome) {
			wrong = append(wrong, fmt.Sprintf("iteration %d has the outcome %q, which is none of ok, agent_failed", it.N, it.Outcome))
		}
	}
	return wrong
}
