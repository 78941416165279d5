package git

import "testing"

func TestStrip(t *testing.T) {
	b := newBed(t, files{"a": "a\n", "job/kept": "not the folder\n"})
	const folder, message, ref = "forge-job", "the result\n", "refs/forge/runs/r/result"
	work := b.result("01", files{"forge-job/plan.md": "p", "forge-job/deep/x": "x", "report.md": "r\n", "forge-jobs": "a neighbour\n", "odd\nname": "o"})

	got, err := b.Strip(b.ctx, work, b.base, folder, message, ref)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the result", b.tree(got), files{"a": "a\n", "job/kept": "not the folder\n", "report.md": "r\n", "forge-jobs": "a neighbour\n", "odd\nname": "o"})
	if parent := b.ownGit("rev-parse", got+"^"); parent != b.base {
		t.Errorf("its parent is %s, want the base", parent)
	}
	if at := b.ownGit("rev-parse", ref); at != got {
		t.Errorf("%s is %s", ref, at)
	}
	if again, err := b.Strip(b.ctx, work, b.base, folder, message, ref); err != nil || b.ownGit("rev-parse", again+"^{tree}") != b.ownGit("rev-parse", got+"^{tree}") {
		t.Errorf("a second time: %s, %v", again, err)
	}

	documents := b.result("02", files{"forge-job/plan.md": "p"})
	if got, err := b.Strip(b.ctx, documents, b.base, folder, message, ref); err != nil || got != b.base {
		t.Errorf("of documents alone the result is %s, %v; want the base", got, err)
	}
	if _, err := b.Strip(b.ctx, "--all", b.base, folder, message, ref); err == nil {
		t.Error("an option was taken for a commit")
	}
}
