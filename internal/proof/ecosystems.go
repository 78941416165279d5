package proof

import (
	"path"
	"strings"
)

// sort is what a file is by its name alone.
type sort int

const (
	unknownSort  sort = iota
	sourceSort        // source of an ecosystem
	assetSort         // what people see or programs show
	dataSort          // product only where product stands or product names it
	documentSort      // for people
	manifestSort      // by its parts
	lockSort          // by its parts
	toolSort          // settings of a tool, a build, an interpreter
)

// sortOf goes from what is most particular to what is most common.
func sortOf(file string) sort {
	base := path.Base(file)
	lower := strings.ToLower(base)
	ext := strings.ToLower(path.Ext(base))
	switch {
	case isManifest(base):
		return manifestSort
	case isLock(base), isVendorList(file):
		return lockSort
	case isToolFile(base):
		return toolSort
	case sources[ext] || language(file) != "" && ext != ".bats":
		return sourceSort
	case assets[ext]:
		return assetSort
	case data[ext]:
		return dataSort
	case documents[ext] || ext == "" && documentNames[strings.TrimRight(lower, "0123456789-")]:
		return documentSort
	}
	return unknownSort
}

// IsSettings says that a file decides by its name what tools do, wherever it
// stands.
func IsSettings(file string) bool {
	sort := sortOf(file)
	return sort == toolSort || sort == manifestSort
}

