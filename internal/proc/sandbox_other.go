//go:build !linux

package proc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// SandboxChild does nothing outside Linux.
func SandboxChild() {}

// TryOverlay says that there are no overlays outside Linux.
func TryOverlay(context.Context, string) error {
	return fmt.Errorf("overlays on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// TryFixed says that no files are kept from being written outside Linux.
func TryFixed(context.Context, string) error {
	return fmt.Errorf("files that can only be read on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func prepareBubblewrap(Spec, string) (launching, error) {
	return launching{}, fmt.Errorf("bubblewrap on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// TryContainer says that there are no containers outside Linux: what runs them there
// does so in a virtual machine, whose processes nobody here sees.
func TryContainer(context.Context, Container) error {
	return fmt.Errorf("containers on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func prepareContainer(Spec, string) (launching, error) {
	return launching{}, fmt.Errorf("containers on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func prepareLandlock(Spec, string) (launching, error) {
	return launching{}, fmt.Errorf("landlock on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
