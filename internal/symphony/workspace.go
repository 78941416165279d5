package symphony

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// maxKey bounds the name of a workspace.
const maxKey = 100

// Key is the name of an issue's workspace: its identifier with _ for all but letters,
// digits, dot, minus and _. Where that changes anything, a sum of the identifier is
// added, so that no two issues share one.
func Key(identifier string) string {
	var b strings.Builder
	for _, c := range identifier {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			b.WriteRune(c)
		default:
			b.WriteByte('_')
		}
	}
	key := b.String()
	if len(key) > maxKey {
		key = key[:maxKey]
	}
	// What begins with a dot is Forge's own, or a folder above; what ends like its
	// notes beside a workspace could be taken for one.
	if key == identifier && key != "" && key[0] != '.' && !strings.HasSuffix(key, NoteEnd) && !strings.HasSuffix(key, indexEnd) && !strings.HasSuffix(key, GitEnd) {
		return key
	}
	sum := sha256.Sum256([]byte(identifier))
	return strings.TrimLeft(key, ".") + "-" + hex.EncodeToString(sum[:4])
}

// What lies beside a workspace, by its name with this at its end.
const (
	NoteEnd  = ".forge" // whose workspace it is
	GitEnd   = ".git"   // the repository that hooks made in it, out of the agent's reach
	indexEnd = ".index" // what git knows of its files
)

// Path is where an issue's workspace lies below root, both without links in them.
func Path(root, identifier string) (string, error) {
	if identifier == "" {
		return "", fmt.Errorf("an issue without an identifier has no workspace")
	}
	dir := filepath.Join(root, Key(identifier))
	return dir, Contained(root, dir)
}

// Contained says that dir is a folder right below root.
func Contained(root, dir string) error {
	if !filepath.IsAbs(root) || filepath.Clean(root) != root || filepath.Clean(dir) != dir || filepath.Dir(dir) != root || dir == root {
		return fmt.Errorf("%q is no workspace below %q", dir, root)
	}
	return nil
}
