package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	texts "forge/internal/text"
)

// Proposal is what init found out about a project by looking at its files.
// Nothing in it was run.
type Proposal struct {
	Name     string
	Verify   []Command
	Setup    []Command
	CacheKey []string // files that setup depends on
}

// Command is a shell command with the reason for it.
type Command struct {
	Run string
	Why string
}

// DetectProject looks for the project's own test command and what a fresh
// folder of it needs. Files that cannot be read say nothing.
func DetectProject(root string) Proposal {
	d := &detector{proposal: Proposal{Name: filepath.Base(root)}}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return d.proposal
	}
	defer opened.Close()
	d.root = opened
	// A make target is the project's own word for "test" and usually runs all
	// of the rest; beside it, languages would be tested twice.
	if !d.makefile() {
		d.golang()
		d.cargo()
		d.node()
		d.python()
		d.ruby()
		d.jvm()
		d.php()
		d.elixir()
		d.dotnet()
	} else {
		before := d.proposal.Verify
		d.node()
		d.python()
		d.ruby()
		d.php()
		d.elixir()
		d.proposal.Verify = before
	}
	return d.proposal
}

type detector struct {
	root     *os.Root
	proposal Proposal
}

func (d *detector) has(name string) bool {
	info, err := d.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (d *detector) firstOf(names ...string) string {
	for _, n := range names {
		if d.has(n) {
			return n
		}
	}
	return ""
}

func (d *detector) hasFolder(name string) bool {
	info, err := d.root.Stat(name)
	return err == nil && info.IsDir()
}

func (d *detector) read(name string) string {
	text, _, _ := readText(d.root, name, name, MaxTOMLBytes)
	return text
}

func (d *detector) verify(run, why string) {
	d.proposal.Verify = append(d.proposal.Verify, Command{run, why})
}

func (d *detector) setup(run, why string, keys ...string) {
	d.proposal.Setup = append(d.proposal.Setup, Command{run, why})
	d.proposal.CacheKey = append(d.proposal.CacheKey, keys...)
}

func (d *detector) makefile() bool {
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		text := d.read(name)
		for _, target := range []string{"check", "test"} {
			if regexp.MustCompile(`(?m)^` + target + `[ \t]*:([^=]|$)`).MatchString(text) {
				d.verify("make "+target, fmt.Sprintf("%s has the target %s", name, target))
				return true
			}
		}
	}
	return false
}

func (d *detector) golang() {
	if d.has("go.mod") {
		d.verify("go test ./...", "there is a go.mod")
	}
}

func (d *detector) cargo() {
	if d.has("Cargo.toml") {
		d.verify("cargo test", "there is a Cargo.toml")
	}
}

func (d *detector) node() {
	text := d.read("package.json")
	if text == "" {
		return
	}
	var manifest struct {
		Scripts              map[string]string
		Dependencies         map[string]any
		DevDependencies      map[string]any
		OptionalDependencies map[string]any
		PackageManager       string
	}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return
	}
	manager, install, lock := "npm", "npm install", ""
	for _, m := range []struct{ lock, manager, install string }{
		{"pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile"},
		{"yarn.lock", "yarn", "yarn install --frozen-lockfile"},
		{"bun.lock", "bun", "bun install --frozen-lockfile"},
		{"bun.lockb", "bun", "bun install --frozen-lockfile"},
		{"package-lock.json", "npm", "npm ci"},
		{"npm-shrinkwrap.json", "npm", "npm ci"},
	} {
		if d.has(m.lock) {
			manager, install, lock = m.manager, m.install, m.lock
			break
		}
	}
	if lock != "" {
		d.setup(install, "there is a "+lock, lock, "package.json")
	} else if len(manifest.Dependencies)+len(manifest.DevDependencies)+len(manifest.OptionalDependencies) > 0 {
		d.setup(install, "package.json has dependencies", "package.json")
	}
	// npm's own placeholder always fails; as proof it would only block.
	if test := manifest.Scripts["test"]; test != "" && !strings.Contains(test, "no test specified") {
		run := manager + " test"
		if manager == "bun" {
			run = "bun run test"
		}
		d.verify(run, fmt.Sprintf("package.json has a test script (%s)", texts.ClipLine(test, mostQuoted)))
	}
}

