package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// First is a file to read first, and why.
type First struct {
	Path string
	Why  string
}

// FirstFiles are the most files of a change that a person should read first:
// those that the proof rests on, then those in which something was found, the
// worst first, then hand-written source before tests, papers and what a program
// wrote; among equals the larger change. It names fewer where there are fewer.
func FirstFiles(c review.Change, protected []string, findings []work.Finding, most int) []First {
	guarded := map[string]bool{}
	for _, p := range protected {
		guarded[p] = true
	}
	type ranked struct {
		First
		guarded  bool
		severity int // 0 = nothing found
		kind     fileKind
		size     int
	}
	all := make([]ranked, 0, len(c.Files))
	for i := range c.Files {
		f := &c.Files[i]
		s := StatOf(f)
		r := ranked{First: First{Path: f.Path}, guarded: guarded[f.Path] || guarded[f.OldPath], kind: kindOf(f), size: s.Added + s.Removed}
		found, worst := foundIn(findings, f)
		r.severity = weight(worst)
		var why []string
		if r.guarded {
			why = append(why, "the proof rests on it")
		}
		if found > 0 {
			why = append(why, fmt.Sprintf("%s, the worst %s", text.Number(found, "finding"), worst))
		}
		why = append(why, r.kind.word(), fmt.Sprintf("+%d −%d", s.Added, s.Removed))
		r.Why = strings.Join(why, ", ")
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		if a.guarded != b.guarded {
			if a.guarded {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(a.kind, b.kind), cmp.Compare(b.size, a.size), cmp.Compare(a.Path, b.Path))
	})
	var out []First
	for _, r := range all[:min(max(most, 0), len(all))] {
		out = append(out, r.First)
	}
	return out
}

func foundIn(findings []work.Finding, f *review.File) (n int, worst work.Severity) {
	for _, x := range findings {
		if x.File == "" || x.File != f.Path && x.File != f.OldPath {
			continue
		}
		if n++; weight(x.Severity) > weight(worst) {
			worst = x.Severity
		}
	}
	return n, worst
}

// weight counts an unknown word as the worst: it is not for a page to call a
// finding small.
func weight(s work.Severity) int {
	switch s {
	case "":
		return 0
	case work.SeverityMinor:
		return 1
	case work.SeverityMajor:
		return 2
	}
	return 3
}

// fileKind is what a file is for, the one to read first before the others.
type fileKind int

const (
	source fileKind = iota
	test
	paper
	generated
)

func (k fileKind) word() string {
	return [...]string{"source", "test", "text", "generated"}[k]
}

// Generated says that a file looks as if a program wrote it: by its name, or
// by the mark in its first lines.
func Generated(f *review.File) bool { return kindOf(f) == generated }

func kindOf(f *review.File) fileKind {
	name, folder := strings.ToLower(path.Base(f.Path)), "/"+strings.ToLower(path.Dir(f.Path))+"/"
	for _, part := range []string{"/vendor/", "/node_modules/", "/dist/", "/third_party/", "/__snapshots__/"} {
		if strings.Contains(folder, part) {
			return generated
		}
	}
	for _, end := range []string{".lock", ".sum", "-lock.json", "-lock.yaml", ".min.js", ".min.css", ".map", ".pb.go", ".snap", ".golden", ".svg"} {
		if strings.HasSuffix(name, end) {
			return generated
		}
	}
	if f.Binary || strings.Contains(name, "generated") || marked(f) {
		return generated
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	switch {
	case strings.Contains(folder, "/testdata/"), strings.Contains(folder, "/tests/"), strings.Contains(folder, "/test/"), strings.Contains(folder, "/spec/"),
		strings.HasSuffix(stem, "_test"), strings.HasSuffix(stem, ".test"), strings.HasSuffix(stem, ".spec"), strings.HasPrefix(stem, "test_"):
		return test
	case strings.HasSuffix(name, ".md"), strings.HasSuffix(name, ".txt"), strings.HasSuffix(name, ".rst"), strings.HasSuffix(name, ".adoc"):
		return paper
	}
	return source
}

// marked looks for the line by which programs sign what they write.
func marked(f *review.File) bool {
	if len(f.Hunks) == 0 || f.Hunks[0].NewStart > 5 {
		return false
	}
	body := f.Hunks[0].Body
	head := body[:min(len(body), 600)]
	return bytes.Contains(head, []byte("Code generated ")) && bytes.Contains(head, []byte("DO NOT EDIT")) || bytes.Contains(head, []byte("@generated"))
}
