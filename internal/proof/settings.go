package proof

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// readSettings reads the files that tell tools what to load and to run.
func (sv *survey) readSettings() {
	for _, p := range sv.paths {
		f := sv.files[p]
		if foreign(p) || !(f.sort == toolSort || f.sort == manifestSort || settingsName(p)) {
			continue
		}
		content := sv.content(p)
		if len(content) > maxSettings {
			continue
		}
		sv.readSetting(p, content)
	}
}

// maxSettings bounds what is read as settings; what is longer is no hand's work.
const maxSettings = 1 << 20

// settingsName knows hidden files of runners, and CI.
func settingsName(p string) bool {
	base := path.Base(p)
	if strings.HasPrefix(p, ".github/workflows/") || strings.HasPrefix(p, ".circleci/") || strings.HasPrefix(p, ".gitea/") || strings.HasPrefix(p, ".forgejo/") || base == ".gitlab-ci.yml" {
		return true
	}
	for _, start := range []string{".mocharc", ".jest", ".nycrc", ".c8rc", ".babelrc", ".swcrc", ".eslintrc", ".taprc", ".jasmine", ".rspec", ".pytest.", ".coveragerc", ".simplecov", ".bats"} {
		if strings.HasPrefix(base, start) {
			return true
		}
	}
	return strings.HasPrefix(p, ".cargo/") || strings.HasPrefix(p, ".config/")
}

func (sv *survey) readSetting(p string, content []byte) {
	base := path.Base(p)
	ext := strings.ToLower(path.Ext(base))
	dir := path.Dir(p)
	switch {
	case base == ".rspec" || base == ".rspec-local":
		sv.runner("rspec", strings.Fields(string(content)), p, dir)
	case base == "CMakeLists.txt" || ext == ".cmake":
		sv.cmake(p, content)
	case ext == ".mk" || strings.HasSuffix(strings.ToLower(base), "makefile"):
		// Followed from the commands; without any, all of it counts.
	case language(p) == "script":
		sv.readScriptSettings(p, content)
	case language(p) == "python" || language(p) == "ruby" || ext == ".rake" || base == "Rakefile" || ext == ".gemspec" || base == "Gemfile" || base == "Guardfile":
		sv.readCodeSettings(p, content)
	case ext == ".xml" || strings.HasSuffix(base, ".xml.dist"):
		walkXML(content, func(keys []string, value string) { sv.setting(p, keys, value) })
	default:
		walkSettings(base, content, func(keys []string, value string) { sv.setting(p, keys, value) })
	}
}

// readScriptSettings reads a configuration in JavaScript: its strings, by the
// names of the members that they stand in.
func (sv *survey) readScriptSettings(p string, content []byte) {
	s := lex("script", content).code()
	var stack []string
	key := ""
	for i, t := range s.tokens {
		if t.kind == text {
			if s.word(i+1) == ":" && (s.word(i-1) == "{" || s.word(i-1) == ",") {
				key = s.inner(t)
				continue
			}
			before := s.word(i - 1)
			keys := append(slices.Clone(stack), key)
			if before == "from" || before == "import" || before == "(" && scriptImports[s.word(i-2)] {
				keys = []string{"import"}
			}
			sv.setting(p, keys, s.inner(t))
			continue
		}
		switch w := s.word(i); w {
		case "{", "[", "(":
			stack = append(stack, key)
			key = ""
		case "}", "]", ")":
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			key = ""
		case ",":
			if len(stack) > 0 && s.openedBy(i) != "[" {
				key = ""
			}
		default:
			if isWordByte(w[0]) && s.word(i+1) == ":" {
				key = w
			}
		}
	}
}

// openedBy is the bracket that token i stands in.
func (s *source) openedBy(i int) string {
	depth := 0
	for i--; i >= 0; i-- {
		switch w := s.word(i); w {
		case "}", "]", ")":
			depth++
		case "{", "[", "(":
			if depth == 0 {
				return w
			}
			depth--
		}
	}
	return ""
}

