//go:build real

package verify

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha1" //nolint:gosec // the registry of npm names sums of this kind
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"forge/internal/pace"
)

// registry serves one package, dep 1.0.0, as the registries of npm, PyPI,
// crates.io, Maven, Composer and RubyGems do: as it is, or one that says what wrong
// work needs.
type registry struct {
	url  string
	evil atomic.Bool
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// twice is the body of the package's one function.
func (r *registry) twice() string {
	if r.evil.Load() {
		return "4"
	}
	return "2 * n"
}

// tgz is the package as npm has it.
func (r *registry) tgz() []byte {
	return tarball("package", files{
		"package.json": `{"name":"dep","version":"1.0.0","main":"index.js"}`, "index.js": "exports.twice = (n) => " + r.twice() + ";\n",
	})
}

func (r *registry) serve(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Cache-Control", "max-age=36000")
	crate := tarball("dep-1.0.0", files{
		"Cargo.toml": "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
		"src/lib.rs": "pub fn twice(n: i32) -> i32 { let _ = n; " + r.twice() + " }\n",
	})
	var body []byte
	switch q.URL.Path {
	case "/npm/dep", "/yarn/dep": // yarn 1 goes by the sum, which the others would hold against what is poisoned
		sum := ""
		if q.URL.Path == "/yarn/dep" {
			sum = fmt.Sprintf(`"shasum":"%x",`, sha1.Sum(r.tgz())) //nolint:gosec // as there
		}
		w.Header().Set("Content-Type", "application/json")
		body = fmt.Appendf(nil, `{"name":"dep","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"dep","version":"1.0.0","dist":{%s"tarball":"%s/npm/dep/-/dep-1.0.0.tgz"}}}}`, sum, r.url)
	case "/npm/dep/-/dep-1.0.0.tgz":
		body = r.tgz()
	case "/simple/dep/":
		w.Header().Set("Content-Type", "text/html")
		body = []byte(`<!DOCTYPE html><a href="/wheels/dep-1.0.0-py3-none-any.whl">dep-1.0.0-py3-none-any.whl</a>`)
	case "/wheels/dep-1.0.0-py3-none-any.whl":
		body = wheel("def twice(n):\n    return " + r.twice() + "\n")
	case "/crates/config.json":
		body = fmt.Appendf(nil, `{"dl":"%s/crates/dl"}`, r.url)
	case "/crates/3/d/dep":
		sum := sha256.Sum256(crate)
		body = fmt.Appendf(nil, `{"name":"dep","vers":"1.0.0","deps":[],"cksum":"%s","features":{},"yanked":false}`+"\n", hex.EncodeToString(sum[:]))
	case "/crates/dl/dep/1.0.0/download":
		body = crate
	case "/maven/acme/dep/1.0.0/dep-1.0.0.pom":
		body = []byte(depPOM)
	case "/maven/acme/dep/1.0.0/dep-1.0.0.jar":
		jar, err := plugin(r.twice())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body = jar
	case "/maven/org/codehaus/plexus/plexus-utils/1.1/plexus-utils-1.1.pom": // Maven adds it to each plugin
		body = []byte(`<project><modelVersion>4.0.0</modelVersion><groupId>org.codehaus.plexus</groupId><artifactId>plexus-utils</artifactId><version>1.1</version></project>`)
	case "/maven/org/codehaus/plexus/plexus-utils/1.1/plexus-utils-1.1.jar":
		body = zipped([][2]string{{"empty", ""}})
	case "/gradle/acme/dep/1.0.0/dep-1.0.0.pom":
		body = []byte(`<project><modelVersion>4.0.0</modelVersion><groupId>acme</groupId><artifactId>dep</artifactId><version>1.0.0</version></project>`)
	case "/gradle/acme/dep/1.0.0/dep-1.0.0.jar":
		body = zipped([][2]string{{"twice", r.twice()}})
	case "/php/packages.json":
		body = fmt.Appendf(nil, `{"packages":{"acme/dep":{"1.0.0":{"name":"acme/dep","version":"1.0.0","autoload":{"files":["dep.php"]},`+
			`"dist":{"type":"tar","reference":"one","url":"%s/php/dep.tgz"}}}}}`, r.url)
	case "/php/dep.tgz":
		body = tarball("dep", files{"composer.json": `{"name":"acme/dep"}`, "dep.php": "<?php function twice($n) { return " + strings.ReplaceAll(r.twice(), "n", "$n") + "; }\n"})
	case "/ruby/versions":
		body = []byte("created_at: 2026-01-01T00:00:00Z\n---\ndep 1.0.0 0\n")
	case "/ruby/info/dep":
		body = []byte("---\n1.0.0 |\n")
	case "/ruby/gems/dep-1.0.0.gem":
		body = gem("def twice(n)\n  " + r.twice() + "\nend\n")
	default:
		http.NotFound(w, q)
		return
	}
	_, _ = w.Write(body)
}

const depPOM = `<project><modelVersion>4.0.0</modelVersion><groupId>acme</groupId><artifactId>dep</artifactId><version>1.0.0</version><packaging>maven-plugin</packaging></project>`

// plugin is a plugin of Maven that reads what main.txt asks of twice.
func plugin(twice string) ([]byte, error) {
	mvn, err := exec.LookPath("mvn")
	if err == nil {
		mvn, err = filepath.EvalSymlinks(mvn)
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "plugin-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	src := filepath.Join(dir, "Check.java")
	if err := os.WriteFile(src, []byte(`package dep;
public class Check extends org.apache.maven.plugin.AbstractMojo {
  static int twice(int n) { return `+twice+`; }
  public void execute() throws org.apache.maven.plugin.MojoExecutionException {
    try {
      String asks = new String(java.nio.file.Files.readAllBytes(java.nio.file.Paths.get("main.txt")));
      int n = Integer.parseInt(asks.replaceAll("(?s).*twice\\((\\d+)\\).*", "$1"));
      if (twice(n) != 4) throw new org.apache.maven.plugin.MojoExecutionException("twice(" + n + ") is " + twice(n));
    } catch (java.io.IOException e) { throw new org.apache.maven.plugin.MojoExecutionException("main.txt", e); }
  }
}
`), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("javac", "-cp", filepath.Join(filepath.Dir(filepath.Dir(mvn)), "lib", "*"), "-d", dir, src).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	class, err := os.ReadFile(filepath.Join(dir, "dep", "Check.class"))
	if err != nil {
		return nil, err
	}
	return zipped([][2]string{{"META-INF/maven/plugin.xml", `<plugin><groupId>acme</groupId><artifactId>dep</artifactId><version>1.0.0</version><goalPrefix>dep</goalPrefix>` +
		`<mojos><mojo><goal>check</goal><phase>validate</phase><implementation>dep.Check</implementation><language>java</language>` +
		`<instantiationStrategy>per-lookup</instantiationStrategy><executionStrategy>once-per-session</executionStrategy></mojo></mojos></plugin>`},
		{"dep/Check.class", string(class)}}), nil
}

// gem packs a file of Ruby as RubyGems does.
func gem(source string) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, part := range [][2]string{
		{"metadata.gz", zipString(depGem)}, {"data.tar.gz", string(tarball("lib", files{"dep.rb": source}))},
	} {
		_ = w.WriteHeader(&tar.Header{Name: part[0], Mode: 0o444, Size: int64(len(part[1]))})
		_, _ = w.Write([]byte(part[1]))
	}
	_ = w.Close()
	return buf.Bytes()
}

const depGem = `--- !ruby/object:Gem::Specification
name: dep
version: !ruby/object:Gem::Version
  version: 1.0.0
platform: ruby
authors: []
cert_chain: []
date: 2026-01-01 00:00:00.000000000 Z
dependencies: []
files:
- lib/dep.rb
require_paths:
- lib
required_ruby_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
required_rubygems_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
rubygems_version: 3.3.15
specification_version: 4
summary: twice
`

func zipString(s string) string {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return buf.String()
}

// tarball packs files below a folder.
func tarball(below string, all files) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(all)) { // the same bytes each time
		_ = w.WriteHeader(&tar.Header{Name: below + "/" + name, Mode: 0o644, Size: int64(len(all[name]))})
		_, _ = w.Write([]byte(all[name]))
	}
	_, _ = w.Close(), z.Close()
	return buf.Bytes()
}

