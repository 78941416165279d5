package proof

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// locked is one package of a lock file.
type locked struct {
	key, name string
	body      string // what must not change
	registry  bool   // it comes from where packages come from
	own       bool   // a package of the tree itself, whose needs may grow
	needs     []string
}

// lockFile is a lock file: its packages, and all else in it.
type lockFile struct {
	packages []locked
	rest     string
}

// lockReaders are those of each format.
var lockReaders = map[string]struct {
	lang string
	read func([]byte) (lockFile, error)
}{
	"package-lock.json":   {"script", readPackageLock},
	"npm-shrinkwrap.json": {"script", readPackageLock},
	"pnpm-lock.yaml":      {"script", readPnpmLock},
	"yarn.lock":           {"script", readYarnLock},
	"Cargo.lock":          {"rust", readCargoLock},
	"uv.lock":             {"python", readUvLock},
	"poetry.lock":         {"python", readPoetryLock},
	"Gemfile.lock":        {"ruby", readGemLock},
	"composer.lock":       {"php", readComposerLock},
	"go.sum":              {"go", readGoSum},
	"modules.txt":         {"go", readVendorList},
}

// mixLock takes a lock file over where it holds every trusted package as it
// was, and new ones only from the registry; else the trusted one stands.
func (m *Map) mixLock(file string, trusted, snapshot []byte) (Mixed, error) {
	reader, ok := lockReaders[path.Base(file)]
	if !ok {
		return Mixed{}, errNoParts
	}
	if snapshot == nil {
		return Mixed{}, errors.New("it is gone")
	}
	now, err := reader.read(snapshot)
	if err != nil {
		return Mixed{}, fmt.Errorf("read it: %w", err)
	}
	var was lockFile
	if trusted != nil {
		if was, err = reader.read(trusted); err != nil {
			return Mixed{}, fmt.Errorf("read the trusted one: %w", err)
		}
	}
	names, problem := m.lockGrowth(reader.lang, was, now, trusted == nil)
	if problem != "" {
		return Mixed{Content: trusted, How: howOf(trusted), Note: problem + ": the trusted lock file stands"}, nil
	}
	return Mixed{Content: snapshot, How: Same, Note: lockNote(names)}, nil
}

func howOf(trusted []byte) How {
	if trusted == nil {
		return Grew
	}
	return Changed
}

func lockNote(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	switch n := len(names); {
	case n == 0:
		return ""
	case n > 8:
		return fmt.Sprintf("%d new packages, %s among them", n, strings.Join(names[:8], ", "))
	}
	return "new packages: " + strings.Join(names, ", ")
}

// lockGrowth names the new packages, or says what speaks against them.
func (m *Map) lockGrowth(lang string, was, now lockFile, made bool) (names []string, problem string) {
	if was.rest != now.rest && !made {
		return nil, "something else than packages is changed"
	}
	after := map[string]locked{}
	fresh := map[string]bool{}
	for _, p := range now.packages {
		if _, twice := after[p.key]; twice {
			return nil, p.key + " stands there twice"
		}
		after[p.key] = p
		fresh[p.key] = true
	}
	for _, p := range was.packages {
		q, there := after[p.key]
		delete(fresh, p.key)
		switch {
		case !there:
			return nil, p.key + " is gone"
		case q.body != p.body || q.own != p.own:
			return nil, p.key + " is changed"
		case p.own && slices.ContainsFunc(p.needs, func(n string) bool { return !slices.Contains(q.needs, n) }):
			return nil, p.key + " needs less than before"
		}
	}
	for _, p := range now.packages {
		switch {
		case !fresh[p.key] || p.own && made:
		case p.own || !p.registry:
			return nil, p.key + " does not come from the registry"
		case m.reached(lang, p.name):
			return nil, p.name + " is what tests import"
		case runnerPlugin(p.name):
			return nil, p.name + " belongs to a test runner"
		default:
			names = append(names, p.name)
		}
	}
	return names, ""
}
