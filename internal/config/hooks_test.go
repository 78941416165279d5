package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/gates"
)

// hooksIn loads a project with a forge.toml and other files.
func hooksIn(t *testing.T, project, user string, files map[string]string, environ ...string) (*Config, string) {
	t.Helper()
	root := t.TempDir()
	files[ProjectFile] = project
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	userFile := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(userFile, []byte(user), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, warnings, err := Load(Sources{ProjectDir: root, UserFile: userFile, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range warnings {
		said = append(said, w.String())
	}
	return cfg, strings.Join(said, "\n")
}

func TestHooksHoldUnattendedWork(t *testing.T) {
	free, asks := gates.Policy{}, gates.Policy{}
	for name, p := range map[string]*gates.Policy{"autonomous": &free, "interactive": &asks} {
		*p, _ = gates.Preset(name)
	}
	const pre = "[[hooks]]\nevent = \"pre_phase\"\ncommand = \"./x\"\n"
	for name, tt := range map[string]struct {
		project, hooks string
		at             string // where it is said; "" = nothing holds
	}{
		"none":                          {"", "", ""},
		"an empty section":              {"[hooks]\n", "", ""},
		"before a phase":                {"[[hooks.definitions]]\nevent = \"pre_phase\"\n", "", ".forge/forge.toml:1"},
		"under its other name":          {"\n[[hooks.hooks]]\nevent = \"pre_iteration\"\n", "", ".forge/forge.toml:2"},
		"in a file of its own":          {"", "# ours\n" + pre, ".forge/hooks.toml:2"},
		"at an approval":                {"[[hooks.definitions]]\nevent = \"on_approval\"\n", "", ".forge/forge.toml:1"},
		"after an iteration":            {"[[hooks.definitions]]\nevent = \"post_iteration\"\ntype = \"prompt\"\n", "", ".forge/forge.toml:1"},
		"after a failure":               {"[[hooks.definitions]]\nevent = \"on_failure\"\n", "", ""},
		"switched off":                  {"[[hooks.definitions]]\nevent = \"pre_phase\"\nenabled = false\n", "", ""},
		"switched off by another word":  {"[[hooks.definitions]]\nevent = \"pre_phase\"\nenabled = \"false\"\n", "", ".forge/forge.toml:1"},
		"of an unknown event":           {"[[hooks.definitions]]\nevent = \"sometimes\"\n", "", ".forge/forge.toml:1"},
		"without an event":              {"[[hooks.definitions]]\ncommand = \"./x\"\n", "", ".forge/forge.toml:1"},
		"in another form":               {"[hooks]\npre_phase = \"./x\"\n", "", ".forge/forge.toml:2"},
		"in a list of another form":     {"[hooks]\nall = [\"./x\"]\n", "", ".forge/forge.toml:2"},
		"in a file that nobody reads":   {"", "[[hooks]\n", ".forge/hooks.toml:2"},
		"second of two, the first free": {"", "[[hooks]]\nevent = \"on_failure\"\n[[hooks]]\nevent = \"pre_phase\"\n", ".forge/hooks.toml:3"},
	} {
		files := map[string]string{}
		if tt.hooks != "" {
			files[hooksFile] = tt.hooks
		}
		cfg, said := hooksIn(t, tt.project, "", files)
		err := CheckHooks(cfg, free, false)
		var problems *Problems
		if held := errors.As(err, &problems); held != (tt.at != "") || held && !strings.HasPrefix(err.Error(), tt.at) {
			t.Errorf("%s: %v, want one at %q", name, err, tt.at)
		}
		if tt.at != "" && (!strings.Contains(said, tt.at) || !strings.Contains(said, "nothing holds the work") || !strings.Contains(err.Error(), "hooks.ignore")) {
			t.Errorf("%s: warned of\n%s\nheld by\n%v", name, said, err)
		}

		// A person starts each phase: it is said, and holds nothing, unless the
		// work is that of a job or an issue, or of CI.
		if err := CheckHooks(cfg, asks, false); err != nil {
			t.Errorf("%s, with a person: %v", name, err)
		}
		if err := CheckHooks(cfg, asks, true); (err != nil) != (tt.at != "") {
			t.Errorf("%s, of a job: %v", name, err)
		}
		inCI, _ := hooksIn(t, tt.project, "", files, "CI=true")
		if err := CheckHooks(inCI, asks, false); (err != nil) != (tt.at != "") {
			t.Errorf("%s, in CI: %v", name, err)
		}

		// The owner does without them.
		ignored, said := hooksIn(t, tt.project, "[hooks]\nignore = true\n", files)
		if err := CheckHooks(ignored, free, true); err != nil {
			t.Errorf("%s, ignored: %v", name, err)
		}
		if tt.at != "" && !strings.Contains(said, tt.at) {
			t.Errorf("%s: ignored without a word:\n%s", name, said)
		}
		byVariable, _ := hooksIn(t, tt.project, "", files, "FORGE_IGNORE_HOOKS=true")
		if err := CheckHooks(byVariable, free, true); err != nil {
			t.Errorf("%s, ignored by a variable: %v", name, err)
		}
	}
}

// A project cannot say of itself that its gates may be left out.
func TestAProjectCannotIgnoreItsHooks(t *testing.T) {
	_, _, err := load(t, "[hooks]\nignore = true\n[[hooks.definitions]]\nevent = \"pre_phase\"\n")
	if err == nil || !strings.Contains(err.Error(), "hooks.ignore cannot be set by a project") {
		t.Errorf("%v", err)
	}
}

func TestTheRestOfTheRustForgeIsNamed(t *testing.T) {
	_, said := hooksIn(t, "[factory]\nmax_running = 1\n[factory.tracker]\nkind = \"x\"\n[factory.reconciliation]\non = true\n", "", map[string]string{promptsFolder + "/implement.md": "x"})
	for _, want := range []string{".forge/forge.toml:3: [factory.tracker] is of the Rust Forge", ".forge/forge.toml:5: [factory.reconciliation] is of the Rust Forge", ".forge/prompts: is of the Rust Forge"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not said once:\n%s", want, said)
		}
	}
}
