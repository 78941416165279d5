package proof

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// entries is what became of the parts of a manifest.
type entries struct {
	m       *Map
	lang    string
	notes   []string
	left    []string // new, and left out
	changed bool     // something of the trusted manifest differs
}

// admit decides of one new dependency, and notes it.
func (e *entries) admit(name, version string, registry bool) bool {
	why := ""
	switch {
	case !registry:
		why = "does not come from the registry by a version"
	case e.m.reached(e.lang, name):
		why = "is what tests import"
	case runnerPlugin(name):
		why = "belongs to a test runner"
	}
	if why != "" {
		e.left = append(e.left, fmt.Sprintf("dependency %q %s and is left out", name, why))
		return false
	}
	e.notes = append(e.notes, strings.TrimSpace(fmt.Sprintf("dependency %q %s", name, version))+" is new")
	return true
}

// mixed says what stands there when the parts are put together.
func (e *entries) mixed(content []byte, same bool) Mixed {
	out := Mixed{Content: content, How: Same}
	if !same {
		out.How = Grew
		if e.changed {
			out.How = Changed
			e.left = append(e.left, "all else in it is as trusted")
		}
	}
	out.Note = strings.Join(append(slices.Clone(e.notes), e.left...), "; ")
	return out
}

// reached says whether a test of the trusted state imports a package.
func (m *Map) reached(lang, name string) bool {
	lower := strings.ToLower(name)
	for _, try := range []string{name, lower, strings.ReplaceAll(lower, "-", "_"), importNames[lower], strings.TrimPrefix(lower, "python-"), strings.TrimPrefix(name, "@types/")} {
		if try != "" && m.Reached[lang][try] {
			return true
		}
	}
	for imported := range m.Reached[lang] {
		if lang == "go" && (imported == name || strings.HasPrefix(imported, name+"/")) {
			return true
		}
	}
	return false
}

// importNames are modules whose package is called otherwise.
var importNames = map[string]string{
	"pyyaml": "yaml", "pillow": "PIL", "beautifulsoup4": "bs4", "scikit-learn": "sklearn", "scikit-image": "skimage", "opencv-python": "cv2",
	"python-dateutil": "dateutil", "pyjwt": "jwt", "attrs": "attr", "protobuf": "google", "python-dotenv": "dotenv", "msgpack-python": "msgpack",
	"pycryptodome": "Crypto", "psycopg2-binary": "psycopg2", "mysqlclient": "MySQLdb", "setuptools": "pkg_resources", "ruamel.yaml": "ruamel", "grpcio": "grpc",
}

var runnerWords = expr(`(?i)(^|[-_/.@])(pytest|unittest|nose|nose2|nox|tox|coverage|hypothesis|jest|ts-jest|mocha|chai|vitest|vite|ava|tap|jasmine|karma|cypress|playwright|puppeteer|sinon|` +
	`nyc|c8|babel|swc|eslint|prettier|stylelint|testing-library|tsx|ts-node|esbuild-register|husky|rspec|minitest|test-unit|simplecov|phpunit|pest|paratest|mockery|junit|testng|mockito|pyfakefs|freezegun|time-machine|respx|requests-mock|` +
	`typeguard|syrupy|sitecustomize|setuptools|pip|wheel|testify|ginkgo|gomega|gotestsum)($|[-_/.@])`)

// IsRunnerPackage knows packages that are a test runner, or that one loads by
// itself, by their names.
func IsRunnerPackage(name string) bool { return runnerPlugin(name) }

// runnerPlugin knows packages that a test runner loads by itself.
func runnerPlugin(name string) bool { return runnerWords().MatchString(name) }

