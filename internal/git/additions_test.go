package git

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestWithFiles(t *testing.T) {
	b := newBed(t, files{"a": "a\n", "d/b": "b\n", "run": "! x\n"})
	ref := "refs/forge/runs/x/start"
	id, err := b.WithFiles(b.ctx, b.base, map[string][]byte{"job/plan.md": []byte("p\r\n"), "d/b": []byte("c"), "job/ü .md": {0, 1}}, "start\n", ref)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "files", b.tree(id), files{"a": "a\n", "d/b": "c", "run": "! x\n", "job/plan.md": "p\r\n", "job/ü .md": "\x00\x01"})
	if at, err := b.ReadRef(b.ctx, ref); err != nil || at != id {
		t.Errorf("the ref holds %q, %v", at, err)
	}
	if same, err := b.WithFiles(b.ctx, b.base, nil, "start\n", ref); err != nil || same != b.base {
		t.Errorf("without files: %s, %v", same, err)
	}
	for _, bad := range []string{"../x", "/x", "a/../../x", "", "x\x00y"} {
		if _, err := b.WithFiles(b.ctx, b.base, map[string][]byte{bad: nil}, "start\n", ""); err == nil {
			t.Errorf("the path %q went through", bad)
		}
	}
}

func TestFile(t *testing.T) {
	b := newBed(t, files{"text": "a\n", "link": "-> text", "d/run": "! x\n", "d/*": "star\n"})
	for path, want := range map[string]string{"text": "a\n", "d/run": "x\n", "d/*": "star\n"} {
		if got, err := b.File(b.ctx, b.base, path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]error{"none": fs.ErrNotExist, "d": ErrNotText, "link": ErrNotText, "link/x": fs.ErrNotExist, "d/r*": fs.ErrNotExist} {
		if got, err := b.File(b.ctx, b.base, path); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", path, got, err, want)
		}
	}
	if _, err := b.File(b.ctx, strings.Repeat("0", 40), "text"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a commit that is not there: %v", err)
	}
}

func TestIgnored(t *testing.T) {
	b := newBed(t, files{".gitignore": "archive/\n*.yaml\n", "kept.yaml": "x\n"})
	got, err := b.Ignored(b.ctx, []string{"job/archive/x.md", "job/plan.md", "kept.yaml"})
	if err != nil || !slices.Equal(got, []string{"job/archive/x.md", "kept.yaml"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := b.Ignored(b.ctx, []string{"job/plan.md"}); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}
