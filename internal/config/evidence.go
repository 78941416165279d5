package config

import (
	"slices"

	"forge/internal/work"
)

// Words of verify.protected that stand for more than one glob.
const (
	DefaultProtected = "@default" // the built-in list
	TestFiles        = "@tests"   // every file that IsTestFile knows
)

// ProtectedDefaults is what "@default" stands for: the files that decide what
// verify says. A glob without a slash means any folder.
func ProtectedDefaults() []string {
	return []string{
		TestFiles,
		".forge/**",
		// What CI runs.
		".github/**", ".gitlab-ci.yml", ".gitlab/ci/**", ".gitea/**", ".forgejo/**", ".circleci/**", ".buildkite/**",
		"azure-pipelines.yml", ".azure-pipelines/**", "Jenkinsfile", ".travis.yml", ".drone.yml", ".woodpecker.yml",
		".woodpecker/**", "bitbucket-pipelines.yml", "appveyor.yml", ".pre-commit-config.yaml", "lefthook.yml", ".husky/**",
		// What the verify commands usually start.
		"Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml",
		"magefile.go", "magefiles/**", "Rakefile", "noxfile.py", "tasks.py", "Earthfile", "gulpfile.*", "Gruntfile.*",
		// Package manifests; of these only the scripts and settings of runners count, see IsManifest.
		"package.json", "composer.json", "pyproject.toml", "Cargo.toml", "deno.json",
		// Settings of test runners.
		"pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "conftest.py", ".coveragerc", "jest.config.*", "jest.setup.*",
		"vitest.config.*", "vitest.workspace.*", "vitest.setup.*", "vite.config.*", "karma.conf.*", "playwright.config.*", "cypress.config.*",
		".mocharc*", "ava.config.*", ".nycrc*", "babel.config.*", "phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml",
		"Pest.php", ".rspec", "spec_helper.rb", "rails_helper.rb", "test_helper.rb", "test_helper.exs", ".cargo/config.toml",
		".config/nextest.toml", "testng.xml", "junit-platform.properties", "codecov.yml", ".codecov.yml",
		// Settings of linters and type checkers.
		".golangci.*", ".eslintrc*", ".eslintignore", "eslint.config.*", "biome.json", "biome.jsonc", ".prettierrc*", "prettier.config.*",
		".stylelintrc*", "stylelint.config.*", "tsconfig*.json", "ruff.toml", ".ruff.toml", ".flake8", ".pylintrc", "pylintrc",
		"mypy.ini", ".mypy.ini", "pyrightconfig.json", ".rubocop.yml", ".rubocop_todo.yml", "clippy.toml", ".clippy.toml",
		"rustfmt.toml", ".rustfmt.toml", "phpstan.neon*", "psalm.xml", ".php-cs-fixer*", "checkstyle.xml", "detekt.yml",
		".credo.exs", "staticcheck.conf", ".shellcheckrc", ".clang-tidy",
	}
}

// ExpandProtected writes "@default" out; what is left are globs and "@tests".
func ExpandProtected(globs []string) []string {
	var out []string
	for _, g := range globs {
		add := []string{g}
		if g == DefaultProtected {
			add = ProtectedDefaults()
		}
		for _, one := range add {
			if !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out
}

// Protection tells which files decide what verify says. The zero value
// protects nothing.
type Protection struct {
	settings Matcher
	tests    bool
}

// Protected compiles the globs of verify.protected, "@default" and "@tests"
// among them.
func Protected(globs []string) (Protection, error) {
	var p Protection
	var plain []string
	for _, g := range ExpandProtected(globs) {
		if g == TestFiles {
			p.tests = true
		} else {
			plain = append(plain, g)
		}
	}
	var err error
	p.settings, err = NewMatcher(plain)
	return p, err
}

// Settings is true for a file that a glob names, whether it exists or not.
func (p Protection) Settings(file string) bool { return p.settings.Match(file) }

// Test is true for a test file, where those are protected.
func (p Protection) Test(file string) bool { return p.tests && IsTestFile(file) }

// EvidenceFacts are what Evidence must know about the changed files.
type EvidenceFacts struct {
	// InBase says that the path is a file of the phase's base. nil: all are.
	InBase func(path string) bool
	// ScriptsChanged says, of a package manifest, that its scripts differ
	// from the base (see ScriptsDiffer). nil: they do.
	ScriptsChanged func(path string) bool
}

// Evidence finds the changes that could decide by themselves what verify says.
// touched are protected files that were changed, removed or, where a glob
// names them, made: a new workflow or runner setting changes how evidence is
// produced; a new test file does not. gone are test files of the base that are
// no longer there, a renamed one among them. What mayChange matches is in
// neither. Both are in the order of changes.
func Evidence(changes []work.FileChange, facts EvidenceFacts, protected Protection, mayChange Matcher) (touched, gone []string) {
	for _, c := range changes {
		if mayChange.Match(c.Path) {
			continue
		}
		inBase := c.Status != "A" && (facts.InBase == nil || facts.InBase(c.Path))
		switch {
		case c.Status == "D" && inBase && protected.Test(c.Path):
			gone = append(gone, c.Path)
		case protected.Settings(c.Path):
			if IsManifest(c.Path) && c.Status == "M" && facts.ScriptsChanged != nil && !facts.ScriptsChanged(c.Path) {
				continue
			}
			touched = append(touched, c.Path)
		case inBase && protected.Test(c.Path):
			touched = append(touched, c.Path)
		}
	}
	return touched, gone
}
