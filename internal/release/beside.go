package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed install.sh
var installer string

// beside writes what leads to the archives: the installer, a formula of Homebrew,
// and what forge update --check reads.
func (r *release) beside(dir string) ([]string, error) {
	formula, err := r.formula(dir)
	if err != nil {
		return nil, err
	}
	latest, err := json.Marshal(map[string]string{"version": r.version, "url": r.base})
	if err != nil {
		return nil, err
	}
	install := strings.ReplaceAll(strings.ReplaceAll(installer, "@VERSION@", r.version), "@BASE@", r.base)
	return []string{"install.sh", "forge.rb", "latest.json"}, errors.Join(
		os.WriteFile(filepath.Join(dir, "install.sh"), []byte(install), 0o755),
		os.WriteFile(filepath.Join(dir, "forge.rb"), []byte(formula), 0o644),
		os.WriteFile(filepath.Join(dir, "latest.json"), append(latest, '\n'), 0o644),
	)
}

// formula is what Homebrew installs the archives by.
func (r *release) formula(dir string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "class Forge < Formula\n  desc \"Drives a coding agent through a plan until every phase is proven done\"\n  homepage %q\n  version %q\n\n", r.base, r.version)
	for _, system := range []struct{ brew, os string }{{"macos", "darwin"}, {"linux", "linux"}} {
		part := ""
		for _, arch := range []struct{ brew, arch string }{{"intel", "amd64"}, {"arm", "arm64"}} {
			name := r.name(target{system.os, arch.arch}) + ".tar.gz"
			sum, err := sumOf(filepath.Join(dir, name))
			if errors.Is(err, os.ErrNotExist) {
				continue // not asked for
			}
			if err != nil {
				return "", err
			}
			part += fmt.Sprintf("    on_%s do\n      url \"%s/%s\"\n      sha256 %q\n    end\n", arch.brew, r.base, name, sum)
		}
		if part != "" {
			fmt.Fprintf(&b, "  on_%s do\n%s  end\n\n", system.brew, part)
		}
	}
	b.WriteString("  depends_on \"git\"\n\n  def install\n    bin.install \"forge\"\n  end\n\n  test do\n    assert_match version.to_s, shell_output(\"#{bin}/forge version\")\n  end\nend\n")
	return b.String(), nil
}
