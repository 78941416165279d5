package proc

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// seatbelt is the profile by which macOS shuts a child in: nothing but what is
// allowed, and of rules that fit a path the last. Outer paths come first, so that the
// deepest decides, as everywhere. own are folders of the child's alone.
//
// It was never held against macOS itself: what it says is held by a golden file, and by
// a reading of its rules that a test has of its own.
func (v *view) seatbelt(s *Sandbox, own []string) (string, error) {
	var b strings.Builder
	b.WriteString(`(version 1)
(deny default)
; What every program needs to begin: libraries, /dev/null, the clock.
(import "system.sb")
(allow process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read ipc-posix-sem ipc-posix-shm pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/null") (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* (literal "/") (literal "/dev/random") (literal "/dev/urandom"))
`)
	rule := func(what, kind, path string) error {
		if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("the sandbox path %q cannot be written in a profile", path)
		}
		fmt.Fprintf(&b, "(%s (%s \"%s\"))\n", what, kind, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path))
		return nil
	}
	const reads, writes = "allow file-read* process-exec", "allow file-read* file-write* process-exec"
	files := slices.Sorted(maps.Values(v.files))
	const none = "deny file-read* file-write* process-exec"

	for _, p := range v.paths() {
		what := none
		switch v.at[p] {
		case system, read:
			if err := rule("deny file-write*", "subpath", p); err != nil { // as it may lie in what can be written
				return "", err
			}
			what = reads
		case write:
			what = writes
		}
		if err := rule(what, "subpath", p); err != nil {
			return "", err
		}
	}
	for _, p := range files {
		for _, what := range []string{"deny file-write*", reads} {
			if err := rule(what, "literal", p); err != nil {
				return "", err
			}
		}
	}
	for _, p := range own {
		if err := rule(writes, "subpath", p); err != nil {
			return "", err
		}
	}
	// The way to what is in sight: that the folders on it are there, and nothing of them.
	above := map[string]bool{}
	for _, p := range slices.Concat(v.paths(), files, own) {
		if v.kind(p).visible() || slices.Contains(files, p) || slices.Contains(own, p) {
			for p = filepath.Dir(p); p != "/"; p = filepath.Dir(p) {
				above[p] = true
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(above)) {
		if err := rule("allow file-read-metadata", "literal", p); err != nil {
			return "", err
		}
	}
	for _, p := range slices.Sorted(slices.Values(s.Sockets)) {
		if err := rule("allow network-outbound", "literal", p); err != nil {
			return "", err
		}
	}
	if s.Network {
		b.WriteString("(allow network* system-socket)\n(allow mach-lookup (global-name \"com.apple.dnssd.service\") (global-name \"com.apple.SystemConfiguration.configd\") (global-name \"com.apple.trustd.agent\"))\n")
	}
	return b.String(), nil
}
