package host

import (
	"cmp"
	"slices"
	"strings"

	"forge/internal/work"
)

// Standing is what the reviews of a pull request come to.
type Standing struct {
	// Verdict is approved, changes_requested, or commented when nobody who may
	// decide has decided on this head.
	Verdict work.PullVerdict
	// Counting are the reviews that decide: the latest of each reviewer, oldest
	// first.
	Counting []work.PullReview
	// Ignored are further approvals and requests, and why each does not count.
	Ignored []IgnoredReview
}

// IgnoredReview is one that does not count.
type IgnoredReview struct {
	work.PullReview
	Why string
}

// Stand says what reviews come to at head. The latest decision of each reviewer
// counts; a comment after it does not take it back, a dismissal does. One who
// asks for changes outweighs all who approve. A request for changes outlives a
// push, as hosts have it; an approval of another commit does not. What Forge's
// own accounts say and what people without the right to write say never counts,
// and a word that nobody knows holds like a request.
func Stand(reviews []work.PullReview, head string) Standing {
	latest := map[string]work.PullReview{}
	var out Standing
	sorted := slices.Clone(reviews)
	slices.SortStableFunc(sorted, func(a, b work.PullReview) int { return a.At.Compare(b.At) })
	ignore := func(r work.PullReview, why string) { out.Ignored = append(out.Ignored, IgnoredReview{r, why}) }
	for _, r := range sorted {
		who := strings.ToLower(r.By)
		switch {
		case r.Verdict == work.PullCommented:
		case r.Own:
			ignore(r, "Forge does not review its own work")
		case r.By == "":
			ignore(r, "the host does not say whose it is")
		case !r.MayDecide:
			ignore(r, r.By+" may not write to the repository")
		default:
			if old, ok := latest[who]; ok {
				ignore(old, "a later review of "+old.By+" counts")
			}
			latest[who] = r
		}
	}
	for _, r := range latest {
		switch {
		case r.Dismissed:
			ignore(r, "it was dismissed")
		case r.Verdict == work.PullApproved && (r.Stale || r.Commit == "" || r.Commit != head):
			ignore(r, "it is of an earlier state of the branch")
		default:
			out.Counting = append(out.Counting, r)
		}
	}
	byTime := func(a, b work.PullReview) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) }
	slices.SortFunc(out.Counting, byTime)
	slices.SortFunc(out.Ignored, func(a, b IgnoredReview) int { return byTime(a.PullReview, b.PullReview) })
	out.Verdict = work.PullCommented
	for _, r := range out.Counting {
		switch {
		case r.Verdict != work.PullApproved:
			out.Verdict = work.PullChangesRequested
		case out.Verdict == work.PullCommented:
			out.Verdict = work.PullApproved
		}
	}
	return out
}

// Speakers are the people who said something on a pull request, each once;
// Forge's own accounts are none.
func Speakers(look work.PullLook) []string {
	var out []string
	add := func(who string, own bool) {
		if who != "" && !own && !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	for _, r := range look.Reviews {
		add(r.By, r.Own)
	}
	comments := slices.Clone(look.Comments)
	for _, t := range look.Threads {
		comments = append(comments, t.Comments...)
	}
	for _, c := range comments {
		add(c.By, c.Own)
	}
	return out
}

// Open are the threads that nobody has resolved and in which a person had the
// last word.
func Open(threads []work.PullThread) []work.PullThread {
	var out []work.PullThread
	for _, t := range threads {
		if !t.Resolved && !t.Comments[len(t.Comments)-1].Own {
			out = append(out, t)
		}
	}
	return out
}
