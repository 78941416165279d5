// Package hidden reads the checks that a project's owner keeps where no agent
// sees them: a folder out of the repository with a hidden.toml, and the files
// that its commands need. They are the one answer to work that is right only
// for the inputs that it was shown.
package hidden

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/gobwas/glob"
)

// File is the list of checks in their folder. All other files there are laid
// over the tree for as long as the checks run.
const File = "hidden.toml"

// What a folder may hold. It is read whole before each use, so that a change
// half way through is never seen.
const (
	mostBytes  = 64 << 20
	mostFiles  = 5000
	mostChecks = 100
	mostText   = 500
)

// Check is one command that has to succeed.
type Check struct {
	// Name tells checks apart for people. No agent hears it.
	Name    string `toml:"name"`
	Command string `toml:"command"`
	// Say is all that an agent hears of a check that is red.
	Say string `toml:"say"`
	// Phases are globs of the numbers and names of phases that the check is
	// about; none = all.
	Phases []string `toml:"phases"`
}

// Folder is what a folder of hidden checks holds.
type Folder struct {
	Dir    string
	Checks []Check
	Files  map[string][]byte // by slash path below Dir
}

// Problem is one thing that is wrong with a folder.
type Problem struct {
	File      string
	Line      int // 0 = not about a line
	What, Fix string
}

func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s: %s; %s", at, p.What, p.Fix)
}

// Load reads a folder, or says everything that is wrong with it.
func Load(dir string) (Folder, []Problem) {
	f := Folder{Dir: dir, Files: map[string][]byte{}}
	path := filepath.Join(dir, File)
	text, err := os.ReadFile(path)
	if err != nil {
		return f, []Problem{{File: path, What: "cannot be read: " + cause(err), Fix: "write the checks there, or take the folder out of proof.hidden"}}
	}
	var doc struct {
		Check []Check `toml:"check"`
	}
	md, err := toml.Decode(string(text), &doc)
	if err != nil {
		line, what := 0, err.Error()
		if parse := (toml.ParseError{}); errors.As(err, &parse) {
			line, what = parse.Position.Line, parse.Message
		}
		return f, []Problem{{File: path, Line: line, What: "is not what it should be: " + what, Fix: `write [[check]] with command = "…" and say = "…"`}}
	}
	problems := unknown(path, string(text), md)
	f.Checks = doc.Check
	problems = append(problems, f.judge(path, string(text))...)
	if problem := f.read(); problem != nil {
		problems = append(problems, *problem)
	}
	return f, problems
}

// unknown are the keys that nothing here reads.
func unknown(path, text string, md toml.MetaData) []Problem {
	var out []Problem
	for _, key := range md.Undecoded() {
		out = append(out, Problem{
			File: path, Line: lineOf(text, key[len(key)-1]), What: "unknown key " + key.String(),
			Fix: "a [[check]] has name, command, say and phases",
		})
	}
	return out
}

// lineOf is the first line that begins with a key, 0 = none does.
func lineOf(text, key string) int {
	for i, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), key); ok && strings.HasPrefix(strings.TrimSpace(rest), "=") {
			return i + 1
		}
	}
	return 0
}

// judge says what is wrong with the checks.
func (f *Folder) judge(path, text string) []Problem {
	var out []Problem
	lines := tables(text)
	wrong := func(i int, what, fix string) {
		p := Problem{File: path, What: what, Fix: fix}
		if i < len(lines) {
			p.Line = lines[i]
		}
		out = append(out, p)
	}
	if len(f.Checks) == 0 || len(f.Checks) > mostChecks {
		wrong(len(lines), fmt.Sprintf("%d checks", len(f.Checks)), fmt.Sprintf("write 1 to %d of [[check]]", mostChecks))
	}
	for i := range f.Checks {
		c := &f.Checks[i]
		c.Say = strings.Join(strings.Fields(c.Say), " ")
		if strings.TrimSpace(c.Command) == "" {
			wrong(i, "a check without a command", `write command = "…"`)
		}
		if len(c.Say) > mostText {
			wrong(i, fmt.Sprintf("what the agent hears is %d bytes long", len(c.Say)), fmt.Sprintf("write at most %d", mostText))
		}
		for _, g := range c.Phases {
			if _, err := glob.Compile(g); err != nil {
				wrong(i, fmt.Sprintf("%q is not a glob: %v", g, err), `write such as "05" or "api-*"`)
			}
		}
	}
	return out
}

// tables are the lines on which a check begins.
func tables(text string) []int {
	var out []int
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.ReplaceAll(line, " ", ""), "[[check]]") {
			out = append(out, i+1)
		}
	}
	return out
}

// read takes in the files beside the list.
func (f *Folder) read() *Problem {
	left := int64(mostBytes)
	err := filepath.WalkDir(f.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.Dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || rel == File:
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is no regular file", rel)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f.Files[filepath.ToSlash(rel)] = data
		if left -= int64(len(data)); left < 0 || len(f.Files) > mostFiles {
			return fmt.Errorf("it holds more than %d files or %d MiB", mostFiles, mostBytes>>20)
		}
		return nil
	})
	if err != nil {
		return &Problem{File: f.Dir, What: "cannot be read: " + cause(err), Fix: "keep only the checks and their files in the folder"}
	}
	return nil
}

// Of are the checks that are about a phase.
func (f Folder) Of(number, name string) []Check {
	return slices.DeleteFunc(slices.Clone(f.Checks), func(c Check) bool { return !c.about(number, name) })
}

func (c Check) about(number, name string) bool {
	for _, p := range c.Phases {
		g, err := glob.Compile(p)
		if err != nil || g.Match(number) || g.Match(name) {
			// One that cannot be read leaves nothing out.
			return true
		}
	}
	return len(c.Phases) == 0
}

// Heard is what an agent is told of a check that is red.
func (c Check) Heard() string {
	if c.Say == "" {
		return "its owner says no more about it"
	}
	return c.Say
}

// Sum tells one state of a folder from another.
func (f Folder) Sum() string {
	sum := sha256.New()
	for _, c := range f.Checks {
		fmt.Fprintf(sum, "%q\n", []any{c.Command, c.Phases})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Files)) {
		fmt.Fprintf(sum, "%q %d\n", name, len(f.Files[name]))
		sum.Write(f.Files[name])
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// cause is an error without the path, which is said already.
func cause(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
