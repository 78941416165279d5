package proc

import (
	"errors"
	"fmt"
)

func prepareSeatbelt(Spec, string) (launching, error) {
	return launching{}, fmt.Errorf("macOS's sandbox on Linux: %w", errors.ErrUnsupported)
}
