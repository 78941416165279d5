package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/gobwas/glob"

	"forge/internal/filetree"
)

// settingError is a word of [worktree] that cannot be followed: a result of
// setup, not a fault of Forge's.
type settingError struct{ what string }

func (e *settingError) Error() string { return e.what }

func badSetting(format string, args ...any) error {
	return &settingError{what: fmt.Sprintf(format, args...)}
}

// pattern is one glob of [worktree] over paths with slashes, from the top of
// the tree: * and ? stay within a name, ** spans any number of directories,
// also none. A directory that it names stands for all that is in it.
type pattern struct {
	text  string
	globs []*glob.Pattern
	start string // the directories before the first special character
	depth int    // most names in a matching path; 0 = any number
}

// maxSpans bounds the ** of one pattern: each doubles what is compiled.
const maxSpans = 5

// compile reads the globs of the setting called name.
func compile(name string, texts []string) ([]pattern, error) {
	var all []pattern
	for _, text := range texts {
		p := pattern{text: text, start: "."}
		clean := strings.Trim(strings.TrimPrefix(text, "./"), "/")
		names := strings.Split(clean, "/")
		for _, n := range names {
			if n == ".." || n == "." || n == "" {
				return nil, badSetting("%s: %q is not a path inside the checkout", name, text)
			}
		}
		if names[0] == ".git" {
			return nil, badSetting("%s: %q is inside .git", name, text)
		}
		if strings.Count(clean, "**") > maxSpans {
			return nil, badSetting("%s: %q has more than %d **", name, text, maxSpans)
		}
		for _, v := range variants(clean) {
			g, err := glob.Compile(v, '/')
			if err != nil {
				return nil, badSetting("%s: %q is not a glob: %v", name, text, err)
			}
			p.globs = append(p.globs, g)
		}
		for i, n := range names {
			if strings.ContainsAny(n, `*?[]{}\`) {
				break
			}
			p.start = path.Join(names[:i+1]...)
		}
		// A slash inside {a,b/c} makes the count of names say nothing.
		if !strings.Contains(clean, "**") && !strings.Contains(clean, "{") {
			p.depth = len(names)
		}
		all = append(all, p)
	}
	return all, nil
}

// variants returns text with each **/ there and left out, since the library's
// ** does not match "no directory" together with the slash after it.
func variants(text string) []string {
	all := []string{text}
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], "**/") && (i == 0 || text[i-1] == '/') {
			for _, rest := range variants(text[i+len("**/"):]) {
				all = append(all, text[:i]+"**/"+rest, text[:i]+rest)
			}
			break
		}
	}
	return all
}

// match returns the paths below root that p names, directories without what
// is in them. Links are not followed.
func (p pattern) match(root *os.Root) ([]string, error) {
	if _, err := root.Lstat(p.start); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, badSetting("%q cannot be followed inside the checkout: %v", p.text, err)
	}
	var found []string
	err := filetree.Walk(root, p.start, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			// Another program works in the user's checkout at the same time.
			if errors.Is(err, fs.ErrNotExist) && at != p.start {
				return nil
			}
			return err
		}
		if at == ".git" {
			return filetree.Skip(d)
		}
		if at != "." && p.matches(at) {
			found = append(found, at)
			return filetree.Skip(d)
		}
		if d.IsDir() && at != "." && p.depth > 0 && strings.Count(at, "/")+1 >= p.depth {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

func (p pattern) matches(at string) bool {
	for _, g := range p.globs {
		if g.Match(at) {
			return true
		}
	}
	return false
}