func (m *Map) mixManifest(file string, trusted, snapshot []byte) (Mixed, error) {
	if trusted == nil || snapshot == nil {
		return Mixed{}, fmt.Errorf("it came or went as a whole")
	}
	switch path.Base(file) {
	case "package.json":
		return m.mixJSON("script", trusted, snapshot, packageSections, packageInert)
	case "composer.json":
		return m.mixJSON("php", trusted, snapshot, set("require"), set("description keywords homepage license authors support funding version"))
	case "pyproject.toml", "Cargo.toml":
		return m.mixTOML(path.Base(file), trusted, snapshot)
	case "go.mod":
		return m.mixGoMod(trusted, snapshot)
	case "requirements.txt":
		return m.mixLines("python", trusted, snapshot, requirement)
	case "Gemfile":
		return m.mixLines("ruby", trusted, snapshot, gem)
	}
	return Mixed{}, errNoParts
}

var (
	packageSections = set("dependencies peerDependencies optionalDependencies")
	packageInert    = set("description keywords author contributors maintainers license homepage bugs repository version funding")
)

// npmRange is a version of a registry: no protocol, no path, no alias.
var npmRange = expr(`^(latest|next|\*|[\^~<>=v]*\s*[0-9xX*][\w.\-+*]*(\s*(\|\||-|,)?\s*[\^~<>=v]*\s*[0-9xX*][\w.\-+*]*)*)$`)

// mixJSON puts the admitted entries of some sections into the trusted manifest.
func (m *Map) mixJSON(lang string, trusted, snapshot []byte, sections, inert map[string]bool) (Mixed, error) {
	was, err := readMembers(trusted)
	if err != nil {
		return Mixed{}, err
	}
	now, err := readMembers(snapshot)
	if err != nil {
		return Mixed{}, err
	}
	e := &entries{m: m, lang: lang}
	known := map[string]bool{}
	for _, k := range was.keys {
		if sections[k] || strings.HasSuffix(strings.ToLower(k), "dependencies") || strings.HasPrefix(k, "require") {
			if inner, err := readMembers(was.values[k]); err == nil {
				for _, name := range inner.keys {
					known[name] = true
				}
			}
		}
	}
	out := was.clone()
	for _, k := range union(was.keys, now.keys) {
		a, b := was.values[k], now.values[k]
		switch {
		case sameJSON(a, b):
		case inert[k]:
			out.put(k, b)
		case sections[k] && b != nil:
			mixed, err := e.section(a, b, known)
			if err != nil {
				return Mixed{}, err
			}
			out.put(k, mixed)
			e.changed = e.changed || !onlyMore(a, b)
		default:
			e.changed = e.changed || !(k == "devDependencies" || k == "require-dev") || !onlyMore(a, b)
		}
	}
	switch {
	case out.equal(now):
		return e.mixed(snapshot, true), nil
	case out.equal(was):
		return e.mixed(trusted, false), nil
	}
	return e.mixed(out.bytes(), false), nil
}

// section admits new members of one list of dependencies.
func (e *entries) section(was, now json.RawMessage, known map[string]bool) (json.RawMessage, error) {
	if was == nil {
		was = json.RawMessage("{}")
	}
	out, err := readMembers(was)
	if err != nil {
		return nil, err
	}
	next, err := readMembers(now)
	if err != nil {
		return nil, err
	}
	for _, name := range next.keys {
		if known[name] {
			continue
		}
		var version string
		isText := json.Unmarshal(next.values[name], &version) == nil
		if e.admit(name, version, isText && npmRange().MatchString(version)) {
			out.put(name, next.values[name])
		}
	}
	if len(out.keys) == 0 {
		return nil, nil
	}
	return out.bytes(), nil
}

// onlyMore is true where the second object has every member of the first.
func onlyMore(was, now json.RawMessage) bool {
	if was == nil {
		return true
	}
	a, errA := readMembers(was)
	b, errB := readMembers(now)
	if errA != nil || errB != nil {
		return false
	}
	return !slices.ContainsFunc(a.keys, func(k string) bool { return !sameJSON(a.values[k], b.values[k]) })
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, one := range b {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}
