package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// counted is a store whose gits are started through a script that notes them.
func counted(t testing.TB, script string) (*bed, string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, nil)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "git"), "! #!/bin/sh\necho \"$*\" >>'"+bin+"/calls'\n"+fmt.Sprintf(script, real)+"\n")
	s, err := Open(b.ctx, Config{StateDir: b.state, Root: b.user, Environ: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))})
	if err != nil {
		t.Fatal(err)
	}
	b.Store = s
	return b, bin
}

func calls(t testing.TB, bin string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(bin, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(bin, "calls"))
	return splitLines(data)
}

// Each command of Forge begins with it.
func TestOpeningAsksOnce(t *testing.T) {
	b, bin := counted(t, `exec '%s' "$@"`)
	if got := calls(t, bin); len(got) != 1 {
		t.Errorf("to open takes %d gits, want 1, for the settings: %q", len(got), got)
	}
	for _, how := range [][]string{{"pack-refs", "--all"}, {"checkout", "-q", "--detach"}} {
		if err := b.KeepBase(b.ctx, "r1", b.base); err != nil {
			t.Fatal(err)
		}
		b.run(how...)
		samePlaces(t, b)
	}
	b.run("gc", "-q")
	samePlaces(t, b)
}

// samePlaces holds what is read of a repository against what git says.
func samePlaces(t *testing.T, b *bed) {
	t.Helper()
	unread := func() *Store {
		return &Store{user: b.Store.user, root: b.root, repo: b.repo, settings: b.settings, trees: map[string]string{}, bases: map[string]bool{}}
	}
	here, asked := unread(), unread()
	if err := asked.places(b.ctx); err != nil {
		t.Fatal(err)
	}
	if !here.placesHere() {
		t.Fatal("git has to be asked")
	}
	if here.commonDir != asked.commonDir || here.gitDir != asked.gitDir || !slices.Equal(here.objects, asked.objects) || !maps.Equal(here.bases, asked.bases) {
		t.Errorf("read as %q %q %q %v, by git as %q %q %q %v", here.commonDir, here.gitDir, here.objects, here.bases, asked.commonDir, asked.gitDir, asked.objects, asked.bases)
	}
}

// A worktree, a repository elsewhere and one that is laid out otherwise are git's to find.
func TestPlacesThatGitFinds(t *testing.T) {
	b := newBed(t, nil)
	beside := filepath.Join(filepath.Dir(b.user), "beside")
	b.run("worktree", "add", "-q", "--detach", beside)
	for name, change := range map[string]func() string{
		"worktree": func() string { return beside },
		"extension": func() string {
			b.run("config", "core.repositoryformatversion", "1")
			b.run("config", "extensions.worktreeConfig", "true")
			return b.user
		},
	} {
		root := change()
		s, err := Open(b.ctx, Config{StateDir: filepath.Join(t.TempDir(), "state"), Root: root})
		if err != nil {
			t.Fatal(err)
		}
		if s.placesHere() {
			t.Errorf("%s: read without git", name)
		}
		if s.commonDir != filepath.Join(b.user, ".git") || !s.bases[b.base] {
			t.Errorf("%s: taken for %q, %v", name, s.commonDir, s.bases)
		}
	}
}

// A path with a line break in it is not taken for two.
func TestOpenWithABreakInThePath(t *testing.T) {
	b := newBed(t, nil)
	odd := filepath.Join(t.TempDir(), "two\nlines")
	if err := os.Rename(b.user, odd); err != nil {
		t.Fatal(err)
	}
	s, err := Open(b.ctx, Config{StateDir: b.state, Root: odd})
	if err == nil && (s.commonDir != filepath.Join(odd, ".git") || s.objects[0] != filepath.Join(odd, ".git", "objects")) {
		t.Errorf("taken for %q with objects %q", s.commonDir, s.objects)
	}
}

func TestSnapshotProcesses(t *testing.T) {
	b, bin := counted(t, `exec '%s' "$@"`)
	dir := b.folder("01")
	calls(t, bin)
	b.snap(dir, b.base)
	if got := calls(t, bin); len(got) != 2 {
		t.Errorf("unchanged: %d gits, want 2: %q", len(got), got)
	}
	parent := b.base
	for i := range 3 {
		b.write(dir, files{"a.txt": fmt.Sprint(i), fmt.Sprint("new", i): "n"})
		parent = b.snap(dir, parent).Commit
		if got := calls(t, bin); len(got) != 3 { // the last one for its shape
			t.Errorf("changed: %d gits, want 3: %q", len(got), got)
		}
	}
}

