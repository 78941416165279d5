package proof

import (
	"path"
	"slices"
	"strings"
)

// readCommands follows what verify and setup commands start, through scripts,
// Makefiles and package scripts.
func (sv *survey) readCommands(commands []string) {
	for _, c := range commands {
		sv.command(c, "a verify command", ".", 0)
	}
}

// maxDepth of scripts that start scripts.
const maxDepth = 12

// command reads a shell text. by says for people who starts it; dir is the
// folder that it runs in.
func (sv *survey) command(shell, by, dir string, depth int) {
	if depth > maxDepth {
		return
	}
	for _, words := range splitShell(shell) {
		if len(words) > 1 && words[0] == "cd" {
			if to := sv.resolveAny(words[1], dir); sv.folders[to] {
				dir = to
			}
			continue
		}
		sv.simple(words, by, dir, depth)
	}
}

// wrappers start what comes after them.
var wrappers = set("env time exec nice sudo command npx bunx nohup xvfb-run cross-env dotenv builtin eval then do else ! if while stdbuf dotenvx pnpx bundle poetry pipenv uv pdm hatch rye pixi yarn pnpm bun npm run exec x dlx -- timeout coverage c8 nyc kcov strace catchsegv valgrind gdb tsx-run")

func (sv *survey) simple(words []string, by, dir string, depth int) {
	for len(words) > 0 {
		w := words[0]
		if name, value, ok := strings.Cut(w, "="); ok && isName(name) {
			sv.option(value, by, dir)
			for _, one := range strings.Fields(value) {
				sv.option(one, by, dir)
			}
			words = words[1:]
			continue
		}
		if sv.packageScript(words, by, dir, depth) {
			return
		}
		if !wrappers[w] && !strings.HasPrefix(w, "@") && !(strings.HasPrefix(w, "-") && w != "-") && !isDuration(w) {
			break
		}
		if rest, ok := strings.CutPrefix(w, "@"); ok && rest != "" {
			words = append([]string{rest}, words[1:]...)
			continue
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	sv.program(strings.TrimLeft(words[0], "-@+"), words[1:], by, dir, depth)
}

func isName(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(c byte) bool { return !isWordByte(c) || c == '$' })
}

func isDuration(s string) bool {
	s = strings.TrimRight(s, "smh")
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// packageScript follows npm test and its kin.
func (sv *survey) packageScript(words []string, by, dir string, depth int) bool {
	if len(words) < 2 {
		return false
	}
	name := ""
	switch words[0] {
	case "npm", "pnpm", "yarn", "bun":
		name = words[1]
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && w != "run" && w != "run-script" {
				name = w
				break
			}
		}
		switch name {
		case "t", "tst":
			name = "test"
		case "exec", "x", "dlx":
			return false
		}
		if words[0] == "bun" && words[1] == "test" || words[1] == "exec" {
			return false
		}
	case "composer":
		name = words[len(words)-1]
	case "deno":
		if words[1] != "task" || len(words) < 3 {
			return false
		}
		name = words[2]
	default:
		return false
	}
	return sv.script(name, by, dir, depth)
}

// script follows one script of the nearest manifest, with what runs before and
// after it; install runs those of its life cycle.
func (sv *survey) script(name, by, dir string, depth int) bool {
	found := false
	names := []string{"pre" + name, name, "post" + name}
	if name == "ci" || name == "install" || name == "i" || name == "add" {
		names = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"}
	}
	for at := dir; ; at = path.Dir(at) {
		for _, base := range []string{"package.json", "composer.json", "deno.json", "deno.jsonc"} {
			manifest := clean(path.Join(at, base))
			for _, n := range names {
				body := sv.scriptsOf(manifest)[n]
				key := manifest + "\x00" + n
				if body == "" || sv.done[key] {
					found = found || body != ""
					continue
				}
				found, sv.done[key] = true, true
				sv.command(body, manifest+", script "+n, at, depth+1)
			}
		}
		if found || at == "." {
			return found
		}
	}
}

// program reads one command line by what it starts.
func (sv *survey) program(name string, args []string, by, dir string, depth int) {
	base := path.Base(name)
	base = strings.TrimRight(base, "0123456789.")
	if at := sv.resolve(name, dir); at != "" && (strings.Contains(name, "/") || name == "." || sv.files[at].sort != sourceSort) && name != "test" {
		sv.start(at, by, dir, depth)
	}
	switch base {
	case "make", "gmake":
		sv.make(args, by, dir, depth)
	case "rake", "just", "task", "nox", "tox", "meson", "gradle", "gradlew", "mvn", "mvnw", "ant", "invoke", "inv":
		sv.started(args, by, dir, depth, false)
	case "sh", "bash", "dash", "zsh", "ksh", "source", ".", "":
		sv.shellArgs(args, by, dir, depth)
	case "python", "pypy", "node", "nodejs", "ruby", "php", "perl", "deno", "bun", "tsx", "ts-node", "esno", "swipl", "lua", "Rscript", "java", "dart", "swift", "babel-node", "electron", "go":
		sv.interpreter(base, args, by, dir, depth)
	default:
		if runners[base] {
			sv.runner(base, args, by, dir)
			return
		}
		sv.inputs(args, by, dir)
	}
}

var runners = set("pytest py.test mocha jest vitest ava tap tape jasmine bats phpunit pest paratest rspec minitest ctest nose nosetests unittest behave cucumber uvu playwright cypress prove karma wtr trial shellspec lit cram")

func (sv *survey) shellArgs(args []string, by, dir string, depth int) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			if strings.HasSuffix(a, "c") && i+1 < len(args) {
				sv.command(args[i+1], by, dir, depth+1)
				return
			}
			continue
		}
		if at := sv.resolve(a, dir); at != "" {
			sv.start(at, by, dir, depth)
		}
		return
	}
}

