package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"forge/internal/work"
)

func TestGeminiArgs(t *testing.T) {
	for name, c := range map[string]struct {
		s           setting
		has, hasNot []string
		rules       int // of the policy, 0 = there is none
		wantError   bool
	}{
		"standard":   {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Verify: []string{"go test ./...", "a\nb", "ä", "make test"}}}, has: []string{"--approval-mode=auto_edit", "--session-id=", "--skip-trust"}, hasNot: []string{"--resume", "--model"}, rules: 5},
		"sandboxed":  {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionAutonomous}}, has: []string{"--approval-mode=yolo"}},
		"skip":       {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Agent: work.AgentSettings{SkipPermission: true}}}, has: []string{"--approval-mode=yolo"}},
		"readonly":   {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionReadonly, Verify: []string{"make"}, Agent: work.AgentSettings{SkipPermission: true}}}, has: []string{"--approval-mode=default"}, rules: 2},
		"continued":  {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionStandard, Session: "S1", Model: "pro", Agent: work.AgentSettings{Model: "flash", Args: []string{"--debug"}}}}, has: []string{"--resume=S1", "--model=pro", "--debug"}, hasNot: []string{"--session-id"}},
		"no mode":    {wantError: true},
		"wrong mode": {s: setting{req: work.IterationRequest{Permission: "strict"}}, wantError: true},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			c.s.environ = newEnviron(nil, home)
			l := launch{readFiles: map[string]string{}}
			args, err := geminiArgs(c.s, &l)
			if (err != nil) != c.wantError {
				t.Fatal(err)
			}
			line := strings.Join(args, " ")
			for _, want := range c.has {
				if !strings.Contains(line, want) {
					t.Errorf("no %q in %s", want, line)
				}
			}
			for _, not := range c.hasNot {
				if strings.Contains(line, not) {
					t.Errorf("%q in %s", not, line)
				}
			}
			_, file, limited := strings.Cut(line, "--admin-policy=")
			if limited != (c.rules > 0) {
				t.Fatalf("a policy in %s", line)
			}
			if !limited {
				return
			}
			file, _, _ = strings.Cut(file, " ")
			var policy struct {
				Rule []geminiRule `toml:"rule"`
			}
			if _, err := toml.DecodeFile(file, &policy); err != nil || len(policy.Rule) != c.rules || policy.Rule[0].Decision != "deny" || l.readFiles[file] != file {
				t.Errorf("policy %+v, %v", policy, err)
			}
			if filepath.Dir(file) != filepath.Join(home, ".gemini", "forge") {
				t.Errorf("the policy stands in %s", file)
			}
		})
	}
}

// A rule is the command to the letter, whatever a pattern could make of it.
func TestGeminiRules(t *testing.T) {
	rules := geminiRules(work.IterationRequest{Verify: []string{` grep -E "a.(b|c)*" <x> & [d] `}})
	got := rules[len(rules)-1].Args
	if want := `\x00"command":"grep -E \\"a\.\(b\|c\)\*\\" <x> & \[d\]"\x00`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(geminiRules(work.IterationRequest{Permission: work.PermissionReadonly, Verify: []string{"make"}})) != 2 {
		t.Error("a readonly phase runs commands")
	}
}

func TestGeminiNeedsAHomeForItsPolicy(t *testing.T) {
	_, err := geminiArgs(setting{req: work.IterationRequest{Permission: work.PermissionReadonly}}, &launch{readFiles: map[string]string{}})
	if err == nil {
		t.Error("it runs without a policy")
	}
}

// In a sandbox the agent has a home of its own; of the user's it sees the
// login and the settings, and what it put in the way does not lead elsewhere.
func TestGeminiStore(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".gemini", "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(home, ".gemini", "settings.json")
	write(t, settings, "{}", 0o600)
	program := filepath.Join(home, "gemini")
	write(t, program, "#!/bin/sh\n", 0o755)
	launched := func() (launch, error) {
		return launchGemini(setting{sandboxed: true, environ: newEnviron(nil, home), req: work.IterationRequest{
			Dir: dir, Permission: work.PermissionStandard, Agent: work.AgentSettings{Command: []string{program}}}})
	}
	l, err := launched()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.write) != 1 || filepath.Dir(l.write[0]) != filepath.Join(home, ".gemini", "forge") || !slices.Contains(l.set, "GEMINI_CLI_HOME="+l.write[0]) {
		t.Fatalf("writable %q, set %q", l.write, l.set)
	}
	link := filepath.Join(l.write[0], ".gemini", "settings.json")
	if to, err := os.Readlink(link); err != nil || l.readFiles[to] != to {
		t.Errorf("the settings are %q, %v, shown %q", to, err, l.readFiles)
	}
	for path := range l.readFiles {
		if strings.Contains(path, "oauth") {
			t.Errorf("%s is shown, and not there", path)
		}
	}
	// The agent puts a link in the place of a folder.
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "settings.json"), "of somebody else", 0o600)
	if err := os.RemoveAll(filepath.Dir(link)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Dir(link)); err != nil {
		t.Fatal(err)
	}
	_, err = launched()
	if b, _ := os.ReadFile(filepath.Join(elsewhere, "settings.json")); string(b) != "of somebody else" || err == nil {
		t.Errorf("Forge wrote where the agent's link leads: %q, %v", b, err)
	}
}

func TestGeminiLogin(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		files    []string
		environ  []string
		want     Login
	}{
		"nothing":              {"", nil, nil, LoginNo},
		"a key":                {"", nil, []string{"GEMINI_API_KEY=k"}, LoginYes},
		"a key, a base URL":    {"", nil, []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=u"}, LoginNo},
		"the same, chosen":     {geminiSelectedKey, nil, []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=u"}, LoginYes},
		"chosen, no key":       {geminiSelectedKey, nil, nil, LoginUnknown},
		"chosen, a file":       {geminiSelectedKey, []string{".env"}, nil, LoginUnknown},
		"a login":              {`{"security":{"auth":{"selectedType":"oauth-personal"}}}`, []string{"oauth_creds.json"}, nil, LoginYes},
		"a login that is lost": {`{"security":{"auth":{"selectedType":"oauth-personal"}}}`, nil, nil, LoginUnknown},
		"Vertex":               {"", nil, []string{"GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=l"}, LoginYes},
		"half of Vertex":       {"", nil, []string{"GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_CLOUD_PROJECT=p"}, LoginNo},
		"a way of the future":  {`{"selectedType": "telepathy"}`, nil, nil, LoginUnknown},
		"only a file":          {"", []string{".env"}, nil, LoginUnknown},
	} {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, ".gemini"), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.settings != "" {
			c.files = append(c.files, "settings.json")
		}
		for _, f := range c.files {
			write(t, filepath.Join(home, ".gemini", f), c.settings, 0o600)
		}
		got, why := geminiLogin(work.AgentSettings{}, newEnviron(c.environ, home))
		if got != c.want || (got != LoginYes) != (why != "") {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

const geminiSelectedKey = "{\n  // chosen by hand\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}\n}"

func TestGeminiPrompt(t *testing.T) {
	for prompt, want := range map[string]string{"": "", "Do it.": "Do it.", "/quit": "\n/quit", "a/b": "a/b"} {
		if got := geminiPrompt(prompt); got != want {
			t.Errorf("%q became %q", prompt, got)
		}
	}
}