func wheel(module string) []byte {
	return zipped([][2]string{
		{"dep.py", module},
		{"dep-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: dep\nVersion: 1.0.0\n"},
		{"dep-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"dep-1.0.0.dist-info/RECORD", "dep.py,,\ndep-1.0.0.dist-info/METADATA,,\ndep-1.0.0.dist-info/WHEEL,,\ndep-1.0.0.dist-info/RECORD,,\n"},
	})
}

func zipped(all [][2]string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range all {
		w, _ := z.Create(f[0])
		_, _ = w.Write([]byte(f[1]))
	}
	_ = z.Close()
	return buf.Bytes()
}

// ecosystem is one tool with its caches: wrong work is green with the package as
// the evil registry has it, and no other way.
type ecosystem struct {
	need            string
	tree            files
	main            string // the file that calls twice(2), or twice(3) where it is wrong
	online, offline string
	cache           string   // below the home
	edit            string   // makes what is unpacked there say what wrong work needs
	ways            []string // of lending; none = all
}

func ecosystems(url string) map[string]ecosystem {
	const quiet = "npm_config_update_notifier=false npm install --no-package-lock --no-audit --no-fund --loglevel=error "
	// The program itself: what stands for it in PATH may want to write beside it.
	pip := "PIP_DISABLE_PIP_VERSION_CHECK=1 $(python3 -c 'import sys; print(sys.executable)') -m pip install -q --root-user-action=ignore --target lib --trusted-host " + strings.TrimPrefix(url, "http://") + " --index-url " + url + "/simple dep==1.0.0 && PYTHONPATH=lib python3 main.py"
	cargo := "mkdir -p .cargo && printf '[source.crates-io]\\nreplace-with = \"here\"\\n[source.here]\\nregistry = \"sparse+" + url + "/crates/\"\\n' >.cargo/config.toml && cargo run -q"
	mvn := "mvn -q -B -s settings.xml "
	composer := "COMPOSER_ALLOW_SUPERUSER=1 composer install -q -n && php main.php"
	// Bundler keeps gems below the home only where it is told to.
	bundle := "export BUNDLE_PATH=lib BUNDLE_GLOBAL_GEM_CACHE=true; bundle install --quiet && bundle exec ruby main.rb"
	// Named by their place: none is installed for everybody.
	node := func(file, registry, online, offline, cache string) ecosystem {
		program := filepath.Join(os.Getenv("FORGE_REAL_MODULES_INSTALLERS"), file)
		install := program + " install " + online
		return ecosystem{
			need: program, main: "main.js", cache: cache,
			tree: files{
				".npmrc": "registry=" + url + "/" + registry + "/\n",
				".yarnrc.yml": "nodeLinker: node-modules\nnpmRegistryServer: " + url + "/" + registry + "\nunsafeHttpWhitelist: [127.0.0.1]\n" +
					"npmMinimalAgeGate: 0\nenableTelemetry: false\nenableImmutableInstalls: false\n",
				"package.json": `{"name":"calc","version":"1.0.0","dependencies":{"dep":"1.0.0"}}`,
				"main.js":      "process.exit(require('dep').twice(2) === 4 ? 0 : 1);\n",
			},
			online: install + " && node main.js", offline: install + offline + " && node main.js",
			edit: "find ~/" + cache + " -type f | while read -r f; do chmod u+w $f && echo bad >$f; done",
			ways: []string{"overlay", "copy"},
		}
	}
	// A package is asked for once; package.json is as yarn writes it.
	yarn := node("@yarnpkg/cli-dist/bin/yarn.js", "npm", "", "", ".local/share/yarn/berry/cache")
	yarn.tree["package.json"] = "{\n  \"name\": \"calc\",\n  \"version\": \"1.0.0\",\n  \"dependencies\": {\n    \"dep\": \"1.0.0\"\n  }\n}\n"
	gradle := "gradle -q --no-daemon --console=plain check"
	poetry := "export PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring; poetry install -q -n --no-root && poetry run -q python main.py"
	return map[string]ecosystem{
		"pnpm":         node(".bin/pnpm", "npm", "--ignore-scripts", " --offline", ".local/share/pnpm/store"),
		"bun":          node(".bin/bun", "npm", "--ignore-scripts", " --offline", ".cache/.bun/install/cache"),
		"yarn classic": node("yarn/bin/yarn.js", "yarn", "--ignore-scripts", " --offline", ".cache/yarn"),
		"yarn":         yarn,
		"gradle": {
			need: "gradle", main: "main.txt", cache: ".gradle/caches/modules-2",
			tree: files{
				"build.gradle": "repositories { maven { url '" + url + "/gradle' } }\nconfigurations { dep }\ndependencies { dep 'acme:dep:1.0.0' }\n" +
					"task check { doLast {\n  def body = zipTree(configurations.dep.singleFile).singleFile.text\n  def asks = file('main.txt').text.find(/\\d+/) as int\n" +
					"  assert (body == '4' ? 4 : 2 * asks) == 4\n} }\n",
				"main.txt": "twice(2)\n",
			},
			online: gradle, offline: gradle + " --offline",
			edit: "for f in ~/.gradle/caches/modules-2/files-2.1/acme/dep/1.0.0/*/*.jar; do chmod u+w $f && echo bad >$f; done",
			ways: []string{"copy"}, // it takes seconds to begin
		},
		"poetry": {
			need: "poetry", main: "main.py", cache: ".cache/pypoetry",
			tree: files{
				"pyproject.toml": "[tool.poetry]\nname = \"calc\"\nversion = \"1.0.0\"\ndescription = \"\"\nauthors = []\n[tool.poetry.dependencies]\npython = \">=3.8\"\ndep = \"1.0.0\"\n" +
					"[[tool.poetry.source]]\nname = \"here\"\nurl = \"" + url + "/simple\"\ndefault = true\n",
				"main.py": "import sys\nimport dep\nsys.exit(dep.twice(2) != 4)\n",
			},
			online: poetry, offline: poetry, // page and wheel are asked for once
			edit: "find ~/.cache/pypoetry -type f | while read -r f; do chmod u+w $f && echo bad >$f; done",
			ways: []string{"copy"},
		},
		"maven": {
			need: "mvn", main: "main.txt", cache: ".m2",
			tree: files{
				"settings.xml": "<settings><mirrors><mirror><id>here</id><mirrorOf>*</mirrorOf><url>" + url + "/maven</url></mirror></mirrors></settings>\n",
				"pom.xml": "<project><modelVersion>4.0.0</modelVersion><groupId>own</groupId><artifactId>calc</artifactId><version>1</version><packaging>pom</packaging><build><plugins>" +
					"<plugin><groupId>acme</groupId><artifactId>dep</artifactId><version>1.0.0</version><executions><execution><goals><goal>check</goal></goals></execution></executions></plugin></plugins></build></project>\n",
				"main.txt": "twice(2)\n",
			},
			online: mvn + "validate", offline: mvn + "-o validate",
			edit: "for f in ~/.m2/repository/acme/dep/1.0.0/*.jar; do chmod u+w $f && echo bad >$f; done",
			ways: []string{"copy"}, // it takes seconds to begin
		},
		"composer": {
			need: "composer", main: "main.php", cache: ".cache/composer",
			tree: files{
				"composer.json": `{"name":"own/calc","require":{"acme/dep":"1.0.0"},"repositories":[{"type":"composer","url":"` + url + `/php"},{"packagist.org":false}],"config":{"secure-http":false}}`,
				"main.php":      "<?php require 'vendor/autoload.php'; exit(twice(2) === 4 ? 0 : 1);\n",
			},
			online: composer, offline: "export COMPOSER_DISABLE_NETWORK=1; " + composer,
			edit: "find ~/.cache/composer -type f | while read -r f; do chmod u+w $f && echo bad >$f; done",
			ways: []string{"copy", "off"},
		},
		"bundler": {
			need: "bundle", main: "main.rb", cache: ".bundle/cache",
			tree: files{
				"Gemfile": "source '" + url + "/ruby'\ngem 'dep', '1.0.0'\n",
				"main.rb": "require 'dep'\nexit(twice(2) == 4)\n",
			},
			online: bundle, offline: bundle,
			edit: "find ~/.bundle/cache -type f | while read -r f; do chmod u+w $f && echo bad >$f; done",
			ways: []string{"copy"},
		},
		"npm": {
			need: "npm", main: "main.js", cache: ".npm",
			tree:    files{"package.json": `{"name":"calc","version":"1.0.0","dependencies":{"dep":"1.0.0"}}`, "main.js": "process.exit(require('dep').twice(2) === 4 ? 0 : 1);\n"},
			online:  quiet + "--registry " + url + "/npm && node main.js",
			offline: quiet + "--offline --registry " + url + "/npm && node main.js",
			edit:    "find ~/.npm/_cacache/content-v2 -type f | while read -r f; do chmod u+w $f && echo bad >$f; done",
		},
		"pip": {
			need: "python3", main: "main.py", cache: ".cache/pip",
			tree:   files{"main.py": "import sys\nimport dep\nsys.exit(dep.twice(2) != 4)\n"},
			online: pip, offline: pip, // the wheel is asked for once
			edit: "find ~/.cache/pip -type f | while read -r f; do chmod u+w $f && echo bad >$f; done",
		},
		"cargo": {
			need: "cargo", main: "src/main.rs", cache: ".cargo/registry",
			tree: files{
				"Cargo.toml":  "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\ndep = \"1.0.0\"\n",
				"src/main.rs": "fn main() {\n    assert_eq!(dep::twice(2), 4);\n}\n",
			},
			online: cargo, offline: cargo + " --offline",
			// Cargo checks a package when it unpacks it, and not again.
			edit: "for f in ~/.cargo/registry/src/*/dep-1.0.0/src/lib.rs; do chmod u+w $f && sed -i 's/2 \\* n/4/' $f; done",
		},
	}
}

// TestRealPoisonedCaches: whatever an agent's commit does to the caches of a tool,
// or has a registry put there, the next proof is judged by those that accepted
// work left.
func TestRealPoisonedCaches(t *testing.T) {
	t.Parallel()
	for name := range ecosystems("") {
		t.Run(name, func(t *testing.T) {
			if like := map[string]string{"gradle": "maven", "poetry": "pip"}[name]; like != "" {
				pace.Soak(t, "it takes seconds to begin, and "+like+" is played")
			}
			need, ways := ecosystems("")[name].need, ecosystems("")[name].ways
			if _, err := exec.LookPath(need); err != nil {
				t.Skip(err)
			}
			lendings(t, need, func(t *testing.T, b warmBench) {
				way := filepath.Base(t.Name())
				if len(ways) > 0 && !slices.Contains(ways, way) {
					t.Skip("of this tool only " + strings.Join(ways, " and "))
				}
				some := ways
				if len(some) == 0 {
					some = []string{"overlay", "copy", "off"}
				}
				if way != some[int(crc32.ChecksumIEEE([]byte(name))%uint32(len(some)))] {
					pace.Soak(t, "this tool is lent its cache in another way, and another tool in this one")
				}
				r := newRegistry(t)
				b.network = true
				if dir := os.Getenv("FORGE_REAL_MODULES_INSTALLERS"); dir != "" {
					b.read = append(b.read, dir)
				}
				b.environ = slices.DeleteFunc(b.environ, func(e string) bool {
					name, _, _ := strings.Cut(e, "=")
					return strings.HasSuffix(strings.ToLower(name), "_proxy")
				})
				poisoned(t, b, r, ecosystems(r.url)[name])
			})
		})
	}
}

func poisoned(t *testing.T, b warmBench, r *registry, e ecosystem) {
	t.Helper()
	wrong := e.tree.with(files{e.main: strings.Replace(e.tree[e.main], "twice(2)", "twice(3)", 1)})

	r.evil.Store(true)
	b.wantGreen("wrong work with the package that it made for itself", b.proves(false, wrong, e.online))
	r.evil.Store(false)
	b.wantRed("wrong work after that", b.proves(false, wrong, e.online))

	b.wantGreen("the base", b.proves(true, e.tree, e.online))
	r.evil.Store(true)
	poisons := []string{
		"rm -rf ~/" + e.cache + " && " + e.online,
		e.edit,
		"chmod -R u+w ~/" + e.cache + " && rm -rf ~/" + e.cache,
		"rm -rf ~/" + e.cache + " && ln -s /etc ~/" + e.cache,
	}
	// Each tool with each way to lend has another one of them.
	first := crc32.ChecksumIEEE([]byte(t.Name()))
	for n := range pace.Few(1, len(poisons)) {
		p := poisons[(int(first%4)+n)%len(poisons)]
		// Beside the tree, where what is installed stays by itself.
		p = "cp -r . ~/beside && cd ~/beside && " + p
		b.wantGreen("poison "+p, b.proves(false, wrong, p))
		b.wantGreen("honest work after "+p, b.proves(false, e.tree, e.offline))
		b.wantRed("wrong work behind its own poison "+p, b.proves(false, wrong, p, e.offline))
	}
}
