package agent

import (
	"path/filepath"
	"strings"
)

// modulesOf are the folders that a program needs beside its own file, for the
// sandbox to show: of one that npm or its like installed, the outermost
// node_modules that it really lies in. The packages that it loads stand there,
// and none of the user's own files.
func modulesOf(program string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	const modules = "/node_modules/"
	before, _, ok := strings.Cut(filepath.ToSlash(real), modules)
	if !ok {
		return nil
	}
	return []string{filepath.Join(before, "node_modules")}
}
