package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDetectProject(t *testing.T) {
	for _, tt := range []struct {
		name          string
		files         map[string]string
		verify, setup string
	}{
		{"nothing", nil, "", ""},
		{"go", map[string]string{"go.mod": "module x\n"}, "go test ./...", ""},
		{"rust", map[string]string{"Cargo.toml": ""}, "cargo test", ""},
		{"npm", map[string]string{"package.json": `{"scripts":{"test":"jest"}}`, "package-lock.json": "{}"}, "npm test", "npm ci"},
		{"npm's placeholder", map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, "", ""},
		{"without lock", map[string]string{"package.json": `{"devDependencies":{"a":"1"}}`}, "", "npm install"},
		{"pnpm", map[string]string{"package.json": `{"scripts":{"test":"vitest"}}`, "pnpm-lock.yaml": ""}, "pnpm test", "pnpm install --frozen-lockfile"},
		{"yarn", map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "yarn.lock": ""}, "yarn test", "yarn install --frozen-lockfile"},
		{"bun", map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "bun.lock": ""}, "bun run test", "bun install --frozen-lockfile"},
		{"make", map[string]string{"Makefile": "all:\n\ntest: build\n\tgo test\n", "go.mod": ""}, "make test", ""},
		{"make check", map[string]string{"Makefile": "test:\n\ncheck :\n"}, "make check", ""},
		{"make without", map[string]string{"Makefile": "test := x\nlatest:\n", "go.mod": ""}, "go test ./...", ""},
		{"make and node", map[string]string{"Makefile": "test:\n", "package.json": `{"scripts":{"test":"jest"}}`, "package-lock.json": "{}"}, "make test", "npm ci"},
		{"pytest", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest", ""},
		{"uv", map[string]string{"pyproject.toml": "x = \"pytest\"", "uv.lock": ""}, "uv run pytest", "uv sync"},
		{"poetry", map[string]string{"pytest.ini": "", "poetry.lock": ""}, "poetry run pytest", "poetry install"},
		{"requirements", map[string]string{"requirements.txt": "pytest\n"}, ".venv/bin/python -m pytest", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"},
		{"plain unittest", map[string]string{"tests/test_a.py": "import unittest\n"}, "python3 -m unittest discover -s tests", ""},
		{"unittest at the root", map[string]string{"test_a.py": "import unittest\n", "a.py": ""}, "python3 -m unittest discover", ""},
		{"plain functions", map[string]string{"tests/test_a.py": "def test_a(): pass\n"}, "python3 -m pytest", ""},
		{"rspec", map[string]string{"Gemfile": "", ".rspec": ""}, "bundle exec rspec", "bundle install"},
		{"maven", map[string]string{"pom.xml": ""}, "mvn -q test", ""},
		{"gradle", map[string]string{"gradlew": "", "build.gradle": ""}, "./gradlew test", ""},
		{"composer", map[string]string{"composer.json": "{}", "phpunit.xml.dist": ""}, "vendor/bin/phpunit", "composer install --no-interaction"},
		{"mix", map[string]string{"mix.exs": ""}, "mix test", "mix deps.get"},
		{"dotnet", map[string]string{"a.sln": ""}, "dotnet test", ""},
		{"two languages", map[string]string{"go.mod": "", "Cargo.toml": ""}, "go test ./...; cargo test", ""},
		{"broken", map[string]string{"package.json": "{"}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t, tt.files)
			p := DetectProject(dir)
			if got := joined(p.Verify); got != tt.verify {
				t.Errorf("verify %q, want %q", got, tt.verify)
			}
			if got := joined(p.Setup); got != tt.setup {
				t.Errorf("setup %q, want %q", got, tt.setup)
			}
			if p.Name != filepath.Base(dir) {
				t.Errorf("name %q", p.Name)
			}
			for _, c := range append(p.Verify, p.Setup...) {
				if c.Why == "" {
					t.Errorf("%s without a reason", c.Run)
				}
			}
			checkInit(t, p)
		})
	}
}

func joined(cs []Command) string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Run)
	}
	return strings.Join(out, "; ")
}

// What init writes loads, says what was proposed and needs no warning.
func checkInit(t *testing.T, p Proposal) {
	t.Helper()
	for _, f := range InitFiles(p, "claude") {
		if f.Path != ProjectFile {
			continue
		}
		cfg, warnings, err := load(t, f.Text)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%v %v\n%s", err, warnings, f.Text)
		}
		if len(cfg.File.Verify.Commands) != len(p.Verify) || len(cfg.File.Worktree.Setup) != len(p.Setup) || cfg.ProjectName() != p.Name {
			t.Errorf("lost something:\n%s", f.Text)
		}
	}
}

func TestInitFilesGolden(t *testing.T) {
	p := Proposal{
		Name: "shop", Verify: []Command{{"npm test", "package.json has a test script (jest \x1b[31m)"}},
		Setup: []Command{{"npm ci", "there is a package-lock.json"}}, CacheKey: []string{"package-lock.json", "package.json"},
	}
	checkInit(t, p)
	for _, f := range InitFiles(p, "claude") {
		golden(t, filepath.Join("testdata/init", strings.TrimPrefix(strings.TrimPrefix(filepath.Base(f.Path), "."), "/")+".golden"), f.Text)
	}
	golden(t, "testdata/init/empty.golden", InitFiles(Proposal{Name: "x"}, "")[0].Text)
}
