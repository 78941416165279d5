//go:build !linux && !darwin

package proc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// Detect tries the sandboxes. There are none but on Linux and macOS.
func Detect(context.Context) Capabilities {
	return Capabilities{Why: fmt.Sprintf("there is no sandbox on %s: a child is not shut in, and of its processes only its group is ended", runtime.GOOS)}
}

func prepareSeatbelt(Spec, string) (launching, error) {
	return launching{}, fmt.Errorf("macOS's sandbox on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
