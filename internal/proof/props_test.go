package proof

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// somePaths are of all classes, in trees of all ecosystems.
var somePaths = []string{
	"calc.py", "tests/test_calc.py", "requirements.txt", "pytest.ini", "golden/out.txt", "new.py", "pytest.py", ".env", "src/lib.rs", "src/new.rs", "Cargo.toml", "Cargo.lock",
	"package.json", "package-lock.json", "calc.js", "src/x.ts", "go.mod", "go.sum", "calc_test.go", "Makefile", "x.md", "x.unknown", "Gemfile", "yarn.lock", "pnpm-lock.yaml", "uv.lock",
	"Gemfile.lock", "composer.json", "composer.lock", "pyproject.toml", "poetry.lock", "a/../b", "/x", "../x", "", "sub/go.mod",
}

var someContents = []string{
	"", "x", rustBase, "{}", `{"dependencies":{"a":"1"}}`, `{"scripts":{"test":"x"},"dependencies":{"a":"1","b":"^2.0.0"}}`, "requests\nrich==1\n", "[package]\nname='a'\n[dependencies]\nb='1'\n",
	"[[package]]\nname='b'\nversion='1'\nsource='registry+x'\n", "module m\n\nrequire x.y/z v1.0.0\n", "x.y/z v1.0.0 h1:a=\n", "def f():\n    \"\"\"\n    >>> f()\n    1\n    \"\"\"\n", "if (import.meta.vitest) { a }\n",
	"gem \"a\"\n", "GEM\n  remote: x\n  specs:\n    a (1)\n", "\"a@^1\":\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz\"\n", "packages:\n\n  /a@1.0.0:\n    resolution: {integrity: x}\n",
}

func trees(t testing.TB) []*Map {
	var out []*Map
	for _, m := range []memory{pythonTree, nodeTree, goTree, rustTree, {"src/lib.rs": rustBase}, {}} {
		out = append(out, survey1(t, m, "make test", "npm test"))
	}
	return out
}

func TestMixLaws(t *testing.T) {
	maps := trees(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(maps).Draw(t, "map")
		file := rapid.OneOf(rapid.SampledFrom(somePaths), rapid.StringMatching(`([a-z.]{1,6}/){0,2}[a-z_.]{1,8}(\.(py|js|rs|json|txt|toml|go))?`)).Draw(t, "path")
		content := rapid.Custom(func(t *rapid.T) []byte {
			if rapid.Bool().Draw(t, "absent") {
				return nil
			}
			return []byte(rapid.OneOf(rapid.SampledFrom(someContents), rapid.String()).Draw(t, "content"))
		})
		was, now := content.Draw(t, "was"), content.Draw(t, "now")

		if got := m.Mix(file, was, was); got.How != Same || !same(got.Content, was) {
			t.Fatalf("equal contents are %s: %q", got.How, got.Content)
		}
		got := m.Mix(file, was, now)
		switch got.Seen.Class {
		case Evidence:
			if !same(got.Content, was) {
				t.Fatalf("evidence is not as trusted: %q", got.Content)
			}
			if (got.How == Same) != same(was, now) {
				t.Fatalf("How is %s", got.How)
			}
		case Product:
			if !same(got.Content, now) || got.How != Same {
				t.Fatalf("product is not the snapshot's")
			}
		case Parts:
			if got.How == Same && !same(got.Content, now) {
				t.Fatalf("same, but not the snapshot's: %q", got.Content)
			}
			// What stands there is mixed already.
			if again := m.Mix(file, was, got.Content); !same(again.Content, got.Content) {
				t.Fatalf("mixed twice differs: %q, %q", got.Content, again.Content)
			}
		default:
			t.Fatalf("class %q", got.Seen.Class)
		}
		if got.Seen.Rule == "" || got.Seen.Why == "" || got.Seen.Path != file {
			t.Fatalf("not said: %+v", got.Seen)
		}
	})
}