func (d *detector) python() {
	project := d.read("pyproject.toml")
	settings := d.firstOf("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py")
	uses := settings != "" || strings.Contains(project, "pytest") || strings.Contains(d.read("setup.cfg"), "[tool:pytest]") ||
		strings.Contains(d.read("requirements-dev.txt"), "pytest") || strings.Contains(d.read("requirements.txt"), "pytest")
	prefix := ""
	switch {
	case d.has("uv.lock"):
		prefix = "uv run "
		d.setup("uv sync", "there is a uv.lock", "uv.lock", "pyproject.toml")
	case d.has("poetry.lock"):
		prefix = "poetry run "
		d.setup("poetry install", "there is a poetry.lock", "poetry.lock", "pyproject.toml")
	case d.has("requirements.txt") && uses:
		prefix = ".venv/bin/python -m "
		keys := []string{"requirements.txt"}
		install := "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"
		if d.has("requirements-dev.txt") {
			keys = append(keys, "requirements-dev.txt")
			install += " -r requirements-dev.txt"
		}
		d.setup(install, "there is a requirements.txt", keys...)
	}
	switch {
	case uses && prefix == "":
		d.verify("python3 -m pytest", "pytest is set up here")
	case uses:
		d.verify(prefix+"pytest", "pytest is set up here")
	case d.has("tox.ini"):
		d.verify("tox", "there is a tox.ini")
	case d.has("manage.py"):
		d.verify("python3 manage.py test", "there is a manage.py")
	default:
		d.plainPython()
	}
}

// plainPython looks for tests of a project that says nowhere what runs them:
// those of unittest need nothing that Python does not bring.
func (d *detector) plainPython() {
	for _, place := range []struct{ pattern, run string }{
		{"tests/test_*.py", "python3 -m unittest discover -s tests"},
		{"test_*.py", "python3 -m unittest discover"},
	} {
		found, err := fs.Glob(d.root.FS(), place.pattern)
		if err != nil || len(found) == 0 {
			continue
		}
		if strings.Contains(d.read(found[0]), "unittest") {
			d.verify(place.run, "there is a "+found[0])
		} else {
			d.verify("python3 -m pytest", "there is a "+found[0])
		}
		return
	}
}

func (d *detector) ruby() {
	if !d.has("Gemfile") {
		return
	}
	d.setup("bundle install", "there is a Gemfile", "Gemfile", "Gemfile.lock")
	switch {
	case d.has(".rspec") || d.hasFolder("spec"):
		d.verify("bundle exec rspec", "there is a folder spec or .rspec")
	case d.has("bin/rails"):
		d.verify("bin/rails test", "there is a bin/rails")
	case d.has("Rakefile"):
		d.verify("bundle exec rake test", "there is a Rakefile")
	}
}

func (d *detector) jvm() {
	switch {
	case d.has("mvnw"):
		d.verify("./mvnw -q test", "there is a Maven wrapper")
	case d.has("pom.xml"):
		d.verify("mvn -q test", "there is a pom.xml")
	case d.has("gradlew"):
		d.verify("./gradlew test", "there is a Gradle wrapper")
	case d.firstOf("build.gradle", "build.gradle.kts") != "":
		d.verify("gradle test", "there is a "+d.firstOf("build.gradle", "build.gradle.kts"))
	}
}

func (d *detector) php() {
	text := d.read("composer.json")
	if text == "" {
		return
	}
	d.setup("composer install --no-interaction", "there is a composer.json", "composer.json", "composer.lock")
	var manifest struct{ Scripts map[string]any }
	if json.Unmarshal([]byte(text), &manifest) == nil && manifest.Scripts["test"] != nil {
		d.verify("composer test", "composer.json has a test script")
	} else if name := d.firstOf("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"); name != "" {
		d.verify("vendor/bin/phpunit", "there is a "+name)
	}
}

func (d *detector) elixir() {
	if d.has("mix.exs") {
		d.setup("mix deps.get", "there is a mix.exs", "mix.exs", "mix.lock")
		d.verify("mix test", "there is a mix.exs")
	}
}

func (d *detector) dotnet() {
	for _, pattern := range []string{"*.sln", "*.slnx", "*.csproj", "*.fsproj"} {
		found, err := filepath.Glob(filepath.Join(escapeGlob(d.root.Name()), pattern))
		if err == nil && len(found) > 0 {
			d.verify("dotnet test", "there is a "+filepath.Base(found[0]))
			return
		}
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
