package git

import (
	"errors"
	"strings"
	"testing"
)

// What a person edits, adds and deletes is in one commit in their name; nothing
// else is touched, and modes are kept.
func TestEdit(t *testing.T) {
	b := newBed(t, files{"a": "a\n", "d/b": "b\n", "run": "! x\n", "link": "-> a", "old/only": "o\n"})
	id, err := b.Edit(b.ctx, b.base, []FileEdit{
		{Path: "run", Content: []byte("y\n")}, {Path: "d/b", Delete: true}, {Path: "old/only", Delete: true},
		{Path: "new/ü x.md", Content: []byte("n\r\n")}, {Path: "empty"}, {Path: "old", Content: []byte("a file now\n")},
	}, "Olga <o>", "by hand\n", "refs/forge/runs/x/edit")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "files", b.tree(id), files{"a": "a\n", "run": "! y\n", "link": "-> a", "new/ü x.md": "n\r\n", "empty": "", "old": "a file now\n"})
	if got := b.ownGit("log", "-1", "--format=%an %ae %P %s", id); got != "Olga o Olga.o@localhost "+b.base+" by hand" {
		t.Errorf("the commit is %q", got)
	}
	if same, err := b.Edited(b.ctx, b.base, []FileEdit{{Path: "a", Content: []byte("a\n")}}); err != nil || same != b.base {
		t.Errorf("an edit that changes nothing: %s, %v", same, err)
	}
}

// No edit reaches what it does not name: nothing out of the repository, below a
// link or a file, in git's own folder, or another file on a file system that
// does not tell cases apart.
func TestEditsThatAreRefused(t *testing.T) {
	b := newBed(t, files{"a": "a\n", "Makefile": "all:\n", "src/Main.go": "m\n", "link": "-> /etc", ".forge/forge.toml": "x = 1\n", "Straße/k": "k\n"})
	for what, paths := range map[string][]string{
		"no path within the repository": {"../x", "/etc/x", "a/../../x", "a//b", "./x", "x/", `src\x`, "src/../x", `..\x`},
		"no path for a new file":        {"", ".", "\xff", strings.Repeat("a/", 600) + "b"},
		"nobody sees":                   {"x\x00y", "a\nb", "x\u202ey", ".g\u200cit/config", "tab\t"},
		"git keeps for itself":          {".git", ".git/config", "src/.GIT/hooks/x", "GIT~1/config", ".git./x", ".git /x", ".Git:stream/x", "src/.git"},
		"by case alone":                 {"makefile", "SRC/x.go", "src/main.go", "stra\u1e9ee/x"},
		"is no folder":                  {"link/x", "a/b", "makefile/x", "src/main.go/x"},
		"is the folder":                 {"src", "SRC", ".forge"},
		".forge by another name":        {".Forge/forge.toml", ".FORGE"},
		"a name":                        {"...", "x/ y", "x ", strings.Repeat("n", 300)},
	} {
		for _, path := range paths {
			_, err := b.Edit(b.ctx, b.base, []FileEdit{{Path: path, Content: []byte("x\n")}}, "me", "m\n", "")
			var wrong *EditError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), what) {
				t.Errorf("%q: %v, want that it %s", path, err, what)
			}
		}
	}
	for name, edits := range map[string][]FileEdit{
		"delete what is not there":   {{Path: "none", Delete: true}},
		"delete a folder":            {{Path: "src", Delete: true}},
		"delete a link":              {{Path: "link", Delete: true}},
		"edit a link":                {{Path: "link", Content: []byte("x")}},
		"below what was added":       {{Path: "new", Content: []byte("x")}, {Path: "new/x", Content: []byte("x")}},
		"above what was added":       {{Path: "new/x", Content: []byte("x")}, {Path: "new", Content: []byte("x")}},
		"what was added, other case": {{Path: "new", Content: []byte("x")}, {Path: "NEW", Content: []byte("x")}},
		"a letter that is a kelvin":  {{Path: "Stra\u00dfe/\u212a", Content: []byte("x")}},
	} {
		var wrong *EditError
		if _, err := b.Edited(b.ctx, b.base, edits); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What makes room is no hindrance.
	if _, err := b.Edited(b.ctx, b.base, []FileEdit{{Path: "Makefile", Delete: true}, {Path: "makefile", Content: []byte("x")}, {Path: "a", Delete: true}, {Path: "a/b", Content: []byte("x")}}); err != nil {
		t.Error(err)
	}
}