// readCodeSettings reads tasks written as code: what their strings name.
func (sv *survey) readCodeSettings(p string, content []byte) {
	lang := "ruby"
	if language(p) == "python" {
		lang = "python"
	}
	s := lex(lang, content).code()
	for i, t := range s.tokens {
		if t.kind != text {
			continue
		}
		inner := s.inner(t)
		switch before := s.word(i - 1); {
		case before == "pattern" || s.word(i-2) == "pattern" || s.word(i-2) == "test_files" || s.word(i-3) == "test_files":
			sv.collects(inner, p, path.Dir(p))
		case strings.Contains(inner, " ") && (s.word(i-2) == "sh" || before == "sh" || before == "system" || s.word(i-2) == "system" || s.word(i-2) == "run"):
			sv.command(inner, p, path.Dir(p), 1)
		default:
			sv.input(inner, p, path.Dir(p))
			if at := sv.resolve(inner, path.Dir(p)); at != "" && isShell(at, nil) {
				sv.start(at, p, path.Dir(p), 1)
			}
		}
	}
}

// The keys of settings that matter, whatever the tool.
var (
	patternKeys = set("testmatch python_files testpaths testdir testdirs test_dir test_dirs specpattern spec_files spec specs spec_dir testfiles test_files tests directory")
	entryKeys   = set("main module browser bin types typings exports entry entries entrypoints entry_points input console_scripts gui_scripts scripts py-modules py_modules packages lib autoload files index root src where package-dir package_dir web source publish style sass svelte react-native unpkg jsdelivr attr")
	silentKeys  = set(`collectcoveragefrom coverageexclude omit exclude excludes ignore ignores ignorepatterns include paths description name version license licenses repository keywords author authors
		maintainers readme homepage bugs dependencies devdependencies peerdependencies optionaldependencies bundleddependencies overrides resolutions rootdir outdir outfile declarationdir known_first_party
		known_third_party per-file-ignores per_file_ignores watch watchpathignorepatterns modulepathignorepatterns testpathignorepatterns coveragepathignorepatterns norecursedirs cache cachedirectory cache_dir urls classifiers source_pkgs
		build-backend requires edition rust-version resolver members workspaces engines type sideeffects publishconfig psr-4 psr-0 classmap license-files dest output to`)
	loadKey = expr(`plugin|setup|require|transform|environment|preset|loader|resolver|runner|reporter|bootstrap|register|^import|global|serializer|extend|processor|hook|init|mapper|teardown|addopts|helper|config`)
)

// setting takes one value by the keys that it stands below.
func (sv *survey) setting(p string, keys []string, value string) {
	last, joined := "", strings.ToLower(strings.Join(keys, "."))
	for i := len(keys) - 1; i >= 0 && last == ""; i-- {
		last = strings.ToLower(keys[i])
	}
	base, dir := path.Base(p), path.Dir(p)
	value = strings.TrimSpace(value)
	has := func(names map[string]bool) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return names[strings.ToLower(k)] })
	}
	switch {
	case value == "" || len(value) > 5000:
	case base == "package.json" && keys[0] == "scripts", base == "composer.json" && keys[0] == "scripts", strings.HasPrefix(base, "deno.") && keys[0] == "tasks":
		if strings.HasPrefix(last, "test") {
			sv.script(keys[1], p, dir, 1)
		}
	case last == "addopts":
		sv.runner("pytest", splitWords(value), p, dir)
	case last == "testregex":
		if _, err := regexp.Compile(value); err == nil {
			sv.expr = append(sv.expr, value)
		}
	case base == "Cargo.toml":
		sv.cargoSetting(p, keys, value)
	case last == "commands" || last == "commands_pre" || last == "run" || last == "script" || last == "before_script" || last == "cmd" || last == "cmds":
		sv.command(value, p, dirOfCI(dir), 1)
	case has(patternKeys) && !(last == "directory" && !strings.Contains(joined, "testsuite")), last == "include" && strings.Contains(joined, "test"), last == "file" && strings.Contains(joined, "testsuite"), last == "files" && strings.Contains(joined, "ava"):
		for _, one := range strings.Fields(value) {
			sv.collectSetting(one, p, dir, last)
		}
	case has(silentKeys):
	case has(entryKeys) && !loadKey().MatchString(last):
		for _, one := range strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ',' || r == ' ' || r == '=' }) {
			if at := sv.loads(one, dir); at != "" && !testish(at) {
				sv.entries[at] = true
			}
		}
	case last == "django_settings_module":
	default:
		sv.loaded(p, last, value)
	}
}