// What a tree holds is asked once, however often it is checked out, looked at and
// mixed with another.
func TestATreeIsListedOnce(t *testing.T) {
	b, bin := counted(t, `exec '%s' "$@"`)
	dir := b.folder("01")
	b.write(dir, files{"a.txt": "changed", "new.txt": "n"})
	next := b.snap(dir, b.base).Commit
	look := func() string {
		t.Helper()
		for _, commit := range []string{b.base, next} {
			at := filepath.Join(b.state, "verify")
			if err := errors.Join(os.RemoveAll(at), b.Materialize(b.ctx, at, commit)); err != nil {
				t.Fatal(err)
			}
			list, err := b.Files(b.ctx, commit)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range list {
				if _, err := os.Lstat(filepath.Join(at, path)); err != nil {
					t.Errorf("%s: %v", commit, err)
				}
			}
			if has := slices.Contains(list, "new.txt"); has != (commit == next) {
				t.Errorf("files of %s: %q", commit, list)
			}
		}
		mixed, err := b.WithFilesFrom(b.ctx, next, b.base, []string{"a.txt"})
		if err != nil {
			t.Fatal(err)
		}
		return mixed
	}
	mixed := look()
	calls(t, bin)
	if again := look(); again != mixed {
		t.Errorf("mixed is %s and then %s", mixed, again)
	}
	if got := calls(t, bin); len(got) != 2 {
		t.Errorf("%d gits for two check-outs of known trees, want 2: %q", len(got), got)
	}
	if other, err := b.WithFilesFrom(b.ctx, next, b.base, []string{"new.txt"}); err != nil || other == mixed {
		t.Errorf("other files of the same commits make %s, %v", other, err)
	}
}

// What was accepted of many results is taken at once: after a day of them each would cost
// five gits, at every run that begins and every one that lands.
func TestFilesOfManyCommitsAreTakenAtOnce(t *testing.T) {
	b, bin := counted(t, `exec '%s' "$@"`)
	var parts []Part
	want := files{"late.txt": "no folder any more\n"}
	for i := range 4 {
		at := fmt.Sprintf("late%d.txt", i)
		commit := b.result(fmt.Sprint("0", i), files{at: "n\n", "same.txt": fmt.Sprint(i), "late.txt/x": "x\n"})
		parts = append(parts, Part{commit, []string{at, "same.txt", "late.txt/x", "never"}})
		want[at], want["same.txt"] = "n\n", fmt.Sprint(i)
	}
	last := b.result("last", files{"late.txt": want["late.txt"]})
	parts = append(parts, Part{}, Part{last, []string{"late.txt"}})
	one := b.base
	for _, p := range parts {
		if p.Commit == "" {
			continue
		}
		var err error
		if one, err = b.WithFilesFrom(b.ctx, one, p.Commit, p.Paths); err != nil {
			t.Fatal(err)
		}
	}
	calls(t, bin)
	all, err := b.WithParts(b.ctx, b.base, parts)
	if err != nil {
		t.Fatal(err)
	}
	if got := noted(bin); got != "" {
		t.Errorf("gits for files of %d known commits: %q", len(parts)-1, got)
	}
	if got, want := b.tree(all), b.tree(one); !maps.Equal(got, want) {
		t.Errorf("at once %q, one after the other %q", got, want)
	}
	for path, content := range want {
		if got := b.tree(all)[path]; got != content {
			t.Errorf("%s is %q, want %q", path, got, content)
		}
	}
}

