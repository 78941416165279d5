// Release makes what is given out of a version: an archive for each system, what
// is in each (CycloneDX), their sums, the installer, a formula, and a signature
// with the releaser's key. The same commit gives the same bytes.
//
//	go run ./internal/release -version 0.1.0 -out dist [-targets linux/amd64] [-key FILE] [-nfpm FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release is what is asked for.
type release struct {
	version string
	out     string
	targets []target
	key     string // a private key of ssh; "" = nothing is signed
	base    string // where the files will be found
	nfpm    string // the program that makes packages; "" = none are made
	try     bool   // of a tree that no version stands for
	when    time.Time
}

// target is a system that a program is built for.
type target struct{ os, arch string }

const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	var r release
	var targets string
	flag.StringVar(&r.version, "version", "", "the `VERSION`, as CHANGELOG.md names it")
	flag.StringVar(&r.out, "out", "dist", "the `FOLDER` that is made")
	flag.StringVar(&targets, "targets", everywhere, "systems, as `OS/ARCH,…`")
	flag.StringVar(&r.key, "key", "", "sign the sums with this private key of ssh, a `FILE`")
	flag.StringVar(&r.base, "base", "", "the `URL` below which the files will be found")
	flag.StringVar(&r.nfpm, "nfpm", "", "make packages with this `PROGRAM`, a path of nfpm")
	flag.BoolVar(&r.try, "try", false, "although the tree is not committed or the version is not released")
	flag.Parse()
	err := r.read(targets)
	if err == nil {
		err = r.make(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$`)

// read checks all that was asked for.
func (r *release) read(targets string) error {
	var wrong []error
	if !versionForm.MatchString(r.version) {
		wrong = append(wrong, fmt.Errorf("-version %q is none: write it as 0.1.0", r.version))
	}
	for _, one := range strings.Split(targets, ",") {
		system, arch, ok := strings.Cut(one, "/")
		if !ok || !strings.Contains(","+everywhere+",", ","+one+",") {
			wrong = append(wrong, fmt.Errorf("-targets %q: use some of %s", one, everywhere))
			continue
		}
		r.targets = append(r.targets, target{system, arch})
	}
	if _, err := os.Stat(r.out); err == nil {
		wrong = append(wrong, fmt.Errorf("%s is there already: remove it, or name another folder", r.out))
	}
	if !strings.HasPrefix(r.base, "https://") || strings.ContainsAny(r.base, "\"'`$\\ \n") {
		wrong = append(wrong, fmt.Errorf("-base %q is no address of the form https://HOST/PATH", r.base))
	}
	if r.key != "" {
		if _, err := os.Stat(r.key); err != nil {
			wrong = append(wrong, fmt.Errorf("-key: %w", err))
		}
	}
	return errors.Join(wrong...)
}

func (r *release) make(ctx context.Context) error {
	if err := r.committed(ctx); err != nil {
		return err
	}
	// In a folder beside, so that what is there is whole.
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(r.out)), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Clean(r.out)), ".release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // gone already, where all went well
	var names []string
	for _, t := range r.targets {
		made, err := r.one(ctx, dir, t)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
		names = append(names, made...)
	}
	more, err := r.beside(dir)
	if err != nil {
		return err
	}
	if err := r.sums(ctx, dir, append(names, more...)); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(dir, r.out)
}

// committed reads the time of the commit, and refuses a tree or a version that is
// not what is released.
func (r *release) committed(ctx context.Context) error {
	said, err := output(ctx, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.when = time.Unix(seconds, 0).UTC()
	if r.try {
		return nil
	}
	changed, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return errors.New("the tree differs from its commit: commit or put away what is changed")
	}
	log, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	return dated(string(log), r.version)
}

// dated says whether the changelog has the version as released.
func dated(log, version string) error {
	for line := range strings.Lines(log) {
		rest, is := strings.CutPrefix(strings.TrimSpace(line), "## "+version+", ")
		if !is {
			continue
		}
		if _, err := time.Parse("2006-01-02", rest); err != nil {
			return fmt.Errorf("CHANGELOG.md says of %s: %q; write the day of the release there, as 2006-01-02", version, rest)
		}
		return nil
	}
	return fmt.Errorf("CHANGELOG.md has no section %q", "## "+version+", DAY")
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(out), nil
}
