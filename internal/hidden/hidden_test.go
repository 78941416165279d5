package hidden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{
		File:         "[[check]]\nname = \"large\"\ncommand = \"sh h/large.sh\"\nsay = \" amounts above  1000 are wrong \"\n[[check]]\ncommand = \"sh h/api.sh\"\nphases = [\"05\", \"api-*\"]\n",
		"h/large.sh": "exit 0\n", "h/api.sh": "exit 0\n", ".git/config": "x",
	})
	f, problems := Load(dir)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(f.Files) != 2 || string(f.Files["h/large.sh"]) != "exit 0\n" {
		t.Errorf("the files are %v", f.Files)
	}
	for _, c := range []struct {
		number, name string
		want         int
	}{{"01", "core", 1}, {"05", "core", 2}, {"02", "api-list", 2}} {
		if got := len(f.Of(c.number, c.name)); got != c.want {
			t.Errorf("%d checks are about phase %s %s, want %d", got, c.number, c.name, c.want)
		}
	}
	if heard := f.Checks[0].Heard(); heard != "amounts above 1000 are wrong" {
		t.Errorf("heard is %q", heard)
	}
	if heard := f.Checks[1].Heard(); heard == "" || strings.Contains(heard, "api") {
		t.Errorf("of a check that says nothing, heard is %q", heard)
	}
	was := f.Sum()
	if err := os.WriteFile(filepath.Join(dir, "h/api.sh"), []byte("exit 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, _ = Load(dir); f.Sum() == was {
		t.Error("a file changed, and the sum did not")
	}
}

// Everything that is wrong is said at once, with its line and the way out.
func TestLoadSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing there":  {map[string]string{"a.sh": ""}, []string{File + ": cannot be read: no such file"}},
		"no checks":      {map[string]string{File: ""}, []string{"0 checks"}},
		"not TOML":       {map[string]string{File: "\ncheck = = 1\n"}, []string{File + ":2: is not what it should be"}},
		"another shape":  {map[string]string{File: "check = \"make\"\n"}, []string{"is not what it should be"}},
		"several things": {map[string]string{File: "[[check]]\nsay = \"x\"\ncomand = \"make\"\n\n[[check]]\ncommand = \"make\"\nphases = [\"[\"]\n"}, []string{":3: unknown key check.comand", ":1: a check without a command", ":5: \"[\" is not a glob"}},
		"a long word":    {map[string]string{File: "[[check]]\ncommand = \"make\"\nsay = \"" + strings.Repeat("x", 600) + "\"\n"}, []string{":1: what the agent hears is 600 bytes long"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Load(folder(t, c.files))
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
				if p.Fix == "" {
					t.Errorf("%s: no way out", p)
				}
			}
			text := strings.Join(all, "\n")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the problems are\n%s\nwant %q", text, want)
				}
			}
			if len(problems) != len(c.want) {
				t.Errorf("%d problems, want %d:\n%s", len(problems), len(c.want), text)
			}
		})
	}
	t.Run("a link", func(t *testing.T) {
		dir := folder(t, map[string]string{File: "[[check]]\ncommand = \"make\"\n"})
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, "p")); err != nil {
			t.Fatal(err)
		}
		if _, problems := Load(dir); len(problems) != 1 || !strings.Contains(problems[0].String(), "no regular file") {
			t.Errorf("the problems are %v", problems)
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add("[[check]]\ncommand = \"make\"\nsay = \"x\"\nphases = [\"0*\"]\n")
	f.Add("[check]\n")
	f.Fuzz(func(t *testing.T, text string) {
		folder, problems := Load(folder(t, map[string]string{File: text}))
		if len(problems) > 0 {
			return
		}
		for _, c := range folder.Checks {
			if strings.TrimSpace(c.Command) == "" || strings.ContainsAny(c.Heard(), "\n") || c.Heard() == "" {
				t.Errorf("accepted %+v", c)
			}
		}
	})
}