func dirOfCI(dir string) string {
	if strings.HasPrefix(dir, ".") {
		return "."
	}
	return dir
}

func splitWords(s string) []string {
	var out []string
	for _, c := range splitShell(s) {
		out = append(out, c...)
	}
	return out
}

func testish(p string) bool { return IsTestFile(p) }

// collectSetting notes a pattern of a runner's own settings.
func (sv *survey) collectSetting(one, p, dir, key string) {
	one = strings.Trim(one, `'",`)
	if key == "python_files" {
		if !strings.ContainsAny(one, "*?") || one != "*.py" {
			sv.collect = append(sv.collect, one)
		}
		return
	}
	if !strings.HasPrefix(one, "!") {
		sv.collects(one, p, dir)
	}
}

// loaded names what a tool loads by its settings.
func (sv *survey) loaded(p, key, value string) {
	dir := path.Dir(p)
	for _, one := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;=\n\t'\"", r) }) {
		at := ""
		switch {
		case strings.ContainsAny(one, "/.") && !strings.Contains(one, "://"):
			if at = sv.resolve(one, dir); at == "" && (loadKey().MatchString(key) || strings.Contains(one, "/")) {
				at = sv.loads(one, dir)
			}
		case loadKey().MatchString(key):
			at = sv.loads(one, dir)
		}
		if at == "" || at == p {
			continue
		}
		switch sv.files[at].sort {
		case assetSort, documentSort, manifestSort, lockSort:
			continue
		case dataSort:
			if sv.inSource(at) && !loadKey().MatchString(key) {
				continue
			}
		}
		sv.name(at, RuleSettings, "%s names it", p)
	}
}

// cargoSetting tells targets of tests from those of the product.
func (sv *survey) cargoSetting(p string, keys []string, value string) {
	at := clean(path.Join(path.Dir(p), value))
	if sv.files[at] == nil {
		return
	}
	switch {
	case keys[0] == "test" || keys[0] == "bench":
		sv.name(at, RuleCollected, "%s runs it", p)
	case keys[0] == "package" && keys[len(keys)-1] == "build":
		sv.name(at, RuleSettings, "%s builds with it", p)
	case keys[0] == "lib" || keys[0] == "bin":
		sv.entries[at] = true
	}
}

var cmakeCall = expr(`(?s)(\w+)\s*\(([^()]*)\)`)

// cmake finds the sources of what ctest runs.
func (sv *survey) cmake(p string, content []byte) {
	dir := path.Dir(p)
	targets, tests, shared := map[string][]string{}, map[string]bool{}, map[string]int{}
	for _, call := range cmakeCall().FindAllStringSubmatch(string(content), 5000) {
		args := splitWords(call[2])
		switch strings.ToLower(call[1]) {
		case "add_executable", "add_library":
			if len(args) > 0 {
				targets[args[0]] = append(targets[args[0]], args[1:]...)
				for _, a := range args[1:] {
					shared[a]++
				}
			}
		case "add_test":
			for i, a := range args {
				if i > 0 && strings.EqualFold(args[i-1], "COMMAND") || i == 1 {
					tests[strings.TrimSuffix(strings.TrimPrefix(a, "$<TARGET_FILE:"), ">")] = true
				}
				sv.option(a, p, dir)
			}
		case "include", "configure_file", "execute_process", "find_file", "add_custom_command", "add_custom_target", "set_tests_properties":
			for _, a := range args {
				if at := sv.resolve(a, dir); at != "" && sv.files[at].sort != sourceSort {
					sv.name(at, RuleSettings, "%s names it", p)
				}
			}
		}
	}
	for target := range tests {
		for _, a := range targets[target] {
			at := sv.resolve(a, dir)
			if at != "" && shared[a] == 1 && !sv.subjectByName(at) && strings.Contains(string(sv.content(at)), "main") {
				sv.name(at, RuleCollected, "%s runs it as a test", p)
			}
		}
	}
}