// IsData says that a file is data or an asset by its name, or nothing that is
// known: who opens it tells what it is.
func IsData(file string) bool {
	sort := sortOf(file)
	return sort == dataSort || sort == assetSort || sort == unknownSort
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var (
	// sources that no reader here understands in depth.
	sources = set(".ex .erl .hrl .lua .r .jl .pl .pm .hs .ml .mli .clj .cljs .cljc .cu .cuh .s .asm .f90 .f .pas .adb .ads .nim .cr .elm .coffee .razor .cshtml .vbs .ps1 .psm1 .sol .tcl")
	assets  = set(`.html .htm .xhtml .css .scss .sass .less .styl .svg .png .jpg .jpeg .gif .webp .avif .ico .bmp .woff .woff2 .ttf .otf .eot .mp3 .mp4
		.wav .ogg .webm .glsl .wgsl .hlsl .vert .frag .tmpl .gotmpl .gohtml .hbs .handlebars .mustache .ejs .pug .erb .haml .slim .j2 .jinja .jinja2
		.twig .liquid .po .pot .arb .strings .resx .xlf .sql .proto .graphql .gql .thrift .avsc .webmanifest .xaml .storyboard .xib .qml .ui`)
	data      = set(".json .jsonc .json5 .jsonl .ndjson .yaml .yml .toml .ini .cfg .conf .xml .properties .csv .tsv .txt .dat .bin .plist .pdf .map .in .mo .geojson .xsd .xsl .inc .tpl .template")
	documents = set(".md .markdown .mdx .rst .adoc .asciidoc .org .tex .txt .textile .rdoc")
	// documentNames have no ending.
	documentNames = set("license licence notice readme changelog changes authors contributors contributing copying history todo security install thanks credits maintainers patents")
)

// isManifest knows the manifests that are read by their parts. Lists of
// packages for tests alone are settings.
func isManifest(base string) bool {
	switch base {
	case "package.json", "pyproject.toml", "Cargo.toml", "go.mod", "Gemfile", "composer.json":
		return true
	}
	return base == "requirements.txt"
}

func isLock(base string) bool {
	switch base {
	case "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "Cargo.lock", "go.sum", "uv.lock", "poetry.lock", "Gemfile.lock", "composer.lock":
		return true
	}
	return false
}

// isToolFile knows files that decide what tools do and that look like source,
// data or documents by their ending. It is the last resort, for what no
// setting or command names.
func isToolFile(base string) bool {
	if toolNames[base] || toolNames[strings.ToLower(base)] {
		return true
	}
	stem, rest, _ := strings.Cut(base, ".")
	lower := strings.ToLower(stem)
	switch {
	case rest == "":
		return strings.HasPrefix(lower, "dockerfile")
	case strings.HasPrefix(lower, "tsconfig") || strings.HasPrefix(lower, "jsconfig"):
		return strings.HasPrefix(rest, "json") || strings.HasSuffix(rest, ".json")
	case strings.HasPrefix(lower, "docker-compose") || strings.HasPrefix(lower, "compose") && isYAML(rest):
		return true
	case toolStems[lower]:
		first, _, more := strings.Cut(rest, ".")
		return more && (first == "config" || first == "conf" || first == "setup" || first == "preset" || first == "workspace") || isScriptEnd(rest) && selfNamed[lower]
	case setupStem(lower) && (isScriptEnd(rest) || rest == "rb" || rest == "exs" || rest == "py"):
		return true
	case strings.HasPrefix(lower, "requirements") || strings.HasPrefix(lower, "constraints"):
		return rest == "txt" || rest == "in"
	}
	for _, end := range toolEnds {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	return false
}

func isYAML(rest string) bool {
	return strings.HasSuffix(rest, "yml") || strings.HasSuffix(rest, "yaml")
}

func isScriptEnd(rest string) bool {
	switch rest {
	case "js", "cjs", "mjs", "ts", "cts", "mts", "jsx", "tsx", "json", "coffee":
		return true
	}
	return false
}

// setupStem knows what test frameworks load by its name.
func setupStem(lower string) bool {
	flat := strings.NewReplacer("-", "", "_", "").Replace(lower)
	switch flat {
	case "setuptests", "setuptest", "testsetup", "testssetup", "jestsetup", "vitestsetup", "testutils", "testutil", "testhelper", "testhelpers",
		"spechelper", "railshelper", "globalsetup", "globalteardown", "mochasetup":
		return true
	}
	return false
}

var (
	// toolStems are tools whose settings are called name.config.ending.
	toolStems = set(`jest vitest vite babel karma playwright cypress ava eslint prettier stylelint commitlint webpack rollup rspack rsbuild esbuild tsup
		metro wdio nightwatch protractor testcafe codecept cucumber web-test-runner ladle storybook lint-staged mocha nyc c8 tap biome swc gulpfile gruntfile
		vite-node turbo nx lerna size-limit knip`)
	selfNamed = set("gulpfile gruntfile")
	toolEnds  = []string{
		".mk", ".mak", ".cmake", ".gradle", ".gradle.kts", ".csproj", ".fsproj", ".vbproj", ".vcxproj", ".sln", ".slnx", ".props", ".targets", ".runsettings",
		".sbt", ".bzl", ".bazel", ".gemspec", ".podspec", ".cabal", ".rake", ".ninja", ".gyp", ".gypi", ".pth", ".pyc", ".pyo", ".egg-link", ".nix", ".tf", ".hcl",
		".service", ".rockspec", ".pbxproj", ".xcconfig", ".xctestplan", ".am", ".ac", ".m4", ".in.cmake", ".nimble", ".opam", ".work",
	}
	toolNames = set(`makefile gnumakefile bsdmakefile justfile taskfile.yml taskfile.yaml magefile.go rakefile noxfile.py toxfile.py tasks.py fabfile.py wscript
		sconstruct sconscript meson.build meson_options.txt cmakelists.txt cmakepresets.json configure ctestconfig.cmake build build.bazel workspace module.bazel
		earthfile jenkinsfile vagrantfile guardfile dangerfile fastfile podfile podfile.lock brewfile berksfile capfile procfile tiltfile
		build.rs build.zig build.xml ivy.xml pom.xml gradlew gradlew.bat mvnw mvnw.cmd settings.xml gradle.properties gradle-wrapper.properties libs.versions.toml testng.xml junit-platform.properties
		setup.py setup.cfg conftest.py pytest.ini pytest.toml tox.ini tox.toml sitecustomize.py usercustomize.py pyvenv.cfg manifest.in pdm.lock pipfile pipfile.lock pixi.toml
		environment.yml environment.yaml uv.toml poetry.toml hatch.toml ruff.toml mypy.ini pylintrc pyrightconfig.json flake8 coveragerc bandit.yaml
		deno.json deno.jsonc deno.lock bun.lock bun.lockb bunfig.toml lerna.json nx.json turbo.json rush.json project.json workspace.json pnpm-workspace.yaml
		biome.json biome.jsonc jsconfig.json angular.json babel.json nodemon.json jasmine.json wallaby.js karma.conf.js cucumber.js
		go.work go.work.sum gopkg.toml staticcheck.conf rust-toolchain rust-toolchain.toml clippy.toml rustfmt.toml deny.toml nextest.toml cross.toml
		phpunit.xml phpunit.xml.dist phpunit.dist.xml pest.php phpstan.neon phpstan.neon.dist psalm.xml phpcs.xml phpcs.xml.dist infection.json infection.json5 codeception.yml behat.yml rector.php
		spec_helper.rb rails_helper.rb test_helper.rb test_helper.exs config.ru gems.rb gems.locked mix.exs mix.lock rebar.config package.swift package.resolved
		codecov.yml coverage.yml sonar-project.properties checkstyle.xml detekt.yml azure-pipelines.yml appveyor.yml bitbucket-pipelines.yml cloudbuild.yaml lefthook.yml
		directory.build.props directory.build.targets directory.packages.props nuget.config global.json pubspec.yaml pubspec.lock dart_test.yaml analysis_options.yaml
		default.nix flake.nix flake.lock shell.nix vcpkg.json conanfile.txt conanfile.py codeowners project.clj deps.edn shadow-cljs.edn stack.yaml cpanfile makefile.pl build.pl`)
)
