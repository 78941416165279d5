// Package beside becomes the program that has more than this one: found beside
// it, or on the PATH.
package beside

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// Name is that program.
const Name = "forge-temporal"

// mark is the variable by which that program knows that forge went on as it, and a
// forge that somebody gave its name that it is not that program.
const mark = "FORGE_WENT_ON"

// Become goes on as that program, with args, of which the first is this
// program's name. It returns only where there is none that can be started.
func Become(args, environ []string) {
	if slices.Contains(environ, mark+"=1") {
		return
	}
	environ = append(slices.Clip(environ), mark+"=1")
	for _, path := range candidates() {
		// A file that is none to run lets the next one try.
		_ = syscall.Exec(path, append([]string{path}, args[1:]...), environ)
	}
}

// Became says that forge went on as this program, which then takes forge's commands
// alone. What it starts is not told.
func Became() bool {
	did := os.Getenv(mark) == "1"
	_ = os.Unsetenv(mark)
	return did
}

// candidates are the places where it may be, the likelier first.
func candidates() (paths []string) {
	if self, err := os.Executable(); err == nil {
		// The program itself may be a link from a folder on the PATH.
		if real, err := filepath.EvalSymlinks(self); err == nil && filepath.Dir(real) != filepath.Dir(self) {
			paths = append(paths, filepath.Join(filepath.Dir(real), Name))
		}
		paths = append([]string{filepath.Join(filepath.Dir(self), Name)}, paths...)
	}
	if path, err := exec.LookPath(Name); err == nil {
		paths = append(paths, path)
	}
	return paths
}
