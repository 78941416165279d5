package config

import (
	"path/filepath"
	"strings"

	"forge/internal/hidden"
)

// hidden holds the folders of hidden checks to their form, before anything is
// spent: what lies in the checkout is seen by every agent.
func (r *resolver) hidden() {
	file, at := r.cfg.where("proof", "hidden")
	for _, dir := range r.out.Proof.Hidden {
		if inside(r.cfg.Root, dir) || inside(dir, r.cfg.Root) {
			r.add(file, at, "proof.hidden names "+dir+", which agents see: it is in the checkout", "move the folder out of the repository")
			continue
		}
		_, problems := hidden.Load(dir)
		for _, p := range problems {
			r.add(p.File, place{line: p.Line}, p.What, p.Fix)
		}
	}
}

// inside says that path is root or lies below it, wherever links lead.
func inside(root, path string) bool {
	for _, pair := range [][2]string{{root, path}, {real(root), real(path)}} {
		rel, err := filepath.Rel(pair[0], pair[1])
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// real is a path without links, as far as it exists.
func real(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}
