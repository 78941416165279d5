package eval

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"forge/internal/text"
)

// The names of a case's files; a new file is code.*.
const (
	expectedFile = "expected.json"
	contextFile  = "context.md"
	diffFile     = "change.diff"
	recordedFile = "recorded.json"
	// maxFileBytes bounds each file of a case.
	maxFileBytes = 1 << 20
)

//go:embed all:_cases
var builtin embed.FS

// Builtin is the folder of the project's own cases.
func Builtin() fs.FS {
	sub, err := fs.Sub(builtin, "_cases")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}

var caseName = text.Lazy(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// mostNested is how deep folders of folders of cases are looked into.
const mostNested = 8

// Load reads every folder of cases, sorted by name. The error is *Problems,
// with all of them, or that the folder itself cannot be read. Files beside the
// folders, and folders that begin with a dot, are not looked at. A folder that has
// none of a case's files, and folders in it, holds cases itself: the name of each is
// its path.
func Load(from fs.FS) ([]Case, error) {
	var problems Problems
	cases, err := loadBelow(from, ".", &problems, 0)
	if err != nil {
		return nil, err
	}
	if len(problems.List) > 0 {
		return nil, &problems
	}
	return cases, nil
}

func loadBelow(from fs.FS, dir string, problems *Problems, depth int) ([]Case, error) {
	entries, err := fs.ReadDir(from, dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of cases: %w", err)
	}
	var cases []Case
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		l := loader{from: from, name: path.Join(dir, e.Name()), problems: problems}
		if depth < mostNested && l.holdsCases() {
			more, err := loadBelow(from, l.name, problems, depth+1)
			if err != nil {
				return nil, err
			}
			cases = append(cases, more...)
		} else if c, ok := l.load(); ok {
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// holdsCases says that a folder is no case, and has folders.
func (l *loader) holdsCases() bool {
	entries, err := fs.ReadDir(l.from, l.name)
	folders := false
	for _, e := range entries {
		name := e.Name()
		if slices.Contains([]string{expectedFile, contextFile, diffFile, recordedFile}, name) || strings.HasPrefix(name, "code.") {
			return false
		}
		folders = folders || e.IsDir() && !strings.HasPrefix(name, ".")
	}
	return err == nil && folders
}

// loader reads one folder.
type loader struct {
	from     fs.FS
	name     string
	problems *Problems
}

func (l *loader) bad(file string, line int, what, fix string) {
	l.problems.List = append(l.problems.List, Problem{File: path.Join(l.name, file), Line: line, What: what, Fix: fix})
}

// file is the content of one file; nil, and a problem unless it may be
// missing, when there is none.
func (l *loader) file(name string, maybe bool) []byte {
	f, err := l.from.Open(path.Join(l.name, name))
	if errors.Is(err, fs.ErrNotExist) {
		if !maybe {
			l.bad(name, 0, "is missing", "write it")
		}
		return nil
	}
	var info fs.FileInfo
	if err == nil {
		defer func() { _ = f.Close() }()
		info, err = f.Stat()
	}
	switch {
	case err != nil:
		l.bad(name, 0, "cannot be read: "+cause(err), "make it readable")
		return nil
	case !info.Mode().IsRegular():
		l.bad(name, 0, "is not a file", "write a file")
		return nil
	case info.Size() > maxFileBytes:
		l.bad(name, 0, fmt.Sprintf("has %d bytes, more than %d", info.Size(), maxFileBytes), "make the case smaller")
		return nil
	}
	text, err := fs.ReadFile(l.from, path.Join(l.name, name))
	if err != nil {
		l.bad(name, 0, "cannot be read: "+cause(err), "make it readable")
		return nil
	}
	if len(text) == 0 {
		text = []byte{}
	}
	return text
}

func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// load says whether the case can be used; what is wrong is in the problems.
func (l *loader) load() (Case, bool) {
	before := len(l.problems.List)
	c := Case{Name: l.name}
	if !caseName().MatchString(path.Base(l.name)) {
		l.bad("", 0, "is no name for a case", "use letters, digits, dot, dash and underscore")
		return c, false
	}
	text := l.file(expectedFile, false)
	context := l.file(contextFile, false)
	if c.Context = strings.TrimSpace(string(context)); context != nil && c.Context == "" {
		l.bad(contextFile, 0, "is empty", "write what the phase was to do")
	}
	said := expected{}
	if text != nil {
		said = l.expected(text)
	}
	c.Specialist, c.Language, c.Ruling = said.specialist, said.language, said.ruling
	named := l.change(&c, said.path)
	if said.badPath || len(c.Change.Files) == 0 {
		return c, false // it has been said; places cannot be checked in a change that is not known
	}
	for _, e := range said.all {
		places := append([]Place{e.Place}, e.Also...)
		if e.anywhere() {
			places = nil
		}
		for i, at := range places {
			if what := placed(c.Change, at); what != "" {
				l.bad(expectedFile, e.lines[i], fmt.Sprintf("%q %s", e.ID, what), "name lines that the change shows, as it numbers them")
			}
		}
		c.Expected = append(c.Expected, e.Expectation)
	}
	if c.Ruling != nil {
		for i, f := range c.Ruling.Findings {
			if what := placed(c.Change, Place{f.File, f.Line, max(f.Line, f.EndLine)}); what != "" {
				l.bad(expectedFile, said.findingsAt[i], fmt.Sprintf("finding %d %s", i+1, what), "name lines that the change shows, as it numbers them")
			}
		}
	}
	slices.SortStableFunc(c.Expected, func(a, b Expectation) int { return strings.Compare(string(a.Must), string(b.Must)) })
	if recorded := l.file(recordedFile, true); recorded != nil {
		c.Recorded = l.recorded(recorded)
	}
	sum := sha256.New()
	for _, part := range [][]byte{text, context, named} {
		fmt.Fprintf(sum, "%d\n", len(part))
		sum.Write(part)
	}
	c.Hash = hex.EncodeToString(sum.Sum(nil))[:16]
	return c, len(l.problems.List) == before
}

// change reads code.* or change.diff into c, and returns what it read.
func (l *loader) change(c *Case, name string) []byte {
	entries, err := fs.ReadDir(l.from, l.name)
	if err != nil {
		l.bad("", 0, "cannot be read: "+cause(err), "make it readable")
		return nil
	}
	var found []string
	for _, e := range entries {
		if n := e.Name(); n == diffFile || strings.HasPrefix(n, "code.") {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		what := "has neither code.* nor " + diffFile
		if len(found) > 1 {
			what = "has " + strings.Join(found, " and ")
		}
		l.bad("", 0, what, "give it one of them: a new file, or a patch")
		return nil
	}
	text := l.file(found[0], false)
	switch {
	case text == nil:
	case len(bytes.TrimSpace(text)) == 0:
		l.bad(found[0], 0, "is empty", "write the change")
	case found[0] == diffFile && name != "":
		l.bad(expectedFile, 0, "has a path beside "+diffFile, "remove it: the patch names its files")
	case found[0] == diffFile:
		if c.Change, err = readPatch(text); err != nil {
			l.bad(diffFile, 0, err.Error(), "write it as git diff does")
		}
	default:
		if name == "" {
			name = found[0]
		}
		c.Change, c.Content = newFile(name, text), map[string][]byte{name: text}
	}
	return text
}

// Pick are the cases of the named specialists, or all when none is named.
func Pick(cases []Case, specialists []string) []Case {
	if len(specialists) == 0 {
		return cases
	}
	return slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !slices.Contains(specialists, c.Specialist) })
}
