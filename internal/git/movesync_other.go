//go:build !linux

package git

import "errors"

// syncDisk: there is no such call, so that each file is synced.
func syncDisk(string) error { return errors.ErrUnsupported }
