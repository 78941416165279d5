package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// packaged are the forms of packages that nfpm makes, with the name of each that
// its own tools expect.
var packaged = []struct{ form, name string }{
	{"deb", "forge_%s_%s.deb"},
	{"rpm", "forge-%s.%s.rpm"},
}

// rpmArch is what rpm calls an architecture of Go.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// nfpmFile is what nfpm is told, as far as it is used here. JSON is YAML.
type nfpmFile struct {
	Name        string     `json:"name"`
	Arch        string     `json:"arch"`
	Platform    string     `json:"platform"`
	Version     string     `json:"version"`
	Schema      string     `json:"version_schema"`
	Release     string     `json:"release,omitempty"`
	MTime       time.Time  `json:"mtime"`
	Section     string     `json:"section"`
	Priority    string     `json:"priority"`
	Maintainer  string     `json:"maintainer"`
	Description string     `json:"description"`
	Homepage    string     `json:"homepage"`
	License     string     `json:"license"`
	Depends     []string   `json:"depends"`
	Recommends  []string   `json:"recommends"`
	Contents    []nfpmPart `json:"contents"`
	RPM         struct {
		BuildHost string `json:"buildhost"`
	} `json:"rpm"`
}

type nfpmPart struct {
	From string   `json:"src"`
	To   string   `json:"dst"`
	Info nfpmInfo `json:"file_info"`
}

type nfpmInfo struct {
	Mode  uint32    `json:"mode"`
	MTime time.Time `json:"mtime"`
}

// packages makes the packages of a target from its program. Without nfpm, and for
// a system that has none, it makes none.
func (r *release) packages(ctx context.Context, dir string, t target, program string) (names []string, err error) {
	if t.os != "linux" || r.nfpm == "" {
		return nil, nil
	}
	work, err := os.MkdirTemp(dir, ".package-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	unit, err := os.ReadFile("examples/service/forge.service")
	if err != nil {
		return nil, err
	}
	service := filepath.Join(work, "forge.service")
	if err := os.WriteFile(service, []byte(systemUnit(string(unit))), 0o644); err != nil {
		return nil, err
	}
	asked, err := json.Marshal(r.contents(t, program, service))
	if err != nil {
		return nil, err
	}
	config := filepath.Join(work, "nfpm.yaml")
	if err := os.WriteFile(config, asked, 0o644); err != nil {
		return nil, err
	}

	for _, p := range packaged {
		arch := t.arch
		if p.form == "rpm" {
			arch = rpmArch[t.arch]
		}
		name := fmt.Sprintf(p.name, r.version, arch)
		pack := exec.CommandContext(ctx, r.nfpm, "package", "--config", config, "--packager", p.form, "--target", filepath.Join(dir, name))
		pack.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.when.Unix()))
		if out, err := pack.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make %s: %w\n%s", name, err, out)
		}
		names = append(names, name)
	}
	return names, nil
}

// contents is what a package of a target is and holds.
func (r *release) contents(t target, program, service string) nfpmFile {
	file := nfpmFile{
		Name: "forge", Arch: t.arch, Platform: t.os, Version: r.version, Schema: "semver", MTime: r.when,
		Section: "devel", Priority: "optional", Maintainer: "Forge <forge@localhost>",
		Description: "Drives a coding agent through a plan until every phase is proven done.",
		Homepage:    r.base, License: "Apache-2.0",
		Depends: []string{"git"}, Recommends: []string{"bubblewrap"},
	}
	file.RPM.BuildHost = "localhost"
	for _, part := range []struct {
		from, to string
		mode     uint32
	}{
		{program, "/usr/bin/forge", 0o755},
		{service, "/usr/lib/systemd/user/forge.service", 0o644},
		{"LICENSE", "/usr/share/doc/forge/copyright", 0o644},
		{"README.md", "/usr/share/doc/forge/README.md", 0o644},
		{"CHANGELOG.md", "/usr/share/doc/forge/CHANGELOG.md", 0o644},
	} {
		file.Contents = append(file.Contents, nfpmPart{From: part.from, To: part.to, Info: nfpmInfo{Mode: part.mode, MTime: r.when}})
	}
	return file
}

// systemUnit is the service for the place where a package puts the program. What
// says how to install the file by hand is left out.
func systemUnit(unit string) string {
	_, body, _ := strings.Cut(unit, "[Unit]")
	return "# systemctl --user enable --now forge\n[Unit]" + strings.ReplaceAll(body, "%h/.local/bin/forge", "/usr/bin/forge")
}
