package installed

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"forge/internal/proof"
)

// normal is the form of a name by which packages of Python are the same.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// distribution is one of site-packages.
type distribution struct {
	name, info string
	needs      []string // by their normal names
}

// python sums up the distributions of site-packages that tests lead to, and what
// starts by itself.
func (f *finder) python(dir string, w proof.Wanted) error {
	entries, err := fs.ReadDir(f.tree, dir)
	if err != nil {
		return err
	}
	all := map[string]distribution{}
	tests := slices.Clone(w.Tests)
	for _, e := range entries {
		if startsByItself(e.Name()) {
			at := path.Join(dir, e.Name())
			if err := f.put(at, true, dir, e.Name()); err != nil {
				return err
			}
		}
		stem, ok := strings.CutSuffix(e.Name(), ".dist-info")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(stem, "-")
		if proof.IsRunnerPackage(name) {
			tests = append(tests, name)
		}
		d := distribution{name: name, info: e.Name()}
		if d.needs, err = f.requires(path.Join(dir, e.Name())); err != nil {
			return err
		}
		all[normal(name)] = d
	}

	forProduct := closed(all, w.Product)
	for name := range closed(all, tests) {
		d := all[name]
		files, err := f.recorded(dir, d.info)
		if err != nil {
			return err
		}
		if err := f.put(path.Join(dir, d.name), !forProduct[name], dir, files...); err != nil {
			return err
		}
	}
	return nil
}

// closed are the names and all that they need.
func closed(all map[string]distribution, names []string) map[string]bool {
	found := map[string]bool{}
	open := slices.Clone(names)
	for len(open) > 0 {
		name := normal(open[0])
		open = open[1:]
		if d, ok := all[name]; ok && !found[name] {
			found[name] = true
			open = append(open, d.needs...)
		}
	}
	return found
}

var requiredName = regexp.MustCompile(`^Requires-Dist:\s*([A-Za-z0-9][A-Za-z0-9._-]*)`)

// requires are the names that a distribution needs whatever is wanted of it.
func (f *finder) requires(info string) ([]string, error) {
	data, err := fs.ReadFile(f.tree, path.Join(info, "METADATA"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var needs []string
	for line := range strings.Lines(string(data)) {
		if strings.TrimSpace(line) == "" {
			break // the head is over
		}
		if found := requiredName.FindStringSubmatch(line); found != nil && !strings.Contains(line, "extra ==") {
			needs = append(needs, normal(found[1]))
		}
	}
	return needs, err
}

// recorded are the files that a distribution says it brought into its
// site-packages dir. What it put elsewhere are programs, which lead to those.
func (f *finder) recorded(dir, info string) ([]string, error) {
	data, err := fs.ReadFile(f.tree, path.Join(dir, info, "RECORD"))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{info}, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(string(data)) {
		// The sum and the size behind the name have no comma.
		name := strings.TrimSpace(line)
		for range 2 {
			if i := strings.LastIndexByte(name, ','); i >= 0 {
				name = name[:i]
			}
		}
		file := path.Clean(strings.Trim(name, `"`))
		if fs.ValidPath(file) && path.Ext(file) != ".pyc" {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, nil
}

// composer sums up the packages of vendor that composer installed for
// development, and the commands beside them.
func (f *finder) composer(vendor string) error {
	data, err := fs.ReadFile(f.tree, path.Join(vendor, "composer", "installed.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list struct {
		Dev []string `json:"dev-package-names"`
	}
	if err != nil || json.Unmarshal(data, &list) != nil {
		return err
	}
	for _, name := range list.Dev {
		at := path.Join(vendor, name)
		if !fs.ValidPath(at) || !strings.HasPrefix(at, vendor+"/") {
			continue
		}
		if err := f.put(name, true, at, "."); err != nil {
			return err
		}
	}
	return f.commands(path.Join(vendor, "bin"))
}

var gemFolder = regexp.MustCompile(`^(.+)-\d[0-9A-Za-z.]*$`)

// ruby sums up the gems that run tests, in a folder of gems.
func (f *finder) ruby(dir string) error {
	entries, err := fs.ReadDir(f.tree, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if found := gemFolder.FindStringSubmatch(e.Name()); found != nil && proof.IsRunnerPackage(found[1]) {
			if err := f.put(path.Join(dir, found[1]), true, path.Join(dir, e.Name()), "."); err != nil {
				return err
			}
		}
	}
	return nil
}
