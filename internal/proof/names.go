package proof

import (
	"path"
	"strings"
)

// resolve finds the file that a name means, seen from a folder: beside it, in a
// folder above it, or from the top. "" is none.
func (sv *survey) resolve(name, from string) string {
	if at := sv.resolveAny(name, from); sv.files[at] != nil {
		return at
	}
	return ""
}

// resolveAny finds folders as well.
func (sv *survey) resolveAny(name, from string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "<rootDir>"), "file:")
	for _, prefix := range []string{"${workspaceFolder}/", "{toxinidir}/", "{root}/", "$PWD/", "${PWD}/", "$(pwd)/", "${CMAKE_SOURCE_DIR}/", "${CMAKE_CURRENT_SOURCE_DIR}/", "$CI_PROJECT_DIR/", "$ROOT/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	if name == "" || strings.Contains(name, "://") {
		return ""
	}
	name = strings.TrimLeft(name, "/")
	for dir := from; ; dir = path.Dir(dir) {
		at := clean(path.Join(dir, name))
		if at != "" && (sv.files[at] != nil || sv.folders[at]) && at != from {
			return at
		}
		if dir == "." || dir == "/" {
			return ""
		}
	}
}

// productNames notes the files and folders that product source names. A folder
// says less than a file; the folder of the source itself says nothing.
func (sv *survey) productNames() {
	for _, p := range sv.paths {
		f := sv.files[p]
		if !f.product {
			continue
		}
		for _, name := range f.strings {
			at := sv.resolveAny(name, path.Dir(p))
			if at == "" || sv.files[at] != nil && sv.files[at].sort == sourceSort || sv.isFolderOf(at, p) {
				continue
			}
			if _, ok := sv.ProductNames[at]; !ok {
				sv.ProductNames[at] = p
			}
		}
	}
}

func (sv *survey) isFolderOf(dir, p string) bool { return strings.HasPrefix(p, dir+"/") }

// testNames are the files that tests, and the scripts that commands start, name;
// a folder is named with all that is in it.
func (sv *survey) testNames() map[string]string {
	out := map[string]string{}
	folders := map[string]string{}
	for _, p := range sv.paths {
		f := sv.files[p]
		if !f.test {
			continue
		}
		for _, name := range f.strings {
			at := sv.resolveAny(name, path.Dir(p))
			switch {
			case at == "" || sv.isFolderOf(at, p):
			case sv.files[at] != nil:
				if _, ok := out[at]; !ok {
					out[at] = p
				}
			case !sv.SourceFolders[at] && folders[at] == "":
				folders[at] = p
			}
		}
	}
	for _, p := range sv.paths {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if by, ok := folders[dir]; ok && out[p] == "" {
				if _, product := sv.ProductNames[dir]; !product {
					out[p] = by
				}
			}
		}
	}
	for dir, by := range folders {
		if _, product := sv.ProductNames[dir]; !product && !assetFolders[path.Base(dir)] {
			sv.name(dir, RuleByTests, "%s names it", by)
		}
	}
	return out
}
