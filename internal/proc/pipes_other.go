//go:build !linux

package proc

import "os"

// widen does nothing: a pipe takes here what it takes.
func widen(*os.File) {}
