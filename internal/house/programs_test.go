package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What go build leaves in a folder is not a part of the repository, whatever its name.
func TestNoProgramIsCommitted(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("this is no checkout: ", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		f, err := os.Open(filepath.Join(root, name))
		if err != nil {
			continue // removed, and not committed yet
		}
		begin := make([]byte, 4)
		n, _ := f.Read(begin)
		_ = f.Close()
		for _, sign := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
			if bytes.Equal(begin[:n], []byte(sign)) {
				t.Errorf("%s is a program: git rm --cached it", name)
			}
		}
	}
}
