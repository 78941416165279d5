package proof

import (
	"path"
	"strings"
)

// vendorList is the lock file of Go modules that the tree has copies of.
const vendorList = "vendor/modules.txt"

func isVendorList(file string) bool {
	return file == vendorList || strings.HasSuffix(file, "/"+vendorList)
}

// readByGo says that a file is one that Go compiles, or that no tool reads:
// below vendor other tools would find settings and tests of theirs as well.
func readByGo(file string) bool {
	switch path.Ext(file) {
	case ".go", ".s", ".c", ".h":
		return !isTestName(path.Base(file))
	}
	return sortOf(file) == documentSort
}

// newVendored finds the package of a new file among the copies of Go modules.
// What the trusted state has no folder of, nothing there can import; a package
// that it has, or that its tests import, is not new.
func (m *Map) newVendored(file string) (string, bool) {
	at := strings.LastIndex("/"+file, "/vendor/")
	if at < 0 {
		return "", false
	}
	vendor := path.Join(file[:at], "vendor")
	list, known := m.Files[path.Join(file[:at], vendorList)]
	if !known || list.Rule != RuleLock || strings.Count("/"+file, "/vendor/") > 1 {
		return "", false
	}
	if !readByGo(file) {
		return "", false
	}
	folder := path.Dir(file)
	name := strings.TrimPrefix(strings.TrimPrefix(folder, vendor), "/")
	if name == "" || !strings.Contains(strings.Split(name, "/")[0], ".") || m.reached("go", name) {
		return "", false
	}
	for have := range m.Files {
		if strings.HasPrefix(have, folder+"/") {
			return "", false
		}
	}
	return name, true
}
