package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"forge/internal/pace"
)

// A power cut takes more than a kill does: whatever was not synced is gone, or
// is there and empty. What Forge relies on is in docs/storage.md and
// docs/git.md: events and the objects they name are synced before anything
// goes on; references, folders and indexes are not.

// cut is what a power cut leaves of what was not synced.
type cut struct {
	name string
	// lost is what becomes of a file: it is removed, or it is empty.
	lost func(path string) error
	// frames is how many of the journal's last transactions are gone too,
	// which takes a disk that lies about syncs. torn cuts the last in half.
	frames int
	torn   bool
}

func cuts() []cut {
	empty := func(path string) error { return os.Truncate(path, 0) }
	return []cut{
		{name: "files are gone", lost: os.Remove},
		{name: "files are empty", lost: empty},
		{name: "the last event is torn", lost: os.Remove, frames: 1, torn: true},
		{name: "the last events are gone", lost: empty, frames: 3},
	}
}

// Each way to lose something comes once; make soak has three times as many.
func TestPowerCut(t *testing.T) {
	pace.Slow(t, "a run, a cut and the run again")
	pace.Sequential(t, processesAlone)
	cutEvery(t, 9)
}

// cutEvery cuts the power at every step-th event of a run, each time in the next
// of the ways.
func cutEvery(t *testing.T, step int64) {
	want, events := undisturbed(t)
	all := cuts()
	for at := int64(2); at < events; at += step {
		c := all[int(at/3)%len(all)]
		t.Run(fmt.Sprintf("event %d, %s", at, c.name), func(t *testing.T) {
			t.Parallel()
			k := newKilled(t)
			if _, died, _ := k.stream(at, "run", "--autonomous"); !died {
				t.Skipf("the run was over before the cut at event %d came", at)
			}
			c.happen(k)
			k.carryOn(c, want)
		})
	}
}

// carryOn resumes after a power cut: the run comes to the same end, or Forge
// refuses because the journal is shorter than it was once.
func (c *checkout) carryOn(loss cut, want string) {
	c.t.Helper()
	stdout, stderr, code := c.forge("resume")
	switch {
	case code == 2 && loss.frames > 0 && strings.Contains(stderr, "was there once and is missing"):
		return
	case code == 2 && strings.Contains(stderr, "this project has no runs"):
		if stdout, stderr, code = c.forge("run", "--autonomous"); code != 0 {
			c.t.Fatalf("forge run: exit code %d\n%s%s", code, stdout, stderr)
		}
	case code == 2 && strings.Contains(stderr, "is completed: there is nothing to go on with"):
	case code != 0:
		c.t.Fatalf("forge resume: exit code %d\n%s%s", code, stdout, stderr)
	}
	onceEach(c.t, c.exported())
	if got := c.outcome(); got != want {
		c.t.Errorf("after a power cut the run ended\n%s\nwithout one it ends\n%s", got, want)
	}
	c.must("git", "fsck", "--strict", "--no-dangling")
	if _, stderr, code := c.quick("audit", "verify"); code != 0 {
		c.t.Errorf("forge audit verify: exit code %d\n%s", code, stderr)
	}
}

// exported are the events that the journal holds; none when it holds no run.
func (c *checkout) exported() []event {
	c.t.Helper()
	stdout, _, _ := c.quick("audit", "export")
	var evs []event
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var e event
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.t.Fatalf("forge audit export printed %q: %v", line, err)
		}
		evs = append(evs, e)
	}
	return evs
}

var objectName = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// happen loses what was not synced.
func (c cut) happen(k *checkout) {
	k.t.Helper()
	c.cutJournal(k)
	named := map[string]bool{}
	for _, e := range k.exported() {
		for _, id := range objectName.FindAllString(string(e.Data), -1) {
			named[id] = true
		}
	}
	keep := k.reached(named)
	repo := k.at("state/repo.git")
	k.each(repo, func(path string) {
		rel, _ := filepath.Rel(repo, path)
		switch part := strings.Split(filepath.ToSlash(rel), "/"); {
		case part[0] == "objects" && len(part) == 3 && len(part[1]) == 2:
			if keep[part[1]+part[2]] {
				return
			}
		case part[0] != "refs" || strings.HasPrefix(rel, filepath.FromSlash("refs/forge/journal/")):
			return // configuration, packs and anchors are synced
		}
		k.lose(c, path)
	})
	k.each(k.at("state/runs"), func(path string) { k.lose(c, path) })
}

// reached are the objects that the named ones take, and those that the anchors
// of the journal point at.
func (c *checkout) reached(named map[string]bool) map[string]bool {
	c.t.Helper()
	git := func(stdin string, args ...string) []string {
		cmd := c.command("git", append([]string{"--git-dir=" + c.at("state/repo.git")}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			c.t.Fatalf("git %v: %v", args, err)
		}
		return strings.Fields(string(out))
	}
	var ids []string
	for id := range named {
		ids = append(ids, id)
	}
	there := ""
	for _, id := range git(strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objectname)") {
		if objectName.MatchString(id) {
			there += id + "\n"
		}
	}
	keep := map[string]bool{}
	for _, id := range append(git(there, "rev-list", "--objects", "--no-object-names", "--stdin", "--ignore-missing"),
		git("", "for-each-ref", "--format=%(objectname)", "refs/forge/journal")...) {
		keep[id] = true
	}
	return keep
}

func (c *checkout) each(root string, do func(path string)) {
	c.t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			do(path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
}

// lose does to a file what the cut does. A git that outlives its Forge for a moment
// may take its lock away meanwhile.
func (c *checkout) lose(loss cut, path string) {
	c.t.Helper()
	err := os.Chmod(path, 0o600)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		c.t.Fatal(err)
	}
	if err := loss.lost(path); err != nil {
		c.t.Fatal(err)
	}
}

// cutJournal drops the last transactions of the write-ahead log, and the index
// over it, which never outlives a power cut. The log is a header of 32 bytes
// and frames of 24 bytes and a page; a frame that ends a transaction holds the
// size of the database, and a frame of this log has the header's salt
// (https://www.sqlite.org/fileformat2.html#walformat).
func (c cut) cutJournal(k *checkout) {
	k.t.Helper()
	path := k.at("state/journal.db-wal")
	if err := os.Remove(k.at("state/journal.db-shm")); err != nil && !os.IsNotExist(err) {
		k.t.Fatal(err)
	}
	log, err := os.ReadFile(path)
	if os.IsNotExist(err) || err == nil && len(log) < 32 {
		return
	}
	if err != nil {
		k.t.Fatal(err)
	}
	frame := 24 + int(binary.BigEndian.Uint32(log[8:]))
	ends := []int{32}
	for at := 32; at+frame <= len(log) && string(log[at+8:at+16]) == string(log[16:24]); at += frame {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			ends = append(ends, at+frame)
		}
	}
	size := ends[max(0, len(ends)-1-c.frames)]
	if c.torn {
		size = ends[len(ends)-1] - frame/2
	}
	if err := os.Truncate(path, int64(max(size, 32))); err != nil {
		k.t.Fatal(err)
	}
}