// interpreter reads what a language's own program is told to run.
func (sv *survey) interpreter(base string, args []string, by, dir string, depth int) {
	tests := base == "node" && slices.Contains(args, "--test") || (base == "deno" || base == "bun") && len(args) > 0 && args[0] == "test"
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-m" && i+1 < len(args):
			sv.module(args[i+1], args[i+2:], by, dir, depth)
			return
		case (a == "-e" || a == "-c" || a == "-p" || a == "-r" && base == "php" || a == "--eval") && i+1 < len(args) && base != "node" || a == "-e" || a == "--eval":
			if i+1 < len(args) {
				sv.inlineCode(args[i+1], by, dir)
			}
			if base == "python" {
				return
			}
			i++
		case strings.HasPrefix(a, "-"):
			if takesValue(a) && i+1 < len(args) {
				sv.option(args[i+1], by, dir)
				i++
			}
			_, value, _ := strings.Cut(a, "=")
			sv.option(value, by, dir)
			if strings.HasPrefix(a, "-r") || strings.HasPrefix(a, "-I") {
				sv.option(a[2:], by, dir)
			}
		case base == "go" || (base == "deno" || base == "bun") && (a == "run" || a == "test"):
			if base == "go" && a == "run" || a == "generate" {
				sv.inputs(args[i+1:], by, dir)
			}
			if base == "go" {
				return
			}
		case tests:
			sv.collects(a, by, dir)
		default:
			if at := sv.resolve(a, dir); at != "" {
				sv.start(at, by, dir, depth)
			}
			sv.started(args[i+1:], by, dir, depth, true)
			return
		}
	}
}

// takesValue knows options whose value stands apart and names what is loaded.
func takesValue(a string) bool {
	switch a {
	case "-r", "--require", "--import", "--loader", "--experimental-loader", "-c", "--config", "-p", "-I", "-S", "-X", "-W", "-f", "-C", "--rcfile", "--rootdir", "--confcutdir", "--bootstrap", "--configuration", "--opts",
		"--setupFiles", "--file", "--env", "--globalSetup", "--env-file", "--reporter", "--test-reporter", "--reporters", "--ui", "--runner", "--transform", "--resolver", "--settings", "-o", "--order", "--options", "--helper", "--init-script", "-s", "--tsconfig", "--project":
		return true
	}
	return false
}

// module reads python -m.
func (sv *survey) module(name string, args []string, by, dir string, depth int) {
	if runners[name] || name == "coverage" || name == "unittest" {
		if name == "coverage" {
			sv.simple(args, by, dir, depth)
			return
		}
		sv.runner(name, args, by, dir)
		return
	}
	at := strings.ReplaceAll(name, ".", "/")
	for _, root := range []string{dir, "src"} {
		for _, try := range []string{at + ".py", at + "/__main__.py"} {
			if p := clean(path.Join(root, try)); sv.files[p] != nil {
				sv.start(p, by, dir, depth)
			}
		}
	}
	sv.inputs(args, by, dir)
}

