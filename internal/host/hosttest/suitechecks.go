package hosttest

import (
	"slices"

	"forge/internal/work"
)

// checks: of each name the last word counts; what was red on this very commit and
// is green now is told, and a commit has its own alone.
func checks(f *fixture) {
	_, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	is := func(state work.CheckState, failed, flaky, waiting, broken []string) work.PullChecks {
		f.Helper()
		got, err := await(f, func() (work.PullChecks, error) { return f.Host.Checks(f.Context(), head) })
		f.ok(err)
		var names []string
		for _, c := range got.Failed {
			names = append(names, c.Name)
			if c.At != head {
				f.Errorf("check %s is of %q", c.Name, c.At)
			}
		}
		if got.State != state || !slices.Equal(names, failed) || !slices.Equal(got.Flaky, flaky) || !slices.Equal(got.Waiting, waiting) || !slices.Equal(got.Broken, broken) {
			f.Fatalf("checks: %+v", got)
		}
		return got
	}
	is(work.ChecksNone, nil, nil, nil, nil)
	f.People.Status(f, head, "unit", "pending")
	if got := is(work.ChecksPending, nil, nil, []string{"unit"}, nil); got.Since.IsZero() {
		f.Error("nobody knows since when it runs")
	}
	f.People.Status(f, head, "unit", "failure")
	f.People.Status(f, head, "lint / strict", "success")
	got := is(work.ChecksFailed, []string{"unit"}, nil, nil, nil)
	// One that is not of the host's own CI has no log there.
	c, err := f.Host.CheckLog(f.Context(), got.Failed[0])
	f.ok(err)
	if c != got.Failed[0] {
		f.Errorf("its log: %+v", c)
	}
	f.People.Status(f, head, "deploy", "error")
	is(work.ChecksFailed, []string{"unit"}, nil, nil, []string{"deploy"})
	f.People.Status(f, head, "deploy", "success")
	f.People.Status(f, head, "unit", "pending")
	is(work.ChecksPending, nil, nil, []string{"unit"}, nil)
	f.People.Status(f, head, "unit", "success")
	is(work.ChecksPassed, nil, []string{"unit"}, nil, nil)
	other := f.Commit(f, head, "more\n", map[string]string{"c.txt": "c\n"})
	f.ok(f.Host.Push(f.Context(), branch, other, head))
	head = other
	is(work.ChecksNone, nil, nil, nil, nil)
}
