package installed

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"forge/internal/proof"
)

// node sums up the packages of node_modules that tests lead to, and the commands
// of node_modules/.bin. What manifests want is by the folder that they stand in.
func (f *finder) node(wanted map[string]proof.Wanted) error {
	tests, product := map[string][]string{}, map[string][]string{}
	for dir, w := range wanted {
		tests[dir], product[dir] = w.Tests, w.Product
	}
	forProduct := f.reached(product)
	for dir := range f.reached(tests) {
		name := dir[strings.LastIndex("/"+dir, "/node_modules/")+len("node_modules/"):]
		if err := f.put(name, !forProduct[dir], dir, "."); err != nil {
			return err
		}
	}
	for dir := range wanted {
		if err := f.commands(path.Join(dir, "node_modules", ".bin")); err != nil {
			return err
		}
	}
	return nil
}

// reached are the folders of the packages that lists lead to.
func (f *finder) reached(lists map[string][]string) map[string]bool {
	found := map[string]bool{}
	type need struct{ from, name string }
	var open []need
	for dir, names := range lists {
		for _, name := range names {
			open = append(open, need{dir, name})
		}
	}
	for len(open) > 0 {
		next := open[0]
		open = open[1:]
		dir, ok := f.resolve(next.from, next.name)
		if !ok || found[dir] || !strings.Contains("/"+dir, "/node_modules/") {
			continue // what lies in the tree itself is tracked
		}
		found[dir] = true
		for _, name := range f.needs(dir) {
			open = append(open, need{dir, name})
		}
	}
	return found
}

// resolve finds a package as Node does: in node_modules of the folder or of one
// above it.
func (f *finder) resolve(from, name string) (string, bool) {
	for at := from; ; at = path.Dir(at) {
		dir := path.Join(at, "node_modules", name)
		if path.Base(at) != "node_modules" {
			if real, ok := f.real(dir); ok {
				return real, true
			}
		}
		if at == "." || at == "/" {
			return "", false
		}
	}
}

// real is where a folder, or a link to one within the tree, stands.
func (f *finder) real(dir string) (string, bool) {
	for range 8 {
		info, err := fs.Lstat(f.tree, dir)
		switch {
		case err != nil:
			return "", false
		case info.IsDir():
			return dir, true
		case info.Mode()&fs.ModeSymlink == 0:
			return "", false
		}
		target, err := fs.ReadLink(f.tree, dir)
		if err != nil || path.IsAbs(target) {
			return "", false
		}
		if dir = path.Join(path.Dir(dir), target); dir == ".." || strings.HasPrefix(dir, "../") {
			return "", false
		}
	}
	return "", false
}

// needs are the names that an installed package leads to.
func (f *finder) needs(dir string) []string {
	data, err := fs.ReadFile(f.tree, path.Join(dir, "package.json"))
	var p struct {
		Dependencies         map[string]any
		OptionalDependencies map[string]any
		PeerDependencies     map[string]any
	}
	if err != nil || json.Unmarshal(data, &p) != nil {
		return nil
	}
	var names []string
	for _, list := range []map[string]any{p.Dependencies, p.OptionalDependencies, p.PeerDependencies} {
		names = append(names, slices.Collect(maps.Keys(list))...)
	}
	slices.Sort(names)
	return names
}

// commands sums up each command of .bin by itself: a package may bring one of the
// name of a test runner.
func (f *finder) commands(dir string) error {
	entries, err := fs.ReadDir(f.tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		if err := f.put(at, true, dir, e.Name()); err != nil {
			return err
		}
	}
	return nil
}
