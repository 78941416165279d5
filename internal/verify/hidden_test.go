package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/work"
)

// hiddenIn writes a folder of hidden checks.
func hiddenIn(t *testing.T, tree files) string {
	t.Helper()
	dir := t.TempDir()
	if err := tree.write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	hiddenList = "[[check]]\nname = \"large amounts\"\ncommand = \"sh secret/large.sh\"\nsay = \"amounts above 1000 are wrong\"\n"
	hiddenTest = "echo s3cret-input 4711 >&2\n. ./calc.sh\ntest \"$(fee 4711)\" = 47\n"
)

func (b *bench) hiddenReq(dirs ...string) work.HiddenRequest {
	req := b.req("never run")
	req.Env = nil
	return work.HiddenRequest{Verify: req, PhaseName: "core", Folders: dirs}
}

func TestHidden(t *testing.T) {
	dir := hiddenIn(t, files{"hidden.toml": hiddenList, "secret/large.sh": hiddenTest})
	right := newBench(t, files{"calc.sh": "fee() { echo $(($1 / 100)); }\n"})
	rep, err := right.Hidden(t.Context(), right.hiddenReq(dir))
	if err != nil || rep.Red != "" || rep.Ran != 1 {
		t.Fatalf("right work: %+v, %v", rep, err)
	}
	if _, err := os.Stat(filepath.Join(right.state, "verify", "01")); err == nil {
		t.Error("the folder with the hidden files is still there")
	}

	// The special case for the one input that the work was shown.
	special := newBench(t, files{"calc.sh": "fee() { [ $1 = 100 ] && echo 1; }\n"})
	req := special.hiddenReq(dir)
	rep, err = special.Hidden(t.Context(), req)
	if err != nil || rep.Red != "amounts above 1000 are wrong" {
		t.Fatalf("wrong work: %+v, %v", rep, err)
	}
	log, err := os.ReadFile(req.Verify.LogPath)
	if err != nil || !strings.Contains(string(log), "s3cret-input") {
		t.Errorf("the log for people does not say what was red: %v\n%s", err, log)
	}
}

// What cannot be run or read is neither red nor green, and names nothing that
// an agent might hear.
func TestHiddenUnknown(t *testing.T) {
	b := newBench(t, files{"calc.sh": ""})
	empty := hiddenIn(t, files{"readme": ""})
	if rep, err := b.Hidden(t.Context(), b.hiddenReq(empty)); err == nil {
		t.Errorf("a folder without a list: %+v", rep)
	}
	dir := hiddenIn(t, files{"hidden.toml": hiddenList, "secret/large.sh": hiddenTest})
	req := b.hiddenReq(dir)
	req.Verify.Commit = "s3cret"
	rep, err := b.Hidden(t.Context(), req)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a commit that is not there: %+v, %v", rep, err)
	}
	if log, _ := os.ReadFile(req.Verify.LogPath); !strings.Contains(string(log), "no commit") {
		t.Errorf("the log does not say why: %s", log)
	}
}

func TestHiddenCounts(t *testing.T) {
	list := "[[check]]\ncommand = \"true\"\nphases = [\"02\"]\n[[check]]\ncommand = \"false\"\nphases = [\"api-*\"]\nsay = \"no\"\n"
	dir := hiddenIn(t, files{"hidden.toml": list})
	b := newBench(t, files{"calc.sh": ""})
	for name, c := range map[string]struct {
		change func(*work.HiddenRequest)
		ran    int
		red    string
	}{
		"of no phase":     {func(*work.HiddenRequest) {}, 0, ""},
		"of its number":   {func(r *work.HiddenRequest) { r.Verify.Phase = "02" }, 1, ""},
		"of its name":     {func(r *work.HiddenRequest) { r.PhaseName = "api-list" }, 1, "no"},
		"a whole result":  {func(r *work.HiddenRequest) { r.Whole = true }, 2, "no"},
		"a second folder": {func(r *work.HiddenRequest) { r.Verify.Phase, r.Folders = "02", []string{dir, dir} }, 2, ""},
	} {
		req := b.hiddenReq(dir)
		c.change(&req)
		rep, err := b.Hidden(t.Context(), req)
		if err != nil || rep.Ran != c.ran || rep.Red != c.red {
			t.Errorf("%s: %+v, %v, want %d ran and red %q", name, rep, err, c.ran, c.red)
		}
	}
}

// A check that changes what it judges says nothing about the work.
func TestHiddenDisturbed(t *testing.T) {
	dir := hiddenIn(t, files{"hidden.toml": "[[check]]\ncommand = \"echo x > calc.sh\"\n"})
	b := newBench(t, files{"calc.sh": "a\n"})
	rep, err := b.Hidden(t.Context(), b.hiddenReq(dir))
	if err != nil || rep.Disturbed == "" {
		t.Errorf("%+v, %v", rep, err)
	}
}
