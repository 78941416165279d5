package runs

import (
	"strings"
	"testing"

	"forge/internal/work"
)

// What people said of a job stands in its workspace once, whoever wrote it down.
func TestFeedbackIsKeptInTheWorkspace(t *testing.T) {
	t.Parallel()
	said := []work.JobFeedback{
		{By: "ann", Phase: "1", Comment: "two chapters,\nno more"},
		{By: "bob", Phase: "2", Comment: "name the source"},
	}
	first := "- ann, after phase 1:\n  > two chapters,\n  > no more\n"
	second := "- bob, after phase 2:\n  > name the source\n"
	for name, test := range map[string]struct{ have, want string }{
		"there is none":           {"", "## Review Feedback\n\n" + first + second},
		"the agent kept nothing":  {"# Task\n\nWrite.\n", "# Task\n\nWrite.\n\n## Review Feedback\n\n" + first + second},
		"the agent kept one":      {"# Task\n\n### review feedback\n\nann: two chapters, no more\n\n## Next\n\nx\n", "# Task\n\n### review feedback\n\nann: two chapters, no more\n" + second + "\n## Next\n\nx\n"},
		"the heading alone":       {"## Review Feedback", "## Review Feedback\n\n" + first + second},
		"all of it, in its words": {"Two chapters? two chapters,  no more. And name\nthe source.", "Two chapters? two chapters,  no more. And name\nthe source."},
	} {
		got := withFeedback(test.have, said)
		if got != test.want {
			t.Errorf("%s:\n%q, want\n%q", name, got, test.want)
		}
		if again := withFeedback(got, said); again != got {
			t.Errorf("%s: it is added again:\n%s", name, again)
		}
	}
}

func FuzzFeedback(f *testing.F) {
	f.Add("# a\n## Review Feedback\n> x", "> y\n\n# z", "by")
	f.Add("", " \n", "\x00")
	f.Add("x", "a\u200bb", "c")
	f.Fuzz(func(t *testing.T, have, comment, by string) {
		said := []work.JobFeedback{{By: by, Phase: "1", Comment: comment}}
		got := withFeedback(have, said)
		if again := withFeedback(got, said); again != got {
			t.Errorf("%q is added again: %q", comment, again)
		}
		for _, word := range strings.Fields(have) {
			if !strings.Contains(got, word) {
				t.Errorf("%q is gone", word)
			}
		}
	})
}
