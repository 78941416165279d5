package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The command lines are held word by word: docker's is tried nowhere else.
func TestContainerCommandLine(t *testing.T) {
	t.Parallel()
	mounts := []mount{
		{mountEmpty, "", "/tmp"}, {mountRead, "/repo/objects", "/repo/objects"}, {mountWrite, "/state/phase", "/build/src"},
		{mountRead, `/odd, "one"`, "/odd"},
	}
	for _, c := range []struct {
		name, runtime string
		run           containerRun
	}{
		{"podman", podman, containerRun{Container: Container{Image: "img@sha256:1"}, user: "0:0", network: true}},
		{"podman-user", podman, containerRun{Container: Container{Image: "img", MemoryMB: 512, PIDs: 100}, user: "1000:1000", keepID: true}},
		{"docker", docker, containerRun{Container: Container{Image: "img", MemoryMB: 512, PIDs: 100}, user: "1000:1000", keepID: true}},
	} {
		c.run.name, c.run.mark, c.run.mounts = "forge-1", "FORGE_LEASE=m", mounts
		got := strings.Join(c.run.argv(c.runtime), "\n") + "\n"
		file := filepath.Join("testdata", "container-"+c.name+".txt")
		if os.Getenv("FORGE_UPDATE_GOLDEN") == "1" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
		}
	}
}

func TestContainerIsNamed(t *testing.T) {
	empty := t.TempDir()
	both := t.TempDir()
	for _, name := range []string{podman, docker} {
		if err := os.WriteFile(filepath.Join(both, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		in         Container
		path, want string
	}{
		{Container{Image: "i"}, both, podman},
		{Container{Image: "i", Runtime: docker}, both, docker},
		{Container{Image: "i"}, empty, "podman or docker is not in PATH"},
		{Container{Image: "i", Runtime: docker}, empty, "docker is not in PATH"},
		{Container{}, both, "no image is named"},
		{Container{Image: "--privileged"}, both, "is no name of an image"},
		{Container{Image: "i", Runtime: "./podman"}, both, "unknown container runtime"},
	} {
		t.Setenv("PATH", c.path)
		name, path, err := c.in.find()
		if err == nil && (name != c.want || path != filepath.Join(c.path, name)) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %q, %q, %v, want %q", c.in, name, path, err, c.want)
		}
	}
}

// A container that is asked for is never anything else.
func TestChooseContainer(t *testing.T) {
	t.Parallel()
	for _, onlyHosts := range []bool{false, true} {
		if level, err := Choose("container", onlyHosts, Capabilities{}); level != LevelContainer || err != nil {
			t.Errorf("%q, %v", level, err)
		}
	}
	s := Spec{Path: "sh", Dir: t.TempDir(), Sandbox: &Sandbox{Level: LevelContainer, Container: Container{Image: "i", Runtime: "none"}}}
	if _, err := Start(t.Context(), s); err == nil {
		t.Error("it ran without a runtime")
	}
	s.Sandbox.Overlays = []Overlay{{Dir: s.Dir, Lower: []string{s.Dir}, Work: s.Dir}}
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "cannot lay folders over each other") {
		t.Errorf("overlays: %v", err)
	}
}

func TestContainerVariables(t *testing.T) {
	t.Parallel()
	got := withImages([]string{"FORGE_LEASE=m", "PATH=/host/bin", "LANG=C", "HOME=/home/u"},
		[]string{"PATH=/img/bin", "LANG=de", "RUSTUP_HOME=/img/rustup", "HOME=/root", "HOSTNAME=h", "container=podman", "FORGE_LEASE=x", "HTTPS_PROXY=http://u:p@h", "TERM=t"},
		[]string{"/srv/tools"})
	if want := "FORGE_LEASE=m LANG=C HOME=/home/u PATH=/srv/tools:/img/bin RUSTUP_HOME=/img/rustup"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRemovedContainers(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\necho Error: No such container: x >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, podman), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	note := filepath.Join(dir, "forge-1"+containerNote)
	for _, said := range []string{"podman forge-2", "sh forge-1", "podman -a", "", "podman forge-1"} {
		if err := os.WriteFile(note, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		removeContainer(note)
	}
	wantContent(t, log, "rm --force forge-1\n")
	link := filepath.Join(dir, "forge-3"+containerNote)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "other"), []byte("podman forge-3"), 0o600), os.Symlink("other", link)); err != nil {
		t.Fatal(err)
	}
	removeContainer(link)
	wantContent(t, log, "rm --force forge-1\n")
	path, err := exec.LookPath(podman)
	if err != nil {
		t.Fatal(err)
	}
	if was, err := removeNamed(t.Context(), path, "forge-1"); was || err != nil {
		t.Errorf("one that is not there: %v, %v", was, err)
	}
	// A daemon says so of one that it removes just now.
	twice := "#!/bin/sh\necho \"$@\" >>" + log + "\n[ $(wc -l <" + log + ") -gt 2 ] || { echo Error: removal of container forge-1 is already in progress >&2; exit 1; }\n"
	if err := errors.Join(os.WriteFile(log, nil, 0o600), os.WriteFile(path, []byte(twice), 0o755)); err != nil {
		t.Fatal(err)
	}
	if was, err := removeNamed(t.Context(), path, "forge-1"); !was || err != nil {
		t.Errorf("one that is removed already: %v, %v", was, err)
	}
	wantContent(t, log, strings.Repeat("rm --force forge-1\n", 3))
}

// What is left of the order's line is no end of the connection.
func TestContainerOutlivesTheEndOfItsOrder(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		hungUp(r)
		_ = r.Close()
	}()
	if _, err := w.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("\n")); err != nil { // whoever reads on has taken the first
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-over
}
