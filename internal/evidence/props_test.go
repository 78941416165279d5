package evidence

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

// TestMixLaw: whatever a change does, the evidence of a mixed tree is the
// floor's, but for what may_change names, its product is the change's; and a
// commit that is the floor is mixed with itself.
func TestMixLaw(t *testing.T) {
	b := newBed(t, project())
	evidence := []string{"Makefile", "tests/run.sh", "tests/empty.sh", "tests/new.sh", "tests/deep/er.sh", ".hidden"}
	product := []string{"README.md", "lib/more.md", "src/more.c"}
	content := rapid.SampledFrom([]string{"-", "", "a\n", "b\n", "! a\n", "-> calc.sh"})
	tree := func(r *rapid.T, name string) string {
		change := files{}
		for _, path := range slices.Concat(evidence, product) {
			if rapid.Bool().Draw(r, name+" changes "+path) {
				change[path] = content.Draw(r, name+" "+path)
			}
		}
		b.git("checkout", "-q", "-f", b.base)
		return b.forge(change)
	}
	b.runs(t, 12, func(r *rapid.T) error {
		floor, commit := tree(r, "floor"), tree(r, "commit")
		req := work.EvidenceRequest{Trusted: floor, Base: floor, Commit: commit, Commands: []string{"make test"}}
		if rapid.Bool().Draw(r, "leave") {
			req.MayChange = []string{"tests/new.sh", "tests/run.sh"}
		}
		mixed := b.mixOf(req, work.OnTrusted)
		for _, path := range evidence {
			want := floor
			if slices.Contains(req.MayChange, path) {
				want = commit
			}
			if got := b.entry(mixed, path); got != b.entry(want, path) {
				return fmt.Errorf("%s: got %q, floor %q, commit %q, may change %v", path, got, b.entry(floor, path), b.entry(commit, path), req.MayChange)
			}
		}
		for _, path := range product {
			if got := b.entry(mixed, path); got != b.entry(commit, path) {
				return fmt.Errorf("%s: got %q, commit %q", path, got, b.entry(commit, path))
			}
		}
		req.Commit = floor
		if got := b.mixOf(req, work.OnTrusted); got != floor {
			return fmt.Errorf("the floor mixed with itself is %s, not %s", got, floor)
		}
		return nil
	})
}

// TestTrustedLaw: whatever people and Forge commit, and whenever a run looks,
// each path of evidence is as the last person left it.
func TestTrustedLaw(t *testing.T) {
	b := newBed(t, project())
	n := 0
	b.runs(t, 6, func(r *rapid.T) error {
		n++
		target := fmt.Sprint("branch-", n)
		b.git("checkout", "-q", "-f", b.base)
		want := files{"tests/a.sh": "none", "tests/b.sh": "none", "tests/run.sh": goodTest}
		b.trustedOf(target, b.base)
		for i := range rapid.IntRange(1, 6).Draw(r, "commits") {
			change := files{}
			for _, path := range slices.Sorted(maps.Keys(want)) {
				if rapid.Bool().Draw(r, "changes "+path) {
					change[path] = fmt.Sprintf("%d of %d\n", i, n)
				}
			}
			head := ""
			if rapid.Bool().Draw(r, "a person") {
				head = b.commit("mine", change)
				maps.Copy(want, change)
			} else {
				head = b.forge(change)
			}
			if !rapid.Bool().Draw(r, "a run looks") {
				continue
			}
			at := b.trustedOf(target, head)
			for path, text := range want {
				if got := b.text(at, path); got != text {
					return fmt.Errorf("%s: got %q, want %q", path, got, text)
				}
			}
		}
		return nil
	})
}

// runs checks a law some times: each costs dozens of git processes, so that
// rapid's own number of them would take minutes.
func (b *bed) runs(t *testing.T, times int, law func(r *rapid.T) error) {
	t.Helper()
	gen := rapid.Custom(func(r *rapid.T) error { return law(r) })
	for seed := range times {
		if err := gen.Example(seed + 1); err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
	}
}
