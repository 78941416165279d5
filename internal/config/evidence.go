package config

import (
	"slices"

	"forge/internal/work"
)

// Words of verify.protected for what Forge knows by itself (internal/proof).
const (
	DefaultProtected = "@default"
	TestFiles        = "@tests"
)

// ProtectedDefaults is what "@default" is written out as in a run's settings,
// as it was when these globs alone were evidence. They are no globs of the
// owner's: internal/proof goes by what a project is, not by this list.
func ProtectedDefaults() []string {
	return append(append([]string{TestFiles, ".forge/**"}, CIFiles()...),
		// What the verify commands usually start.
		"Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml",
		"magefile.go", "magefiles/**", "Rakefile", "noxfile.py", "tasks.py", "Earthfile", "gulpfile.*", "Gruntfile.*",
		// Package manifests.
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
	)
}

// CIFiles are globs of what CI runs, on a host and before a commit.
func CIFiles() []string {
	return append(work.CIFiles(), ".pre-commit-config.yaml", "lefthook.yml", ".husky/**")
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
