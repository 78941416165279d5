package warm

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Areas of a layer.
const (
	Home   = "home"   // what stands below the home of commands
	Folder = "folder" // what stands in the folder that they run in
)

// Place is a cache that is kept.
type Place struct {
	Area string
	Dir  string // below the area, with slashes
	kind kind
}

// kind is what is special about a cache.
type kind int

const (
	plain kind = iota
	// goBuild holds objects by the content that they were made of, and
	// results of tests, which must not count again.
	goBuild
	// ownMaven and ownNuget hold what the project installed itself beside what
	// was downloaded.
	ownMaven
	ownNuget
)

// Known are the caches of tools at the places where they are for every command:
// the variables of XDG are set to what they are by default, which moves those of
// bun and of yarn, and none of the tools' own passes.
func Known() []Place {
	homes := []struct {
		dir  string
		kind kind
	}{
		{".cache/go-build", goBuild},
		{"go/pkg/mod", plain},
		{"go/pkg/sumdb", plain},
		{".cargo/registry", plain},
		{".cargo/git", plain},
		{".cache/cargo-target", plain},
		{".npm/_cacache", plain},
		{".cache/yarn", plain},
		{".local/share/yarn/berry/cache", plain},
		{".local/share/pnpm/store", plain},
		{".cache/pnpm", plain},
		{".cache/.bun/install/cache", plain},
		{".cache/deno", plain},
		{".cache/node/corepack", plain},
		{".cache/pip", plain},
		{".cache/uv", plain},
		{".cache/pypoetry/cache", plain},
		{".cache/pypoetry/artifacts", plain},
		// Of gradle the downloads alone: its build cache holds the outcome of
		// tasks, tests among them.
		{".gradle/caches/modules-2", plain},
		{".gradle/wrapper/dists", plain},
		{".m2/wrapper/dists", plain},
		{".m2/repository", ownMaven},
		{".nuget/packages", ownNuget},
		{".local/share/NuGet/http-cache", plain},
		{".bundle/cache", plain},
		{".cache/composer", plain},
	}
	var all []Place
	for _, h := range homes {
		all = append(all, Place{Home, h.dir, h.kind})
	}
	return all
}

// leaves says of a path in a place that it is not kept, with what is below it.
func (p Place) leaves(root *os.Root, at string, isDir bool) (bool, error) {
	switch {
	case p.kind == goBuild && path.Dir(at) == p.Dir:
		// What go says of the cache as a whole, and inputs that fuzzing found.
		return slices.Contains([]string{"trim.txt", "testexpire.txt", "log.txt", "fuzz"}, path.Base(at)), nil
	case p.kind == ownMaven && isDir:
		return ownArtifact(root, at)
	case p.kind == ownNuget && isDir:
		return ownPackage(root, at)
	}
	return false, nil
}

// ownArtifact says that a folder of a Maven repository holds what was not
// downloaded: what a build on accepted work installed there must not stand in for
// a module that the next commit breaks.
func ownArtifact(root *os.Root, dir string) (bool, error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return false, err
	}
	holds := false
	for _, e := range entries {
		holds = holds || slices.Contains([]string{".jar", ".pom", ".war", ".aar", ".module"}, path.Ext(e.Name()))
	}
	if !holds {
		return false, nil
	}
	data, err := root.ReadFile(path.Join(dir, "_remote.repositories"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && strings.HasSuffix(line, ">=") {
			return true, nil
		}
	}
	return false, err
}

// ownPackage says the same of a folder of NuGet's packages: its source has to be
// a server.
func ownPackage(root *os.Root, dir string) (bool, error) {
	found, err := fs.Glob(root.FS(), path.Join(dir, "*.nuspec"))
	if err != nil || len(found) == 0 {
		return false, err
	}
	data, err := root.ReadFile(path.Join(dir, ".nupkg.metadata"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var said struct{ Source string }
	if json.Unmarshal(data, &said) != nil {
		return true, nil
	}
	return !strings.HasPrefix(said.Source, "https://"), nil
}
