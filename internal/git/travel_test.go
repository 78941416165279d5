package git

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newFar is a bed with a bare remote named origin that has its base.
func newFar(t *testing.T) (*bed, string) {
	t.Helper()
	b := newBed(t, nil)
	remote := filepath.Join(filepath.Dir(b.user), "remote.git")
	b.run("init", "-q", "--bare", "-b", "main", remote)
	b.run("remote", "add", "origin", remote)
	b.run("push", "-q", "origin", "main")
	b.open()
	return b, remote
}

const farRef = "refs/forge/runs/one"

func TestRecordTravels(t *testing.T) {
	t.Parallel()
	b, remote := newFar(t)
	content := map[string][]byte{"record.json": []byte("{}\n"), "events": {0, 1, '\n', 255}, "blobs/aa": []byte("x"), "blobs/bb": nil}
	// A commit of Forge's own repository alone comes with it.
	own, err := b.CommitRecord(b.ctx, map[string][]byte{"f": []byte("own")}, []string{b.base}, "own")
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.CommitRecord(b.ctx, content, []string{own, b.base, own}, "first")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is once
		if err := b.PushRef(b.ctx, "origin", farRef, first, ""); err != nil {
			t.Fatal(err)
		}
	}
	refs, err := b.RemoteRefs(b.ctx, "origin", "refs/forge/runs")
	if err != nil || len(refs) != 1 || refs[farRef] != first {
		t.Errorf("the remote has %v, %v", refs, err)
	}
	if has := b.run("for-each-ref", "refs/forge"); has != "" {
		t.Errorf("the user's repository got %s", has)
	}

	// Another machine, another clone.
	other := &bed{t: t, ctx: b.ctx, user: filepath.Join(t.TempDir(), "clone"), state: filepath.Join(t.TempDir(), "state")}
	b.run("clone", "-q", "file://"+remote, other.user)
	before := other.run("count-objects", "-v")
	other.open()
	if err := other.FetchRefs(b.ctx, "origin", farRef); err != nil {
		t.Fatal(err)
	}
	files, parents, err := other.ReadRecord(b.ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(files, content, slices.Equal) || !slices.Equal(parents, []string{own, b.base}) {
		t.Errorf("got %q with parents %v", files, parents)
	}
	if there, err := other.Exists(b.ctx, own); !there || err != nil {
		t.Errorf("what it is made of did not come: %v", err)
	}
	if there, err := other.InUser(b.ctx, own); there || err != nil || other.run("count-objects", "-v") != before {
		t.Errorf("the user's repository was written to: %v", err)
	}
	if err := other.SetRefs(b.ctx, map[string]string{"refs/forge/runs/one/head": own, "refs/forge/runs/two/head": b.base}); err != nil {
		t.Fatal(err)
	}
	kept, err := other.RefsBelow(b.ctx, "refs/forge/runs/one/")
	if err != nil || len(kept) != 1 || kept["refs/forge/runs/one/head"] != own {
		t.Errorf("kept %v, %v", kept, err)
	}

	// Of two that grow out of the first, one is there and stays.
	second, err := other.CommitRecord(b.ctx, content, []string{first}, "second")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.PushRef(b.ctx, "origin", farRef, second, first); err != nil {
		t.Fatal(err)
	}
	var moved *MovedError
	third, err := b.CommitRecord(b.ctx, content, []string{first}, "third")
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"another one":       b.PushRef(b.ctx, "origin", farRef, third, first),
		"one from nowhere":  b.PushRef(b.ctx, "origin", farRef, own, first),
		"one as if new":     b.PushRef(b.ctx, "origin", farRef, third, ""),
		"over what is ours": b.PushRef(b.ctx, "origin", farRef, third, second),
	} {
		if !errors.As(err, &moved) {
			t.Errorf("%s: %v, want a MovedError", what, err)
		}
	}
	if at := runGit(t, remote, "rev-parse", farRef); at != second {
		t.Errorf("the remote is at %s, want %s", at, second)
	}
	if err := other.PushBranch(b.ctx, "origin", "forge/run-one", own); err != nil {
		t.Error(err)
	}
	if err := other.PushBranch(b.ctx, "origin", "forge/run-one", b.base); err == nil {
		t.Error("a branch was pushed back in time")
	}
}

func TestRecordLimits(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	blob := b.run("hash-object", "-w", "--stdin")
	tree := func(entries string) string {
		t.Helper()
		res, err := b.git(b.ctx, call{args: []string{"mktree", "-z"}, stdin: strings.NewReader(entries)})
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.CommitTree(b.ctx, res.line(), nil, "x", "")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	var many strings.Builder
	for n := range MaxRecordFiles + 1 {
		many.WriteString("100644 blob " + blob + "\t" + strings.Repeat("x", 1+n/100) + string(rune('0'+n%100)) + "\x00")
	}
	for name, commit := range map[string]string{
		"more than": tree(many.String()),
		"no plain":  tree("120000 blob " + blob + "\tevents\x00"),
		`"run.sh"`:  tree("100755 blob " + blob + "\trun.sh\x00"),
		`"sub"`:     tree("160000 commit " + b.base + "\tsub\x00"),
	} {
		if _, _, err := b.ReadRecord(b.ctx, commit); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

func TestRemoteThatIsNone(t *testing.T) {
	t.Parallel()
	b, _ := newFar(t)
	var gone *UnreachableError
	for _, name := range []string{"nowhere", filepath.Join(t.TempDir(), "no.git")} {
		if _, err := b.RemoteRefs(b.ctx, name, "refs/forge/runs"); !errors.As(err, &gone) || gone.Remote != name {
			t.Errorf("%s: %v", name, err)
		}
		err := b.PushRef(b.ctx, name, farRef, b.base, "")
		if !errors.Is(err, ErrUnsure) {
			t.Errorf("%s: a push into nothing: %v", name, err)
		}
	}
	for _, name := range []string{"", "--upload-pack=touch /tmp/x", "a\nb"} {
		if _, err := b.RemoteRefs(b.ctx, name, "refs/forge/runs"); err == nil {
			t.Errorf("%q was asked", name)
		}
	}
	b.run("remote", "set-url", "--push", "origin", "/elsewhere")
	var state *StateError
	if _, err := b.RemoteRefs(b.ctx, "origin", "refs/forge/runs"); !errors.As(err, &state) {
		t.Errorf("read here and written there: %v", err)
	}
}

// A remote that does not take what is pushed is told from one that moved, with
// its reason.
func TestRemoteRefuses(t *testing.T) {
	t.Parallel()
	b, remote := newFar(t)
	write(t, filepath.Join(remote, "hooks/pre-receive"), "! #!/bin/sh\nprintf 'error:\\nerror: nobody may write here\\nerror:\\n' >&2\nexit 1\n")
	for what, err := range map[string]error{
		"record": b.PushRef(b.ctx, "origin", farRef, b.base, ""),
		"branch": b.PushBranch(b.ctx, "origin", "forge/run-one", b.base),
	} {
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Remote != "origin" || !strings.HasSuffix(err.Error(), ": nobody may write here (pre-receive hook declined)") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if gone := refused("origin", farRef, &UnreachableError{Remote: "origin", Err: &CommandError{}}); errors.As(gone, new(*RefusedError)) {
		t.Errorf("%v, and it did not answer", gone)
	}
	if plain := (&CommandError{Verb: "push", Code: 128, Stderr: "fatal: no"}).refusal(); plain != "git push: exit code 128: fatal: no" {
		t.Errorf("without a word: %q", plain)
	}
}
