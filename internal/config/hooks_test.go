package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
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

// hooksOfProject are the hooks of a project whose hooks file has this text, or
// what is wrong with it.
func hooksOfProject(t *testing.T, hooks string) ([]work.Hook, string) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, ".forge"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".forge", "hooks.toml"), []byte(hooks), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Load(Sources{ProjectDir: root})
	if err != nil {
		return nil, err.Error()
	}
	return cfg.Hooks(), ""
}

func TestHooksAreRead(t *testing.T) {
	got, wrong := hooksOfProject(t, `
[[hooks]]
event = "pre_phase"
match = "database-*"
command = "./may-we.sh"
working_dir = "scripts"
timeout_secs = 60
description = "asks"
[[hooks]]
event = "OnApproval"
command = "x"
enabled = false
[[hooks]]
event = "after_merge"
command = "./tell.sh"
sandbox = true
`)
	want := []work.Hook{
		{Event: work.HookBeforePhase, Match: "database-*", Kind: work.HookCommand, Command: "./may-we.sh", Dir: "scripts", TimeoutSecs: 60, At: ".forge/hooks.toml:2"},
		{Event: work.HookAfterMerge, Kind: work.HookCommand, Command: "./tell.sh", TimeoutSecs: work.HookTimeoutSecs, At: ".forge/hooks.toml:13"},
	}
	if wrong != "" || !slices.Equal(got, want) {
		t.Errorf("read %+v\n%s\nwant %+v", got, wrong, want)
	}
}

