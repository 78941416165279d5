//go:build real

package verify

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// registry serves one package, dep 1.0.0, as the registries of npm, PyPI and
// crates.io do: as it is, or one that says what wrong work needs.
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

func (r *registry) serve(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Cache-Control", "max-age=36000")
	crate := tarball("dep-1.0.0", files{
		"Cargo.toml": "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
		"src/lib.rs": "pub fn twice(n: i32) -> i32 { let _ = n; " + r.twice() + " }\n",
	})
	var body []byte
	switch q.URL.Path {
	case "/npm/dep":
		w.Header().Set("Content-Type", "application/json")
		body = fmt.Appendf(nil, `{"name":"dep","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"dep","version":"1.0.0","dist":{"tarball":"%s/npm/dep/-/dep-1.0.0.tgz"}}}}`, r.url)
	case "/npm/dep/-/dep-1.0.0.tgz":
		body = tarball("package", files{
			"package.json": `{"name":"dep","version":"1.0.0","main":"index.js"}`, "index.js": "exports.twice = (n) => " + r.twice() + ";\n",
		})
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
	default:
		http.NotFound(w, q)
		return
	}
	_, _ = w.Write(body)
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
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, f := range [][2]string{
		{"dep.py", module},
		{"dep-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: dep\nVersion: 1.0.0\n"},
		{"dep-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"dep-1.0.0.dist-info/RECORD", "dep.py,,\ndep-1.0.0.dist-info/METADATA,,\ndep-1.0.0.dist-info/WHEEL,,\ndep-1.0.0.dist-info/RECORD,,\n"},
	} {
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
	cache           string // below the home
	edit            string // makes what is unpacked there say what wrong work needs
}

func ecosystems(url string) map[string]ecosystem {
	const quiet = "npm_config_update_notifier=false npm install --no-package-lock --no-audit --no-fund --loglevel=error "
	// The program itself: what stands for it in PATH may want to write beside it.
	pip := "PIP_DISABLE_PIP_VERSION_CHECK=1 $(python3 -c 'import sys; print(sys.executable)') -m pip install -q --root-user-action=ignore --target lib --trusted-host " + strings.TrimPrefix(url, "http://") + " --index-url " + url + "/simple dep==1.0.0 && PYTHONPATH=lib python3 main.py"
	cargo := "mkdir -p .cargo && printf '[source.crates-io]\\nreplace-with = \"here\"\\n[source.here]\\nregistry = \"sparse+" + url + "/crates/\"\\n' >.cargo/config.toml && cargo run -q"
	return map[string]ecosystem{
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
			need := ecosystems("")[name].need
			if _, err := exec.LookPath(need); err != nil {
				t.Skip(err)
			}
			lendings(t, need, func(t *testing.T, b warmBench) {
				r := newRegistry(t)
				b.network = true
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
	for _, p := range []string{
		"rm -rf ~/" + e.cache + " && " + e.online,
		e.edit,
		"chmod -R u+w ~/" + e.cache + " && rm -rf ~/" + e.cache,
		"rm -rf ~/" + e.cache + " && ln -s /etc ~/" + e.cache,
	} {
		// Beside the tree, where what is installed stays by itself.
		p = "cp -r . ~/beside && cd ~/beside && " + p
		b.wantGreen("poison "+p, b.proves(false, wrong, p))
		b.wantGreen("honest work after "+p, b.proves(false, e.tree, e.offline))
		b.wantRed("wrong work behind its own poison "+p, b.proves(false, wrong, p, e.offline))
	}
}
