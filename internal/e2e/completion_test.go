package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
)

// offerings are what a shell is to offer for a line.
var offerings = []struct {
	words []string // the last one is being typed
	want  []string // among others, unless only
	not   string
	only  bool
}{
	{[]string{"sta"}, []string{"status"}, "resume", false},
	{[]string{"config", ""}, []string{"show", "validate", "schema"}, "run", false},
	{[]string{"completion", ""}, []string{"bash", "fish", "zsh"}, "", true},
	{[]string{"status", "--w"}, []string{"--watch"}, "--all", false},
	{[]string{"status", "--"}, []string{"--watch", "--all", "--run"}, "status", false},
	{[]string{"run", "--max-p"}, []string{"--max-parallel"}, "--level", false},
	// Another command is called show as well.
	{[]string{"config", "show", "--"}, []string{"--help"}, "--stat", false},
}

// offers runs a shell that loads what forge completion prints and then script,
// with the words of each line, and holds what it prints against what is to be
// offered.
func offers(t *testing.T, shell, script string, flags ...string) {
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skip("there is no " + shell)
	}
	c := newCheckout(t, "off", map[string]string{"a.txt": "a\n"})
	c.path = c.at("bin")
	if err := os.Mkdir(c.path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.Args[0], filepath.Join(c.path, "forge")); err != nil {
		t.Fatal(err)
	}
	loaded, stderr, code := c.forge("completion", shell)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	c.write("script", loaded+script+"\n")
	for _, o := range offerings {
		out, err := c.command(path, slices.Concat(flags, []string{c.at("script"), "forge"}, o.words)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", o.words, err, out)
		}
		got := strings.Fields(string(out))
		for _, want := range o.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q: %q is not offered, but %q", o.words, want, got)
			}
		}
		if o.not != "" && slices.Contains(got, o.not) || o.only && len(got) != len(o.want) {
			t.Errorf("%q: offered are %q", o.words, got)
		}
	}
}

func TestCompletionInBash(t *testing.T) {
	pace.Sequential(t, processesAlone)
	t.Parallel()
	offers(t, "bash", `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _forge; printf '%s\n' "${COMPREPLY[@]}"`, "--norc")
}

// The function is called as within a completion, which a script cannot begin.
func TestCompletionInZsh(t *testing.T) {
	pace.Sequential(t, processesAlone)
	t.Parallel()
	offers(t, "zsh", `compadd() { print -l -- ${(M)${(@P)2}:#${words[CURRENT]}*} }; words=("$@"); CURRENT=$#; _forge`, "-f", "-c", `compdef() { }; . "$0"`)
}

func TestCompletionInFish(t *testing.T) {
	pace.Sequential(t, processesAlone)
	t.Parallel()
	offers(t, "fish", `complete -C "$argv" | string replace -r '\t.*' ''; true`, "--no-config")
}
