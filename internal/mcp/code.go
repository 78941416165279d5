package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"forge/factory/web"
	"forge/internal/refusal"
	"forge/internal/token"
	"forge/internal/work"
	"forge/orchestrator"
)

// inSnapshot names what a run, a phase or an iteration made.
type inSnapshot struct {
	inRun
	Iteration int `json:"iteration,omitempty" jsonschema:"from 1; absent = the whole phase"`
	Attempt   int `json:"attempt,omitempty" jsonschema:"from 1; absent = the last"`

	Repository string `json:"repository,omitempty" jsonschema:"of a run of several repositories; absent = all of them in diff, and home in files and file"`
}

type inDiff struct {
	inSnapshot
	Offset int `json:"offset,omitempty" jsonschema:"where to go on, as the answer before says"`
}

type inFiles struct {
	inSnapshot
	Under string `json:"under,omitempty" jsonschema:"only files whose path begins so"`
	After int    `json:"after,omitempty" jsonschema:"leaves out so many"`
}

type inFile struct {
	inSnapshot
	Path   string `json:"path" jsonschema:"as the tool files names it"`
	Before bool   `json:"before,omitempty" jsonschema:"as it was before the change"`
	Offset int    `json:"offset,omitempty" jsonschema:"where to go on, as the answer before says"`
}

func codeTools() []tool {
	return []tool{
		define(tool{name: "diff", tier: token.Read, about: "What a run, a phase or an iteration changed, as a patch."}, showDiff),
		define(tool{name: "files", tier: token.Read, about: "The files at what a run, a phase or an iteration made."}, listFiles),
		define(tool{name: "file", tier: token.Read, about: "One file at what a run, a phase or an iteration made."}, showFile),
	}
}

// findingsOf are what the reviews of a phase found.
func findingsOf(p *orchestrator.View) []work.Finding { return web.FindingsOf(p) }

// landed is what a run of several repositories changed in each, or in the one that is
// named; nil = it is of one, or home is as it was.
func landed(st *orchestrator.State, name string) (spans []web.Span, err error) {
	for _, r := range st.Results() {
		if name == "" || name == r.Repository {
			spans = append(spans, web.Span{From: r.Base.Commit, To: r.Commit, Title: "run " + st.Run + " in the repository " + r.Repository})
		}
	}
	if name != "" && name != orchestrator.Called("") && len(spans) == 0 {
		return nil, refusal.New("the tool status says how far it is", "run %s has changed nothing in a repository %q", st.Run, name)
	}
	return spans, nil
}

// made is between which commits what is meant changed something, the oldest
// first.
func (c *call) made(in inSnapshot) (web.Run, []web.Span, error) {
	row, st, err := c.stand(in.Run)
	if err != nil {
		return row, nil, err
	}
	phase, err := c.phase(st, in.Phase)
	if err != nil {
		return row, nil, err
	}
	if phase == "" && in.Iteration > 0 {
		return row, nil, refusal.New("name its phase", "an iteration is one of a phase")
	}
	if phase == "" {
		if spans, err := landed(st, in.Repository); err != nil || len(spans) > 0 {
			return row, spans, err
		}
		from, to := web.ChangeOf(st)
		if to == "" {
			return row, nil, refusal.New("the tool status says how far it is", "run %s has changed nothing yet", row.ID)
		}
		return row, []web.Span{{From: from, To: to, Title: "run " + row.ID}}, nil
	}
	spans, err := c.project.Spans.Spans(c, row.ID, web.Part{Phase: phase, Iteration: in.Iteration, Attempt: in.Attempt})
	if err == nil && len(spans) == 0 {
		err = refusal.New("the tool status says how far it is", "phase %s has changed nothing yet", phase)
	}
	return row, spans, err
}

func showDiff(c *call, in inDiff) (answer, error) {
	row, spans, err := c.made(in.inSnapshot)
	if err != nil {
		return answer{}, err
	}
	var b strings.Builder
	head := "Run " + row.ID + ", " + spans[0].Title + ".\n"
	for n, s := range spans {
		patch, err := c.project.Code.Diff(c, s.From, s.To)
		if err != nil {
			return answer{}, err
		}
		if in.Phase == "" && n > 0 {
			fmt.Fprintf(&b, "%s:\n", s.Title)
			head += "And " + s.Title + ".\n"
		}
		b.WriteString(patch)
	}
	if b.Len() == 0 {
		return answer{head: head + "No change.\n"}, nil
	}
	return paged(head, "Patch", b.String(), in.Offset), nil
}

// snapshot is the commit that holds what is meant.
func (c *call) snapshot(in inSnapshot, before bool) (commit string, err error) {
	if in.Phase == "" && in.Repository == "" {
		in.Repository = orchestrator.Called("")
	}
	_, spans, err := c.made(in)
	if err != nil {
		return "", err
	}
	if before {
		return spans[0].From, nil
	}
	return spans[len(spans)-1].To, nil
}

func listFiles(c *call, in inFiles) (answer, error) {
	commit, err := c.snapshot(in.inSnapshot, false)
	if err != nil {
		return answer{}, err
	}
	all, err := c.project.Code.Files(c, commit)
	if err != nil {
		return answer{}, err
	}
	var l list
	skip, next := max(in.After, 0), ""
	for n, f := range all {
		if n < skip || !strings.HasPrefix(f, in.Under) {
			continue
		}
		if !l.add(f) {
			next = fmt.Sprintf("after=%d", n)
			break
		}
	}
	return answer{head: fmt.Sprintf("%d of %d files at %s.\n", l.count, len(all), commit), title: "Files", data: l.b.String(), next: next}, nil
}

func showFile(c *call, in inFile) (answer, error) {
	c.name("path", in.Path)
	commit, err := c.snapshot(in.inSnapshot, in.Before)
	if err != nil {
		return answer{}, err
	}
	return c.fileAt(commit, in.Path, in.Offset)
}

// fileAt is a file at a commit that the caller may see.
func (c *call) fileAt(commit, path string, offset int) (answer, error) {
	gone := refusal.New("the tool files lists them", "there is no file %s at %s", label(path), commit)
	if !fs.ValidPath(path) || path == "." {
		return answer{}, gone
	}
	data, err := c.project.Code.File(c, commit, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = gone
	}
	if err != nil {
		return answer{}, err
	}
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return answer{head: fmt.Sprintf("The file at %s is no text; it has %d bytes.\n", commit, len(data))}, nil
	}
	if len(data) == 0 {
		return answer{head: "The file at " + commit + " is empty.\n"}, nil
	}
	return paged("A file at "+commit+".\n", "File", string(data), offset), nil
}
