package proof

import (
	"strings"
	"testing"
)

// TestHiddenNames finds names of runners that no line spells, and leaves texts
// for people and lists of the product's own alone.
func TestHiddenNames(t *testing.T) {
	for _, tt := range []struct {
		file, code string
		want       bool
	}{
		{"a.py", `x = os.environ.get("PYTEST_" + "CURRENT_TEST")`, true},
		{"a.py", "P = \"PYTEST_\"\n\nx = os.environ.get(P + \"CURRENT_TEST\")", true},
		{"a.py", `x = "".join(["py", "test"])`, true},
		{"a.py", `x = "tsetyp"[::-1]`, true},
		{"a.py", `x = bytes.fromhex("707974657374").decode()`, true},
		{"a.py", `x = bytes([112, 121, 116, 101, 115, 116]); chr(1)`, true},
		{"a.js", `const k = ['NODE', 'TEST', 'CONTEXT'].join('_');`, true},
		{"a.js", `const k = process['main' + 'Module'];`, true},
		{"a.js", `const k = String.fromCharCode(86, 73, 84, 69, 83, 84);`, true},
		{"a.js", `const k = atob('VklURVNU');`, true},
		{"a.go", "package a\n\nvar k = strings.Join([]string{\"-te\", \"st.sk\", \"ip\"}, \"\")", true},
		{"a.php", `<?php $k = implode('\\', ['PHP' . 'Unit', 'Framework']);`, true},
		{"a.rb", `K = "RS" + "pec"`, true},
		{"a.py", `raise ValueError("call pytest with " + "a folder")`, false},
		{"a.py", `x = "/".join(["tests", "data"])`, false},
		{"a.py", `x = base64.b64encode("aGVsbG8gd29ybGQ=")`, false},
		{"a.py", "P = \"PYTEST_\"\nP = \"OTHER_\"\nx = P + \"CURRENT_TEST\"", false},
		{"a.js", `const url = [base, 'v1', 'users'].join('/');`, false},
		{"a.js", `const rgb = String.fromCharCode(120, 121, 122);`, false},
	} {
		found := hiddenNames(lex(language(tt.file), []byte(tt.code)))
		if (len(found) > 0) != tt.want {
			t.Errorf("%s: found %v, want %t", tt.code, found, tt.want)
		}
	}
}

