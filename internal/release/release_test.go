package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReleaseRefuses(t *testing.T) {
	for log, want := range map[string]string{
		"# Changes\n\n## 0.1.0, not released\n": "write the day of the release there",
		"# Changes\n\n## 0.2.0, 2026-01-02\n":   "has no section",
		"# Changes\n\n## 0.1.0, 2026-01-02\n":   "",
	} {
		err := dated(log, "0.1.0")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", log, err, want)
		}
	}
	r := release{version: "1", out: t.TempDir(), key: "nowhere"}
	err := r.read("plan9/amd64")
	for _, want := range []string{`-version "1" is none`, `-base "" is no address`, `-targets "plan9/amd64"`, "is there already", "-key"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, without %q", err, want)
		}
	}
}

// The archive says nothing of the machine that made it.
func TestArchiveIsOfNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "text")
	r := release{when: time.Unix(1_000_000_000, 0)}
	data, err := r.archive("x", map[string]string{"forge": path})
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	head, err := tar.NewReader(zip).Next()
	if err != nil {
		t.Fatal(err)
	}
	if head.Uname+head.Gname != "" || head.Uid+head.Gid != 0 || !head.ModTime.Equal(r.when) || head.Mode != 0o755 || !zip.ModTime.IsZero() {
		t.Errorf("%+v, %+v", head, zip.Header)
	}
}

func unpack(t *testing.T, data []byte) map[string]int64 {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int64{}
	for tape := tar.NewReader(zip); ; {
		head, err := tape.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[head.Name] = head.Size
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}