// What a file holds is read once, in whichever commit it stands, and read again is
// what git says.
func TestAFileIsReadOnce(t *testing.T) {
	b, bin := counted(t, `exec '%s' "$@"`)
	dir := b.folder("01")
	b.write(dir, files{"a.txt": "changed", "deep/new.txt": "n", "large": strings.Repeat("x", mostBlob+1), "empty": ""})
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	next := b.snap(dir, b.base).Commit
	paths := []string{"a.txt", "src/b.txt", "deep/new.txt", "deep", "missing", "large", "link", "empty"}
	read := func(commit string, most int64) map[string]string {
		t.Helper()
		all := map[string]string{}
		err := b.Contents(b.ctx, commit, paths, most, func(path string, data []byte) {
			all[path] = string(data)
			clear(data) // is the caller's
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := map[string]string{"a.txt": "changed", "src/b.txt": "b\n", "deep/new.txt": "n", "large": strings.Repeat("x", mostBlob+1), "link": "a.txt", "empty": ""}
	for _, listed := range []bool{false, true, true} {
		if listed {
			if _, err := b.Files(b.ctx, next); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(next, 1<<20); !maps.Equal(got, want) {
			t.Errorf("tree known %v: %.300q", listed, got)
		}
	}
	if got := read(next, 2); !maps.Equal(got, map[string]string{"src/b.txt": "b\n", "deep/new.txt": "n", "empty": ""}) {
		t.Errorf("of two bytes at most: %q", got)
	}
	calls(t, bin)
	paths = []string{"a.txt", "src/b.txt", "missing"}
	if got := read(next, 100); len(got) != 2 || noted(bin) != "" {
		t.Errorf("asked again: %q, %q", got, noted(bin))
	}
	if _, err := b.Files(b.ctx, b.base); err != nil {
		t.Fatal(err)
	}
	paths = []string{"src/b.txt"} // the same in both
	_ = os.Remove(filepath.Join(bin, "calls"))
	if got := read(b.base, 100); got["src/b.txt"] != "b\n" || noted(bin) != "" {
		t.Errorf("of another commit: %q, %q", got, noted(bin))
	}
	if paths = []string{"a.txt"}; read(b.base, 100)["a.txt"] != "a\n" {
		t.Error("a file that differs is read as that of the other commit")
	}
}

// noted is what was asked of git since calls, which may be nothing.
func noted(bin string) string {
	data, _ := os.ReadFile(filepath.Join(bin, "calls"))
	return string(data)
}

// What a snapshot reports is on disk, at three syncs a snapshot.
func TestSnapshotSyncs(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: syncs cannot be counted")
	}
	if out, err := exec.Command(strace, "-f", "--seccomp-bpf", "-e", "trace=fsync", "true").CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %s", out)
	}
	b, bin := counted(t, `exec strace -f --seccomp-bpf -qq -e trace=fsync,fdatasync -o "$0.sync.$$" '%s' "$@"`)
	dir := b.folder("01")
	count := func() int {
		t.Helper()
		logs, err := filepath.Glob(filepath.Join(bin, "git.sync.*"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, log := range logs {
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			n += len(regexp.MustCompile(`(?m)f(data)?sync\(`).FindAll(data, -1))
			remove(t, log)
		}
		return n
	}
	count()
	b.snap(dir, b.base)
	if n := count(); n != 0 {
		t.Errorf("unchanged: %d syncs, want 0", n)
	}
	b.write(dir, files{"a.txt": "changed", "new/one": "1", "new/two": "2"})
	b.snap(dir, b.base)
	if n := count(); n < 1 || n > 3 {
		t.Errorf("changed: %d syncs, want 1 to 3", n)
	}
}

// A cancelled call ends git and what git started, and says why.
func TestCancel(t *testing.T) {
	b := newBed(t, files{"a": "a\n", ".gitattributes": "*.slow filter=slow\n"})
	tool := filepath.Join(t.TempDir(), "slow")
	write(t, tool, "! #!/bin/sh\necho $$ >'"+tool+".pid'\nexec sleep 600\n")
	b.run("config", "filter.slow.clean", tool)
	b.open()
	dir := b.folder("01")
	b.write(dir, files{"x.slow": "x", "ok": "1"})
	ctx, cancel := context.WithCancelCause(b.ctx)
	why := errors.New("stop now")
	go func() {
		for {
			if data, err := os.ReadFile(tool + ".pid"); err == nil && bytes.HasSuffix(data, []byte("\n")) {
				cancel(why)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := b.Snapshot(ctx, dir, b.base, "refs/forge/test", "m"); !errors.Is(err, why) {
		t.Errorf("cancelled: %v, want %v", err, why)
	}
	b.run("config", "--unset", "filter.slow.clean")
	b.open()
	snap := b.snap(dir, b.base)
	same(t, "afterwards", b.tree(snap.Commit), files{"a": "a\n", ".gitattributes": "*.slow filter=slow\n", "x.slow": "x", "ok": "1"})
}

// Configuration is written so that git reads back what was meant.
func TestRenderConfig(t *testing.T) {
	want := []setting{
		{"core.autocrlf", "true"}, {`filter.we"ird\.sub.x.clean`, "a \"b\" \\c #d ;e 'f' \t g \n h "}, {"filter.other.clean", ""},
		{"core.eol", "lf"}, {"merge.a b.driver", " leading"},
	}
	data, err := renderConfig(want)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, string(data))
	got := parseConfig([]byte(runGit(t, t.TempDir(), "config", "--list", "-z", "-f", file)))
	if !slices.Equal(got, want) {
		t.Errorf("read back %q, want %q\n%s", got, want, data)
	}
	for _, bad := range []setting{{"nosection", "x"}, {"core.x", "a\x00b"}, {"filter.a\nb.clean", "x"}} {
		if _, err := renderConfig([]setting{bad}); err == nil {
			t.Errorf("%q was written", bad)
		}
	}
}

func TestObjectPathsFollowAlternates(t *testing.T) {
	b := newBed(t, nil)
	clone := filepath.Join(filepath.Dir(b.user), "cl one\"")
	runGit(t, filepath.Dir(b.user), "clone", "-q", "--shared", b.user, clone)
	first := filepath.Join(b.user, ".git/objects")
	b.user, b.state = clone, b.state+"2"
	b.open()
	sameStrings(t, "ObjectPaths", b.ObjectPaths(), []string{filepath.Join(clone, ".git/objects"), first})
	dir := b.folder("01")
	if got := runGit(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("status = %q", got)
	}
	b.write(dir, files{"n": "n"})
	if snap := b.snap(dir, b.base); !strings.Contains(strings.Join(changed(snap), " "), "A n") {
		t.Errorf("snapshot = %+v", snap)
	}
}

// bigBed is a repository of 2,000 files.
func bigBed(b *testing.B) (*bed, string) {
	b.Helper()
	content := files{".gitignore": "*.log\n"}
	for i := range 2000 {
		content[fmt.Sprintf("dir%02d/sub%d/file%04d.txt", i%40, i%5, i)] = strings.Repeat(fmt.Sprintln("line", i), 20)
	}
	bed := newBed(b, content)
	return bed, bed.folder("01")
}

// BenchmarkSnapshot compares snapshots with the same plumbing started
// directly, in the same run; the ratio of the two is "x-floor".
func BenchmarkSnapshot(b *testing.B) {
	for _, change := range []bool{false, true} {
		name := map[bool]string{false: "unchanged", true: "one-file"}[change]
		b.Run(name, func(b *testing.B) {
			bed, dir := bigBed(b)
			floorDir := filepath.Join(bed.state, "floor")
			if err := bed.OpenFolder(bed.ctx, floorDir, bed.base); err != nil {
				b.Fatal(err)
			}
			var ours, floor time.Duration
			parent, floorParent := bed.base, bed.base
			n := 0
			for b.Loop() {
				n++
				if change {
					write(b, filepath.Join(dir, "dir00/sub0/file0000.txt"), fmt.Sprint(n))
					write(b, filepath.Join(floorDir, "dir00/sub0/file0000.txt"), fmt.Sprint(n))
				}
				start := time.Now()
				parent = bed.snap(dir, parent).Commit
				middle := time.Now()
				floorParent = bed.floor(floorDir, floorParent, change)
				ours += middle.Sub(start)
				floor += time.Since(middle)
			}
			b.ReportMetric(float64(ours)/float64(floor), "x-floor")
			b.ReportMetric(float64(floor.Nanoseconds())/float64(n), "floor-ns/op")
		})
	}
}

// floor is a snapshot by plumbing with the same settings and nothing else.
func (b *bed) floor(dir, parent string, change bool) string {
	b.t.Helper()
	sh := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = b.repo
		cmd.Env = append(os.Environ(), "GIT_DIR="+b.repo, "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+dir+".index",
			"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid")
		out, err := cmd.Output()
		if err != nil {
			b.t.Fatal(args, err)
		}
		return strings.TrimSpace(string(out))
	}
	sh("add", "-A")
	tree := sh("write-tree")
	if !change {
		return parent
	}
	commit := sh("commit-tree", tree, "-p", parent, "-m", "snapshot")
	sh("update-ref", "refs/forge/floor", commit)
	sh("diff-tree", "-r", "-z", "--raw", parent, commit)
	return commit
}

// BenchmarkOpenFolder compares a phase folder with a linked worktree.
func BenchmarkOpenFolder(b *testing.B) {
	bed, dir := bigBed(b)
	var ours, floor time.Duration
	for b.Loop() {
		start := time.Now()
		if err := bed.OpenFolder(bed.ctx, dir, bed.base); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		linked := filepath.Join(bed.state, "linked")
		bed.run("worktree", "add", "-q", "--detach", linked, bed.base)
		floor += time.Since(middle)
		ours += middle.Sub(start)
		bed.run("worktree", "remove", "--force", linked)
	}
	b.ReportMetric(float64(ours)/float64(floor), "x-floor")
}
