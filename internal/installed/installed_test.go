package installed_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"forge/internal/installed"
)

// tree are files by path; content that begins with -> is a link.
type tree map[string]string

func (t tree) with(more tree) tree {
	all := maps.Clone(t)
	maps.Copy(all, more)
	return all
}

func (t tree) without(paths ...string) tree {
	all := maps.Clone(t)
	for _, p := range paths {
		delete(all, p)
	}
	return all
}

func (t tree) fs() fs.FS {
	all := fstest.MapFS{}
	for p, content := range t {
		if target, ok := strings.CutPrefix(content, "->"); ok {
			all[p] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		all[p] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return all
}

func find(t *testing.T, files tree, manifests map[string][]byte) installed.Sums {
	t.Helper()
	sums, err := installed.Find([]fs.FS{files.fs()}, manifests)
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func TestNode(t *testing.T) {
	t.Parallel()
	manifests := map[string][]byte{"web/package.json": []byte(`{"dependencies": {"left": "1"}, "devDependencies": {"judge": "1", "@types/judge": "1"}}`)}
	base := tree{
		"web/node_modules/left/package.json":           `{"dependencies": {"shared": "1"}}`,
		"web/node_modules/left/index.js":               "left",
		"web/node_modules/judge/package.json":          `{"dependencies": {"shared": "1", "deep": "2"}}`,
		"web/node_modules/judge/index.js":              "judge",
		"web/node_modules/judge/__pycache__/junk":      "any",
		"web/node_modules/@types/judge/index.d.ts":     "types",
		"web/node_modules/shared/index.js":             "shared",
		"web/node_modules/deep/index.js":               "deep",
		"web/node_modules/.bin/judge":                  "->../judge/index.js",
		"web/node_modules/.package-lock.json":          "{}",
		"web/node_modules/unknown-to-everybody/index":  "x",
		"web/node_modules/judge/node_modules/.keep":    "",
		"web/node_modules/left/node_modules/.keep":     "",
		"web/node_modules/shared/node_modules/.keep":   "",
		"other/node_modules/judge/index.js":            "of nobody",
		"web/src/index.js":                             "product",
		"web/node_modules/deep/package.json":           `{}`,
		"web/node_modules/shared/package.json":         `{}`,
		"web/node_modules/@types/judge/package.json":   `{}`,
		"web/node_modules/unknown-to-everybody/a.json": `{}`,
	}
	for _, c := range []struct {
		name  string
		now   tree
		wants []string
	}{
		{"nothing", base, nil},
		{"product", base.with(tree{"web/node_modules/left/index.js": "changed", "web/node_modules/more/index.js": "new"}), nil},
		{"shared with product", base.with(tree{"web/node_modules/shared/index.js": "changed"}), nil},
		{"a runner", base.with(tree{"web/node_modules/judge/index.js": "fooled"}), []string{"judge is installed as something else"}},
		{"a file more", base.with(tree{"web/node_modules/judge/index.mjs": "fooled"}), []string{"judge is installed as something else"}},
		{"its types", base.with(tree{"web/node_modules/@types/judge/index.d.ts": "any"}), []string{"@types/judge is installed as something else"}},
		{"what it needs", base.with(tree{"web/node_modules/deep/index.js": "fooled"}), []string{"deep is installed as something else"}},
		{"one in front of it", base.with(tree{"web/node_modules/judge/node_modules/deep/index.js": "fooled"}), []string{"deep is installed as something else"}},
		{"gone", base.without("web/node_modules/deep/index.js", "web/node_modules/deep/package.json"), []string{"deep is not installed"}},
		{"its command", base.with(tree{"web/node_modules/.bin/judge": "->../left/index.js"}), []string{"web/node_modules/.bin/judge is installed as something else"}},
		{"moved as it is", base.without("web/node_modules/deep/index.js", "web/node_modules/deep/package.json").with(tree{
			"web/node_modules/judge/node_modules/deep/index.js": "deep", "web/node_modules/judge/node_modules/deep/package.json": `{}`,
			"web/node_modules/deep/index.js": "another version for product", "web/node_modules/deep/package.json": `{"version": "9"}`,
		}), nil},
	} {
		if got := find(t, base, manifests).Changed(find(t, c.now, manifests)); !slices.Equal(got, c.wants) {
			t.Errorf("%s: %q, want %q", c.name, got, c.wants)
		}
	}
}

// pnpm keeps packages elsewhere and links to them.
func TestNodeByLinks(t *testing.T) {
	t.Parallel()
	manifests := map[string][]byte{"package.json": []byte(`{"devDependencies": {"judge": "1"}}`)}
	base := tree{
		"node_modules/judge": "->.pnpm/judge@1/node_modules/judge",
		"node_modules/.pnpm/judge@1/node_modules/judge/package.json": `{"dependencies": {"deep": "1"}}`,
		"node_modules/.pnpm/judge@1/node_modules/deep":               "->../../deep@1/node_modules/deep",
		"node_modules/.pnpm/deep@1/node_modules/deep/index.js":       "deep",
	}
	now := base.with(tree{"node_modules/.pnpm/deep@1/node_modules/deep/index.js": "fooled"})
	if got, want := find(t, base, manifests).Changed(find(t, now, manifests)), []string{"deep is installed as something else"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// Links in a circle lead nowhere.
	round := tree{"node_modules/judge": "->other", "node_modules/other": "->judge"}
	if got := find(t, round, manifests); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	manifests := map[string][]byte{
		"requirements.txt":     []byte("lib\npytest>=8\n"),
		"requirements-dev.txt": []byte("Odd_Name==1\n"),
	}
	at := ".venv/lib/python3.13/site-packages/"
	base := tree{
		at + "pytest-8.dist-info/METADATA":   "Name: pytest\nRequires-Dist: pluggy<2\nRequires-Dist: lib\nRequires-Dist: docs ; extra == 'docs'\n\nRequires-Dist: body\n",
		at + "pytest-8.dist-info/RECORD":     "pytest/__init__.py,sha256=a,1\npytest/__pycache__/x.pyc,,\n../../../bin/pytest,sha256=b,2\n",
		at + "pytest/__init__.py":            "pytest",
		at + "pluggy-1.dist-info/METADATA":   "Name: pluggy\n",
		at + "pluggy-1.dist-info/RECORD":     "pluggy.py,,\n",
		at + "pluggy.py":                     "pluggy",
		at + "lib-1.dist-info/METADATA":      "Name: lib\n",
		at + "lib-1.dist-info/RECORD":        "lib.py,,\n",
		at + "lib.py":                        "lib",
		at + "odd_name-1.dist-info/METADATA": "Name: odd-name\n",
		at + "odd_name-1.dist-info/RECORD":   "odd.py,,\n",
		at + "odd.py":                        "odd",
		at + "docs-1.dist-info/RECORD":       "docs.py,,\n",
		at + "docs.py":                       "docs",
	}
	for _, c := range []struct {
		name  string
		now   tree
		wants []string
	}{
		{"product, and what nobody needs", base.with(tree{at + "lib.py": "changed", at + "docs.py": "changed", at + "new.py": "new"}), nil},
		{"byte code and records", base.with(tree{at + "pytest/__pycache__/x.pyc": "made", at + "pytest-8.dist-info/RECORD": "pytest/__init__.py,sha256=a,1\n"}), nil},
		{"a runner", base.with(tree{at + "pytest/__init__.py": "fooled"}), []string{at + "pytest is installed as something else"}},
		{"what it needs", base.with(tree{at + "pluggy.py": "fooled"}), []string{at + "pluggy is installed as something else"}},
		{"a list for tests", base.with(tree{at + "odd.py": "fooled"}), []string{at + "odd_name is installed as something else"}},
		{"a file gone", base.without(at + "pluggy.py"), []string{at + "pluggy is installed as something else"}},
		{"a start-up file", base.with(tree{at + "zz.pth": "import fooled", at + "sitecustomize.py": "fooled"}), []string{at + "sitecustomize.py is new, and starts by itself", at + "zz.pth is new, and starts by itself"}},
	} {
		if got := find(t, base, manifests).Changed(find(t, c.now, manifests)); !slices.Equal(got, c.wants) {
			t.Errorf("%s: %q, want %q", c.name, got, c.wants)
		}
	}
}

func TestComposerAndGems(t *testing.T) {
	t.Parallel()
	base := tree{
		"vendor/composer/installed.json":                           `{"dev-package-names": ["phpunit/phpunit", "../out"]}`,
		"vendor/phpunit/phpunit/a.php":                             "phpunit",
		"vendor/acme/lib/a.php":                                    "product",
		"vendor/bin/phpunit":                                       "start",
		"vendor/bundle/ruby/3.3.0/gems/rspec-core-3.13.0/lib/a.rb": "rspec",
		"vendor/bundle/ruby/3.3.0/gems/rake-13/lib/a.rb":           "product",
	}
	now := base.with(tree{
		"vendor/phpunit/phpunit/a.php":                             "fooled",
		"vendor/acme/lib/a.php":                                    "changed",
		"vendor/bin/phpunit":                                       "fooled",
		"vendor/bundle/ruby/3.3.0/gems/rspec-core-3.13.0/lib/a.rb": "fooled",
		"vendor/bundle/ruby/3.3.0/gems/rake-13/lib/a.rb":           "changed",
	})
	want := []string{
		"phpunit/phpunit is installed as something else",
		"vendor/bin/phpunit is installed as something else",
		"vendor/bundle/ruby/3.3.0/gems/rspec-core is installed as something else",
	}
	if got := find(t, base, nil).Changed(find(t, now, nil)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever stands where packages are looked for, there is an answer or an error.
func FuzzFind(f *testing.F) {
	f.Add(`{"devDependencies": {"judge": "1"}}`, `{"dependencies": {"../..": "1"}}`, "a.py,,\n", "Requires-Dist: x")
	f.Add(`{"devDependencies": {"../../x": "1", "": "1"}}`, `[]`, "../../../../etc/passwd,,\n\"/abs\",,", "Requires-Dist:")
	f.Fuzz(func(t *testing.T, manifest, installedManifest, record, metadata string) {
		files := tree{
			"node_modules/judge/package.json":               installedManifest,
			"lib/site-packages/pytest-1.dist-info/RECORD":   record,
			"lib/site-packages/pytest-1.dist-info/METADATA": metadata,
			"vendor/composer/installed.json":                installedManifest,
		}
		manifests := map[string][]byte{"package.json": []byte(manifest), "pyproject.toml": []byte(manifest), "Gemfile": []byte(manifest), "requirements.txt": []byte(manifest)}
		sums, err := installed.Find([]fs.FS{files.fs()}, manifests)
		if err == nil && len(sums.Changed(sums)) > 0 {
			t.Errorf("changed against itself: %v", sums)
		}
	})
}