// inlineCode names files in python -c and node -e.
func (sv *survey) inlineCode(code, by, dir string) {
	s := lex("python", []byte(code))
	for i, t := range s.tokens {
		if t.kind == text {
			sv.input(s.inner(t), by, dir)
		} else if s.word(i-1) == "import" || s.word(i-1) == "from" {
			sv.option(s.word(i), by, dir)
		}
	}
}

// option takes the value of an option or a variable: what it names is loaded.
func (sv *survey) option(value, by, dir string) {
	if value == "" || value == "." || len(value) > 300 {
		return
	}
	for _, one := range strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ',' || r == '=' }) {
		if at := sv.loads(one, dir); at != "" {
			sv.name(at, RuleVerify, "%s names it", by)
		}
	}
}

// loads resolves what a tool loads: a path, with or without its ending, or a
// module's name.
func (sv *survey) loads(name, dir string) string {
	name = strings.TrimPrefix(name, "<rootDir>/")
	if at := sv.resolve(name, dir); at != "" {
		return at
	}
	for _, try := range []string{name, path.Join(dir, name)} {
		if at := sv.scriptFile(strings.TrimPrefix(try, "/")); at != "" && (strings.Contains(name, "/") || strings.HasPrefix(name, ".")) {
			return at
		}
	}
	module := strings.ReplaceAll(strings.TrimLeft(name, "."), ".", "/")
	for _, root := range []string{dir, ".", "src", "lib", "test", "tests", "spec"} {
		for _, try := range []string{module + ".py", module + "/__init__.py", name + ".rb"} {
			if at := clean(path.Join(root, try)); module != "" && sv.files[at] != nil {
				return at
			}
		}
	}
	return ""
}

// inputs are what a compiler, a linter or another program reads: data is
// evidence, source stays what it is.
func (sv *survey) inputs(args []string, by, dir string) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			_, value, _ := strings.Cut(a, "=")
			sv.option(value, by, dir)
			if takesValue(a) && i+1 < len(args) {
				sv.option(args[i+1], by, dir)
			}
			continue
		}
		sv.input(a, by, dir)
	}
}

func (sv *survey) input(a, by, dir string) {
	at := sv.resolve(strings.TrimPrefix(a, "@"), dir)
	if at == "" {
		return
	}
	switch sv.files[at].sort {
	case sourceSort, assetSort, manifestSort, lockSort:
		return
	case dataSort:
		if sv.inSource(at) {
			return
		}
	}
	sv.name(at, RuleVerify, "%s names it", by)
}

func (sv *survey) inSource(p string) bool {
	for _, part := range strings.Split(path.Dir(p), "/") {
		if sourceRoots[strings.ToLower(part)] || assetFolders[strings.ToLower(part)] {
			return true
		}
	}
	return false
}

// started are the arguments of a script: other scripts are evidence, too.
func (sv *survey) started(args []string, by, dir string, depth int, source bool) {
	for _, a := range args {
		at := sv.resolve(a, dir)
		if at == "" {
			continue
		}
		if sv.files[at].lang == "shell" || !source && sv.files[at].sort == toolSort {
			sv.start(at, by, dir, depth)
			continue
		}
		sv.input(a, by, dir)
	}
}

// start notes a script that a command starts, and reads it when it is a shell's.
func (sv *survey) start(at, by, dir string, depth int) {
	if !sv.inSource(at) || isShell(at, sv.content(at)) {
		if _, known := sv.named[at]; !known {
			sv.runs[at] = sv.files[at].sort == sourceSort
		}
		sv.name(at, RuleVerify, "%s starts it", by)
	}
	if sv.done[at] {
		return
	}
	sv.done[at] = true
	content := sv.content(at)
	if isShell(at, content) && !strings.Contains(firstLine(content), "python") && !strings.Contains(firstLine(content), "node") {
		sv.command(string(content), at, dir, depth+1)
		return
	}
	if f := sv.files[at]; f.lang == "" {
		for _, w := range pathWords().FindAllString(string(content), 2000) {
			sv.input(w, at, dir)
		}
	}
}

var pathWords = expr(`[\w.-]+(/[\w.-]+)*`)

func firstLine(content []byte) string {
	line, _, _ := strings.Cut(string(content), "\n")
	return line
}