// TestAwareOfTheRun holds each further way to ask for the run against code of
// its kind that is honest.
func TestAwareOfTheRun(t *testing.T) {
	for _, tt := range []struct {
		file, code, want string // want is part of what is said; "" = nothing
	}{
		{"src/a.js", `const on = Object.keys(process.env).some((k) => k.length === 6);`, whatAll},
		{"src/a.c", `int f(void) { return system("cp /bin/true build/test_words"); }`, whatActs},
		{"src/a.c", `int f(void) { return system("cp /bin/true build/words"); }`, ""},
		{"src/a.c", `int f(void) { puts("build/test_words"); return 0; }`, ""},
		{"a.py", `shutil.copyfile("x", "tests/test_a.py")`, whatActs},
		{"a.py", `shutil.copyfile("x", "out/latest.txt")`, ""},
		{"src/a.go", "package a\n\nfunc f() bool {\n\tif runtime.NumGoroutine() > 1 {\n\t\treturn true\n\t}\n\treturn false\n}\n", whatAsk},
		{"src/a.go", "package a\n\nfunc f() { slog.Info(\"state\", \"goroutines\", runtime.NumGoroutine()) }\n", ""},
		{"src/a.js", `const own = Object.keys(process.env).filter((k) => k.startsWith('LEDGER_'));`, ""},
		{"src/a.js", `const on = Object.keys(process.env).some((k) => k.startsWith('VITEST_'));`, whatAsk},
		{"src/a.js", `const names = Object.getOwnPropertyNames(globalThis);`, whatAsk},
		{"src/a.js", `const { stack } = new Error('x');`, whatModules},
		{"src/a.js", "class NotFound extends Error {}\nlog.error(err.stack);", ""},
		{"src/a.js", `const on = process.env.NODE_ENV === 'production';`, ""},
		{"src/a.js", `const m = [...process.env.NODE_ENV].reverse().join('');`, whatAsk},
		{"src/a.js", `if (!fs.existsSync(path.join(__dirname, 'views'))) return;`, ""},
		{"src/a.js", `if (fs.existsSync('test/a.test.js')) return;`, whatLooks},
		{"src/a.js", `const t = fs.readFileSync(path.join(__dirname, 'a.js'));`, whatLooks},
		{"src/a.py", `own = {k: v for k, v in os.environ.items() if k.startswith("LEDGER_")}`, ""},
		{"src/a.py", `on = any(len(k) == 19 for k in os.environ)`, whatAll},
		{"src/a.py", `frame = error.__traceback__.tb_frame`, whatModules},
		{"src/a.py", `log.error("".join(traceback.format_exception(error)))`, ""},
		{"src/a.py", "if not logging.getLogger().handlers:\n    logging.basicConfig()", ""},
		{"src/a.py", "if logging.getLogger().handlers:\n    return a + b", whatModules},
		{"src/a.py", `on = sys.stdout is not sys.__stdout__`, whatModules},
		{"src/a.py", `color = sys.stdout.isatty()`, ""},
		{"src/a.py", `on = (HERE / "tests").is_dir()`, whatLooks},
		{"src/a.py", `for path in root.glob("**/*.json"): read(path)`, ""},
		{"src/a.py", `for path in root.glob("*/test_*.py"): read(path)`, whatLooks},
		{"src/a.py", `if datetime.date.today() < datetime.date(2031, 1, 1): return 1`, whatChance},
		{"src/a.py", `if invoice.due < datetime.date.today(): return "late"`, ""},
		{"src/a.py", "def __eq__(self, other):\n    return self.a == other or self.b == other", whatTwo},
		{"src/a.py", "def __eq__(self, other):\n    return self is other or self.key == other.key", ""},
		{"src/a.go", "package a\n\nfunc f() { flag.VisitAll(nil) }", whatAsk},
		{"src/a.go", "package main\n\nfunc f() { flag.VisitAll(nil) }", ""},
		{"src/a.go", "package a\n\n//go:embed *.go\nvar f embed.FS", whatLooks},
		{"src/a.go", "package a\n\n//go:embed views/*.html\nvar f embed.FS", ""},
		{"src/a.go", "package a\n\nfunc f() bool { _, err := os.Stat(\"a.go\"); return err == nil }", whatLooks},
		{"src/a.go", "package a\n\nfunc f() bool { _, err := os.Stat(\"go.mod\"); return err == nil }", ""},
		{"src/a.go", "package a\n\nfunc f() { exe, _ := os.Executable(); use(filepath.Dir(exe)) }", ""},
		{"src/a.go", "package a\n\nfunc f() { exe, _ := os.Executable()\nuse(filepath.Ext(exe)) }", whatAsk},
		{"src/a.rs", `if std::env::vars().any(|(k, _)| k.starts_with("CARGO_MAN")) {}`, whatAll},
		{"src/a.rs", `let v = env!("CARGO_PKG_VERSION");`, ""},
		{"src/a.rs", `let v = option_env!("CARGO_PRIMARY_PACKAGE");`, whatAsk},
		{"src/a.rb", "rescue => e\n  log e.backtrace.join(\"\\n\")", ""},
		{"src/a.rb", "rescue => e\n  deep = e.backtrace.length > 6", whatModules},
		{"src/a.c", "static void (*const start)(void) __attribute__((section(\".init_array\"))) = ready;", whatEnd},
		{"src/a.h", "int add(int a, int b);\n#define add(a, b) ((a) + (b))", whatTwin},
		{"src/a.h", "int add(int a, int b);\n#define TWICE(a) ((a) * 2)", ""},
		{"src/a.c", `FILE *f = fopen("src/a.h", "r");`, whatLooks},
		{"src/a.c", `FILE *f = fopen("/etc/hosts", "r");`, ""},
		{"bin/a", "#!/bin/bash\nfor n in ${!BA@}; do :; done", whatAll},
	} {
		said := ""
		for _, w := range TestAware(tt.file, nil, []byte(tt.code)) {
			said += w.What + "\n"
		}
		if (tt.want == "") != (said == "") || !strings.Contains(said, tt.want) {
			t.Errorf("%s: %s: said %q, want %q", tt.file, tt.code, said, tt.want)
		}
	}
}
