package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// name is what the files of a target begin with.
func (r *release) name(t target) string {
	return fmt.Sprintf("forge_%s_%s_%s", r.version, t.os, t.arch)
}

// inlining are the arguments of the compiler that say where functions are copied to
// where they are called: in SQLite, in the rooms of this module that go over many
// files, events or lines, and in what these stand on in the standard library, though
// not in what waits for a network or writes a page. Elsewhere nobody waits for a
// call. That is 4.3 MB of 48. Of two arguments about a package the later one counts.
func inlining() (args []string) {
	for _, from := range []string{
		"github.com", "charm.land", "google.golang.org", "go.yaml.in", "golang.org", "forge",
		"archive", "crypto", "encoding/asn1", "encoding/gob", "encoding/xml", "html", "log", "mime", "net", "text/template",
	} {
		args = append(args, "-gcflags="+from+"/...=-l")
	}
	for _, room := range []string{
		"dag", "orchestrator", "internal/evidence", "internal/filetree", "internal/git", "internal/journal", "internal/opened", "internal/proc",
		"internal/proof", "internal/redact", "internal/search", "internal/stuck", "internal/text", "internal/work",
	} {
		args = append(args, "-gcflags=forge/"+room+"/...=")
	}
	return args
}

// one builds the program for a target, and makes its archive and the list of what
// is in it.
func (r *release) one(ctx context.Context, dir string, t target) ([]string, error) {
	program := filepath.Join(dir, "forge")
	defer func() { _ = os.Remove(program) }() // the folder goes, or it is in the archive
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", program, "-ldflags", "-s -w -buildid= -X forge/internal/cli.Version=" + r.version}
	build := exec.CommandContext(ctx, "go", append(append(args, inlining()...), ".")...)
	// What a machine sets for its own builds does not get into what is given out.
	build.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build it: %w\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	list, err := bill(r.version, t, info)
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"forge": program, "LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
	}
	if t.os == "linux" {
		files["forge.service"] = "examples/service/forge.service"
	}
	archive, err := r.archive(r.name(t), files)
	if err != nil {
		return nil, err
	}
	packages, err := r.packages(ctx, dir, t, program)
	if err != nil {
		return nil, err
	}
	if t.os == "linux" {
		image, err := r.image(t, program)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, r.name(t)+".oci.tar"), image, 0o644); err != nil {
			return nil, err
		}
		packages = append(packages, r.name(t)+".oci.tar")
	}
	return append(packages, r.name(t)+".tar.gz", r.name(t)+".cdx.json"), errors.Join(
		os.WriteFile(filepath.Join(dir, r.name(t)+".tar.gz"), archive, 0o644),
		os.WriteFile(filepath.Join(dir, r.name(t)+".cdx.json"), list, 0o644),
	)
}

// archive holds files below a folder: in the order of their names, of nobody, with
// the time of the commit.
func (r *release) archive(folder string, files map[string]string) ([]byte, error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tape := tar.NewWriter(zip)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		data, err := os.ReadFile(files[name])
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if name == "forge" {
			mode = 0o755
		}
		head := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + name, Size: int64(len(data)), Mode: mode, ModTime: r.when, Format: tar.FormatUSTAR}
		if err := tape.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := tape.Write(data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(tape.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// component is a module in a list of CycloneDX.
type component struct {
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Version string          `json:"version"`
	PURL    string          `json:"purl"`
	Hashes  []componentHash `json:"hashes,omitempty"`
}

type componentHash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// bill lists the modules that a program was built from, by what the compiler noted
// in it.
func bill(version string, t target, info *debug.BuildInfo) ([]byte, error) {
	all := []component{{Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version})
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	return json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{"component": map[string]any{
			"type": "application", "name": "forge", "version": version, "purl": fmt.Sprintf("pkg:generic/forge@%s?os=%s&arch=%s", version, t.os, t.arch),
		}},
		"components": all,
	}, "", " ")
}

func sumOf(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// sums writes the sums of all files, and signs them.
func (r *release) sums(ctx context.Context, dir string, names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		sum, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, name)
	}
	file := filepath.Join(dir, "SHA256SUMS")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return err
	}
	if r.key == "" {
		fmt.Fprintln(os.Stderr, "release: the sums are not signed: -key FILE signs them")
		return nil
	}
	_, err := output(ctx, "ssh-keygen", "-q", "-Y", "sign", "-f", r.key, "-n", "forge-release", file)
	return err
}
