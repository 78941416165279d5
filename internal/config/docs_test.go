package config

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/config.md, forge.toml.example and the golden files anew")

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what the code makes; run go test ./internal/config -update and look at the difference\n%s", path, firstDifference(string(want), got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "file: " + w[i] + "\ncode: " + g[i]
		}
	}
	return "one is longer"
}

func TestDocsAndExampleAreCurrent(t *testing.T) {
	golden(t, "../../docs/config.md", docsText())
	golden(t, "../../forge.toml.example", exampleFile())
}

// The example, as it stands, is a project file that loads and changes nothing.
func TestExampleLoadsAndStatesTheDefaults(t *testing.T) {
	text, err := os.ReadFile("../../forge.toml.example")
	if err != nil {
		t.Fatal(err)
	}
	withExample, warnings, err := load(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	plain, _, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(withExample.File, plain.File) {
		t.Errorf("the example changes a default:\n%s\n%s", withExample.Render(), plain.Render())
	}
}

// With every key uncommented it is a user's file that says each key of the
// settings type.
func TestExampleNamesEveryKey(t *testing.T) {
	text, err := os.ReadFile("../../forge.toml.example")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^#(\[|[a-z_]+ = )`).ReplaceAllString(string(text), "$1")
	dir := t.TempDir()
	user := filepath.Join(dir, "config.toml")
	// These contradict each other on purpose, by name or by meaning.
	all = strings.NewReplacer(
		"\nnone = false", "\nnone = true", "\ninteractive = true", "\n# interactive = true",
		"\nkind = \"machine\"", "\nkind = \"container\"", "\nkind = \"exec\"", "\nkind = \"script\"", `"./agent.sh"`, `"/agent.sh"`, `"script.toml"`, `"/script.toml"`,
		`"docs/handbook"`, `"/docs/handbook"`, "\ncommand = [\"./tools/", "\n# command = [\"./tools/", "\nurl = \"https://example.com/", "\n# url = \"https://example.com/",
	).Replace(all)
	write(t, user, all)
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys() {
		if isSection(k) || k.Name() == "phases" || k.Type == "table" || k.Name() == "planning.interactive" {
			continue
		}
		name := k.Name()
		for glob, real := range map[string]string{
			"agents." + named: "agents.reviewed", "phases.overrides." + named: "phases.overrides.database-*",
			"trust.projects." + named: "trust.projects./home/me/project", "datasources." + named: "datasources.handbook", "trackers." + named: "trackers.work", "factory.labels." + named: "factory.labels.large", "council.workers." + named: "council.workers.claude",
			"workspace.repositories." + named: "workspace.repositories.api",
		} {
			name = strings.Replace(name, glob+".", real+".", 1)
		}
		// A source has one of path, command and url.
		found := k.Path[0] == "datasources" && strings.Contains(string(text), "\n#"+k.Path[2]+" = ")
		for _, l := range cfg.layers {
			path := strings.Split(strings.ReplaceAll(name, "[]", element(0)), ".")
			if l.kind == layerUser && l.index.has(path...) {
				found = true
			}
		}
		if !found {
			t.Errorf("forge.toml.example does not name %s", k.Name())
		}
	}
}

func TestKeysAreDocumented(t *testing.T) {
	for _, k := range Keys() {
		if k.Doc == "" {
			t.Errorf("%s has no doc", k.Name())
		}
		if k.Type == "anything" && !k.Unused {
			t.Errorf("%s takes anything", k.Name())
		}
		if !isSection(k) && k.Name() != "phases" && k.Default == "" && k.Sample == "" && k.Type != "table" {
			t.Errorf("%s has neither default nor sample", k.Name())
		}
	}
}
