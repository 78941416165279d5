package discovery

import (
	"path/filepath"

	"forge/internal/config"
	"forge/internal/text"
)

// Commands looks at the root of a checkout; where it says nothing, at the folder
// inside, whose commands then run there.
func Commands(root, inside string) config.Proposal {
	p := config.DetectProject(root)
	if inside == "" || text.ShellWord(inside) != inside || len(p.Verify) > 0 || len(p.Setup) > 0 {
		return p
	}
	sub := config.DetectProject(filepath.Join(root, filepath.FromSlash(inside)))
	move := func(from []config.Command) (out []config.Command) {
		for _, c := range from {
			out = append(out, config.Command{Run: "cd " + inside + " && " + c.Run, Why: inside + ": " + c.Why})
		}
		return out
	}
	p.Verify, p.Setup = move(sub.Verify), move(sub.Setup)
	for _, key := range sub.CacheKey {
		p.CacheKey = append(p.CacheKey, inside+"/"+key)
	}
	return p
}

// Inside is the folder dir below the root of its checkout, "" at the root itself.
func Inside(dir, root string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Lines are commands as they are run.
func Lines(commands []config.Command) (out []string) {
	for _, c := range commands {
		out = append(out, c.Run)
	}
	return out
}