func TestMapSurvivesJSON(t *testing.T) {
	for _, m := range trees(t) {
		data, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadMap(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.JSON()
		if err != nil || !bytes.Equal(data, again) {
			t.Fatalf("written again it differs: %v", err)
		}
		for _, p := range append(m.names(), somePaths...) {
			if m.See(p, nil) != back.See(p, nil) {
				t.Errorf("%s is seen otherwise", p)
			}
		}
	}
	for _, bad := range []string{"", "{}", `{"version":9,"files":{}}`, `{"version":1}`} {
		if _, err := ReadMap([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func (m *Map) names() []string {
	var out []string
	for p := range m.Files {
		out = append(out, p)
	}
	return out
}

// TestSurveyTwice holds that a map depends on nothing but the tree.
func TestSurveyTwice(t *testing.T) {
	for range 5 {
		for i, m := range trees(t) {
			a, errA := m.JSON()
			b, errB := trees(t)[i].JSON()
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Fatalf("two surveys differ:\n%s\n%s", a, b)
			}
		}
	}
}

func TestSurveyFails(t *testing.T) {
	if _, err := Survey(unreadable{memory{"a.py": ""}}, Settings{}); err == nil {
		t.Error("a file that cannot be read is passed over")
	}
	if _, err := Survey(memory{}, Settings{Evidence: []string{"["}}); err == nil {
		t.Error("a glob that is none is passed over")
	}
}

type unreadable struct{ memory }

func (unreadable) Read(string) ([]byte, error) { return nil, fmt.Errorf("no") }

func TestOwner(t *testing.T) {
	m, err := Survey(memory{"tests/a.py": "", "oracle.py": "", "app/x.cfg": ""}, Settings{Product: []string{"*.cfg", "tests/**"}, Evidence: []string{"oracle.py", "tests/hard/**"}, Opened: []string{"app/x.cfg"}})
	if err != nil {
		t.Fatal(err)
	}
	sees(t, m, Product, "app/x.cfg tests/a.py tests/new.py")
	sees(t, m, Evidence, "oracle.py tests/hard/a.py")
}

func TestOpened(t *testing.T) {
	files := memory{"app/main.py": "open('app/rates.html')", "app/rates.html": "", "app/seen.html": "", "app/more.html": "", "app/locales/de.yml": "", "app/data/sums.json": "", "test_main.py": "import app.main"}
	m, err := Survey(files, Settings{Opened: []string{"app/rates.html", "app/seen.html", "app/main.py", "app/locales/de.yml", "app/data/sums.json"}})
	if err != nil {
		t.Fatal(err)
	}
	sees(t, m, Product, "app/main.py app/rates.html app/more.html app/locales/de.yml")
	sees(t, m, Evidence, "app/seen.html app/data/sums.json")
}

func TestLocks(t *testing.T) {
	npm := `{"name":"x","lockfileVersion":3,"packages":{"":{"dependencies":{"a":"^1"}},"node_modules/a":{"version":"1.0.0","resolved":"https://registry.npmjs.org/a/-/a-1.0.0.tgz","integrity":"x"}}}`
	entry := func(name, resolved, more string) string {
		return strings.Replace(npm, `"node_modules/a":`, `"node_modules/`+name+`":{"version":"1.0.0","resolved":"`+resolved+`","integrity":"y"`+more+`},"node_modules/a":`, 1)
	}
	goodB := "https://registry.npmjs.org/b/-/b-1.0.0.tgz"
	yarn := "\"a@^1\":\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#x\"\n"
	pnpm := "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      a:\n        specifier: ^1\n        version: 1.0.0\n\npackages:\n\n  a@1.0.0:\n    resolution: {integrity: x}\n\nsnapshots:\n\n  a@1.0.0: {}\n"
	gems := "GEM\n  remote: https://rubygems.org/\n  specs:\n    rack (3.0)\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  rack\n"
	cargo := rustTree["Cargo.lock"]
	sum := "a.b/c v1.0.0 h1:x=\na.b/c v1.0.0/go.mod h1:y=\n"
	composer := `{"content-hash":"1","packages":[{"name":"a/b","version":"1","dist":{"type":"zip","url":"https://api.github.com/x"}}],"packages-dev":[]}`
	uv := "version = 1\n[[package]]\nname = \"me\"\nversion = \"0.1\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"a\" }]\n[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"https://pypi.org/simple\" }\n"
	vendored := "# a.b/c v1.0.0\n## explicit; go 1.22\na.b/c\n"
	files := memory{"test.js": "require('imported')", "test_x.py": "import yaml", "x_test.go": "package x\n\nimport \"t.e/st\"\n", "go.mod": "module me\n"}
	for name, content := range map[string]string{"package-lock.json": npm, "yarn.lock": yarn, "pnpm-lock.yaml": pnpm, "Gemfile.lock": gems, "Cargo.lock": cargo, "go.sum": sum, "composer.lock": composer, "uv.lock": uv, "vendor/modules.txt": vendored} {
		files[name] = content
	}
	m := survey1(t, files)
	for _, tt := range []struct {
		file, now string
		ok        bool
	}{
		{"package-lock.json", entry("b", goodB, ""), true},
		{"package-lock.json", strings.Replace(entry("b", goodB, ""), `{"a":"^1"}`, `{"a":"^1","b":"1"}`, 1), true},
		{"package-lock.json", entry("b", "file:evil", ""), false},
		{"package-lock.json", entry("b", "https://evil.example/b.tgz", ""), false},
		{"package-lock.json", entry("b", goodB, `,"hasInstallScript":true`), false},
		{"package-lock.json", entry("b", goodB, `,"link":true`), false},
		{"package-lock.json", entry("b", goodB, `,"name":"c"`), false},
		{"package-lock.json", entry("imported", "https://registry.npmjs.org/imported/-/imported-1.tgz", ""), false},
		{"package-lock.json", strings.Replace(npm, "a-1.0.0.tgz", "a-2.0.0.tgz", 1), false},
		{"package-lock.json", strings.Replace(npm, `"lockfileVersion":3`, `"lockfileVersion":2`, 1), false},
		{"package-lock.json", strings.Replace(npm, `"packages":{`, `"packages":{"evil":{"version":"1"},`, 1), false},
		{"yarn.lock", yarn + "\n\"b@^1\":\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/b/-/b-1.0.0.tgz#x\"\n", true},
		{"yarn.lock", yarn + "\n\"b@file:x\":\n  version \"1.0.0\"\n", false},
		{"yarn.lock", strings.Replace(yarn, "a-1.0.0", "a-2.0.0", 1), false},
		{"pnpm-lock.yaml", strings.Replace(strings.Replace(pnpm, "  a@1.0.0:\n", "  b@1.0.0:\n    resolution: {integrity: y}\n\n  a@1.0.0:\n", 1), "  a@1.0.0: {}", "  b@1.0.0: {}\n\n  a@1.0.0: {}", 1), true},
		{"pnpm-lock.yaml", strings.Replace(pnpm, "  a@1.0.0:\n", "  b@1.0.0:\n    resolution: {tarball: https://x}\n\n  a@1.0.0:\n", 1), false},
		{"pnpm-lock.yaml", strings.Replace(pnpm, "version: 1.0.0", "version: link:../a", 1), false},
		{"pnpm-lock.yaml", pnpm + "\noverrides:\n  a: 2\n", false},
		{"Gemfile.lock", strings.Replace(strings.Replace(gems, "    rack (3.0)", "    puma (6.0)\n      nio4r (~> 2)\n    nio4r (2.0)\n    rack (3.0)", 1), "  rack\n", "  puma\n  rack\n", 1), true},
		{"Gemfile.lock", strings.Replace(gems, "rack (3.0)", "rack (2.0)", 1), false},
		{"Gemfile.lock", "PATH\n  remote: evil\n  specs:\n    evil (1)\n\n" + gems, false},
		{"Cargo.lock", strings.Replace(cargo, `dependencies = ["serde"]`, `dependencies = ["rand", "serde"]`, 1) + "[[package]]\nname = \"rand\"\nversion = \"0.8.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n", true},
		{"Cargo.lock", cargo + "[[package]]\nname = \"evil\"\nversion = \"0.8.0\"\n", false},
		{"Cargo.lock", strings.Replace(cargo, "1.0.0", "1.0.1", 1), false},
		{"Cargo.lock", strings.Replace(cargo, `checksum = "x"`, `checksum = "y"`, 1), false},
		{"go.sum", sum + "d.e/f v1.0.0 h1:z=\n", true},
		{"go.sum", strings.Replace(sum, "h1:x=", "h1:z=", 1), false},
		{"go.sum", "a.b/c v1.0.0 h1:x=\n", false},
		{"vendor/modules.txt", vendored + "# d.e/f v1.2.3\n## explicit\nd.e/f\n", true},
		{"vendor/modules.txt", vendored + "# t.e/st v1.2.3\n## explicit\nt.e/st\n", false},
		{"vendor/modules.txt", vendored + "# d.e/f v1.2.3 => ./evil\n## explicit\nd.e/f\n", false},
		{"vendor/modules.txt", vendored + "# d.e/f => ./evil\n", false},
		{"vendor/modules.txt", vendored + "a.b/c/more\n", false},
		{"vendor/modules.txt", strings.Replace(vendored, "v1.0.0", "v1.0.1", 1), false},
		{"vendor/modules.txt", "# d.e/f v1.2.3\nd.e/f\n", false},
		{"composer.lock", strings.Replace(composer, `"packages":[`, `"packages":[{"name":"c/d","version":"1","dist":{"type":"zip","url":"https://api.github.com/y"}},`, 1), true},
		{"composer.lock", strings.Replace(composer, `"packages":[`, `"packages":[{"name":"c/d","version":"1","dist":{"type":"path","url":"evil"}},`, 1), false},
		{"uv.lock", strings.Replace(uv, "[{ name = \"a\" }]", "[{ name = \"a\" }, { name = \"b\" }]", 1) + "[[package]]\nname = \"b\"\nversion = \"1\"\nsource = { registry = \"https://pypi.org/simple\" }\n", true},
		{"uv.lock", uv + "[[package]]\nname = \"b\"\nversion = \"1\"\nsource = { directory = \"evil\" }\n", false},
		{"uv.lock", uv + "[[package]]\nname = \"pyyaml\"\nversion = \"1\"\nsource = { registry = \"https://pypi.org/simple\" }\n", false},
	} {
		was := files[tt.file]
		if was == tt.now {
			t.Fatalf("%s: nothing is changed", tt.file)
		}
		got := m.Mix(tt.file, []byte(was), []byte(tt.now))
		if ok := got.How == Same && string(got.Content) == tt.now; ok != tt.ok || !ok && string(got.Content) != was {
			t.Errorf("%s: %s (%s, %s)\n%s", tt.file, got.How, got.Note, got.Seen.Why, tt.now)
		}
	}
}

func FuzzManifests(f *testing.F) {
	for _, c := range someContents {
		f.Add(c, c)
	}
	m, err := Survey(nodeTree, Settings{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, was, now string) {
		for file := range lockReaders {
			if got, err := m.mixLock(file, []byte(was), []byte(now)); err == nil && string(got.Content) != was && string(got.Content) != now {
				t.Fatalf("%s is neither", file)
			}
		}
		for _, file := range []string{"package.json", "composer.json", "pyproject.toml", "Cargo.toml", "go.mod", "requirements.txt", "Gemfile"} {
			got, err := m.mixManifest(file, []byte(was), []byte(now))
			if err != nil {
				continue
			}
			again, err := m.mixManifest(file, []byte(was), got.Content)
			if err != nil || !bytes.Equal(again.Content, got.Content) {
				t.Fatalf("%s: mixed twice differs: %v\n%s\n%s", file, err, got.Content, again.Content)
			}
		}
		if got, err := Survey(memory{"a.json": was, "tox.ini": now, "Makefile": was, "jest.config.js": now, "phpunit.xml": was, "CMakeLists.txt": now, ".mocharc.yml": was, "t.sh": now}, Settings{Commands: []string{was, "make", "./t.sh"}}); err != nil && got != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkSurvey(b *testing.B) {
	files := memory{"go.mod": "module m\n", "package.json": `{"scripts":{"test":"jest"}}`}
	for i := range 20000 {
		dir := fmt.Sprintf("src/p%d", i/20)
		switch i % 5 {
		case 0:
			files[fmt.Sprintf("%s/f%d.go", dir, i)] = "package p\n\nimport (\n\t\"fmt\"\n\t\"m/src/p1\"\n)\n" + strings.Repeat("// Add adds.\nfunc Add(a, b int) string { return fmt.Sprintf(\"%d\", a+b) }\n", 30)
		case 1:
			files[fmt.Sprintf("%s/f%d.ts", dir, i)] = "import { x } from './f2'\n" + strings.Repeat("export const add = (a: number) => { return `${a} and` + 'more' }\n", 40)
		case 2:
			files[fmt.Sprintf("%s/f%d.py", dir, i)] = "import os\nfrom src.p1 import f2\n" + strings.Repeat("def add(a, b):\n    return os.path.join('a', \"b\")\n", 40)
		case 3:
			files[fmt.Sprintf("%s/f%d.test.ts", dir, i)] = "import { x } from './f1'\n" + strings.Repeat("it('adds', () => { expect(x('./a/b.json')).toBe(3) })\n", 40)
		default:
			files[fmt.Sprintf("%s/f%d_test.go", dir, i)] = "package p\n\nimport \"testing\"\n" + strings.Repeat("func TestX(t *testing.T) { t.Run(\"testdata/x\", nil) }\n", 40)
		}
	}
	b.ResetTimer()
	for range b.N {
		survey1(b, files, "npm test", "go test ./...")
	}
}