// The user's own hooks come first, and they alone may leave the sandbox. Those of
// forge.toml stand under the names that the Rust Forge reads.
func TestHooksOfEachFile(t *testing.T) {
	cfg, _ := hooksIn(t, "[[hooks.hooks]]\nevent = \"before_run\"\ncommand = \"b\"\n[[hooks.definitions]]\nevent = \"before_run\"\ncommand = \"a\"\n",
		"[[hooks.definitions]]\nevent = \"before_run\"\ncommand = \"mine\"\nsandbox = false\n",
		map[string]string{hooksFile: "[[hooks]]\nevent = \"before_run\"\ncommand = \"c\"\n"})
	var got []string
	for _, h := range cfg.Hooks() {
		got = append(got, fmt.Sprint(h.Command, h.Outside))
	}
	if want := []string{"minetrue", "afalse", "bfalse", "cfalse"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	_, wrong := hooksOfProject(t, "[[hooks]]\nevent = \"before_run\"\ncommand = \"c\"\nsandbox = false\n")
	if !strings.Contains(wrong, ".forge/hooks.toml:4: a project's hook cannot leave the sandbox") {
		t.Errorf("a project's hook leaves the sandbox: %s", wrong)
	}
}

// Every word of the Rust Forge for a point is one of this one.
func TestHookEventsOfTheRustForge(t *testing.T) {
	for word, want := range map[string]work.HookEvent{
		"pre_phase": work.HookBeforePhase, "PrePhase": work.HookBeforePhase, "prephase": work.HookBeforePhase, "post_phase": work.HookAfterPhase,
		"pre_iteration": work.HookBeforeIteration, "post_iteration": work.HookAfterIteration, "on_failure": work.HookOnFailure, "onapproval": work.HookOnApproval,
		"on_approval": work.HookOnApproval,
	} {
		if got, ok := work.ParseHookEvent(word); !ok || got != want {
			t.Errorf("%s is %q, %v; want %q", word, got, ok, want)
		}
	}
	for _, word := range []string{"", "pre", "sometimes", "pre_merge_request", "before", "phase"} {
		if got, ok := work.ParseHookEvent(word); ok {
			t.Errorf("%q is %q", word, got)
		}
	}
}

// All that is wrong with a file is said together, each with its line.
func TestHooksThatAreWrong(t *testing.T) {
	for name, tt := range map[string]struct {
		hooks string
		want  []string
	}{
		"no TOML":           {"[[hooks]\n", []string{":2: broken TOML"}},
		"another section":   {"[hook]\nevent = \"x\"\n", []string{":1: unknown key hook"}},
		"another form":      {"hooks = \"./x\"\n", []string{":1: hooks is a string, want a list"}},
		"no tables":         {"hooks = [\"./x\"]\n", []string{":1: hooks[0] is a string, want a table"}},
		"nothing in it":     {"[[hooks]]\n", []string{":1: a hook has no event", ":1: a hook of type command has no command"}},
		"an unknown event":  {"[[hooks]]\nevent = \"before_phas\"\ncommand = \"x\"\n", []string{`:2: event is "before_phas"`, `did you mean "before_phase"?`}},
		"an unknown type":   {"[[hooks]]\nevent = \"pre_phase\"\ntype = \"lua\"\ncommand = \"x\"\n", []string{`:3: type is "lua"`}},
		"an unknown key":    {"[[hooks]]\nevent = \"pre_phase\"\ncomand = \"x\"\n", []string{":3: a hook has the unknown key comand", "has no command"}},
		"an empty command":  {"[[hooks]]\nevent = \"pre_phase\"\ncommand = \" \"\n", []string{":3: command is empty"}},
		"both":              {"[[hooks]]\nevent = \"pre_phase\"\ncommand = \"x\"\nprompt = \"y\"\n", []string{":4: a hook of type command has a prompt"}},
		"a prompt that no":  {"[[hooks]]\nevent = \"pre_phase\"\ntype = \"prompt\"\n", []string{":1: a hook of type prompt has no prompt"}},
		"other types":       {"[[hooks]]\nevent = 1\ncommand = 2\nmatch = 3\ntimeout_secs = \"4\"\nenabled = \"no\"\nworking_dir = 5\n", []string{":2: event", ":3: command", ":4: match", ":5: timeout_secs", ":6: enabled", ":7: working_dir"}},
		"no time":           {"[[hooks]]\nevent = \"pre_phase\"\ncommand = \"x\"\ntimeout_secs = 0\n", []string{":4: timeout_secs is 0"}},
		"no glob":           {"[[hooks]]\nevent = \"pre_phase\"\ncommand = \"x\"\nmatch = \"[\"\n", []string{":4: match is not a glob"}},
		"a glob of the run": {"[[hooks]]\nevent = \"before_run\"\ncommand = \"x\"\nmatch = \"a\"\n", []string{":4: match names phases"}},
		"out of the root":   {"[[hooks]]\nevent = \"pre_phase\"\ncommand = \"x\"\nworking_dir = \"../y\"\n", []string{":4: working_dir"}},
		"two hooks":         {"[[hooks]]\nevent = \"x\"\ncommand = \"x\"\n[[hooks]]\nevent = \"pre_phase\"\n", []string{":2: event", ":4: a hook of type command has no command"}},
	} {
		got, wrong := hooksOfProject(t, tt.hooks)
		for _, want := range tt.want {
			if !strings.Contains(wrong, want) {
				t.Errorf("%s: %q is not said:\n%s\n%v", name, want, wrong, got)
			}
		}
	}
}

// What cannot be run holds unattended work, and nothing else does.
func TestHooksHoldUnattendedWork(t *testing.T) {
	free, asks := gates.Policy{}, gates.Policy{}
	for name, p := range map[string]*gates.Policy{"autonomous": &free, "interactive": &asks} {
		*p, _ = gates.Preset(name)
	}
	const swarm = "[[hooks.definitions]]\nevent = \"%s\"\ntype = \"swarm\"\nswarm_strategy = \"adaptive\"\n"
	const prompt = "[[hooks.definitions]]\nevent = \"pre_phase\"\ntype = \"prompt\"\nprompt = \"may we?\"\n"
	for name, tt := range map[string]struct {
		project string
		at      string // where it is said; "" = nothing holds
	}{
		"none":                       {"", ""},
		"an empty section":           {"[hooks]\n", ""},
		"a command":                  {"[[hooks.definitions]]\nevent = \"pre_phase\"\ncommand = \"./x\"\n", ""},
		"a swarm":                    {fmt.Sprintf(swarm, "pre_phase"), ".forge/forge.toml:1"},
		"a swarm after an iteration": {"\n" + fmt.Sprintf(swarm, "post_iteration"), ".forge/forge.toml:2"},
		"a swarm after a failure":    {fmt.Sprintf(swarm, "on_failure"), ""},
		"a swarm that is off":        {fmt.Sprintf(swarm, "pre_phase") + "enabled = false\n", ""},
		"a question to nobody":       {prompt, ".forge/forge.toml:1"},
		"a question to a model":      {prompt + "[llm]\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n", ""},
	} {
		cfg, said := hooksIn(t, tt.project, "", map[string]string{})
		err := CheckHooks(cfg, free, false)
		var problems *Problems
		if held := errors.As(err, &problems); held != (tt.at != "") || held && !strings.HasPrefix(err.Error(), tt.at) {
			t.Errorf("%s: %v, want one at %q", name, err, tt.at)
		}
		if tt.at != "" && (!strings.Contains(said, tt.at) || !strings.Contains(said, "nothing holds the work") || !strings.Contains(err.Error(), "hooks.ignore") || len(cfg.Hooks()) > 0) {
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
		inCI, _ := hooksIn(t, tt.project, "", map[string]string{}, "CI=true")
		if err := CheckHooks(inCI, asks, false); (err != nil) != (tt.at != "") {
			t.Errorf("%s, in CI: %v", name, err)
		}

		// The owner does without them, whatever they are.
		ignored, _ := hooksIn(t, tt.project, "[hooks]\nignore = true\n", map[string]string{})
		if err := CheckHooks(ignored, free, true); err != nil || len(ignored.Hooks()) > 0 {
			t.Errorf("%s, ignored: %v, %v", name, err, ignored.Hooks())
		}
		byVariable, _ := hooksIn(t, tt.project, "", map[string]string{}, "FORGE_IGNORE_HOOKS=true")
		if err := CheckHooks(byVariable, free, true); err != nil || len(byVariable.Hooks()) > 0 {
			t.Errorf("%s, ignored by a variable: %v", name, err)
		}
	}

	// So are mistakes, each with a word about it.
	ignored, said := hooksIn(t, "", "[hooks]\nignore = true\n", map[string]string{hooksFile: "[[hooks]]\nevent = \"x\"\n"})
	if len(ignored.Hooks()) > 0 || !strings.Contains(said, ".forge/hooks.toml:2: event is") || !strings.Contains(said, "hooks.ignore is set") {
		t.Errorf("ignored: %s", said)
	}
}

// A project cannot say of itself that its gates may be left out.
func TestAProjectCannotIgnoreItsHooks(t *testing.T) {
	_, _, err := load(t, "[hooks]\nignore = true\n[[hooks.definitions]]\nevent = \"pre_phase\"\ncommand = \"x\"\n")
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
