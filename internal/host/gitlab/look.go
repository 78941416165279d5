package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/internal/gitlabapi"
	"forge/internal/host"
	"forge/internal/work"
)

// note is what somebody said, or what GitLab says that somebody did.
type note struct {
	ID       int64           `json:"id"`
	Body     string          `json:"body"`
	Author   *gitlabapi.User `json:"author"`
	At       time.Time       `json:"created_at"`
	System   bool            `json:"system"`
	Internal bool            `json:"internal"`
	Resolved bool            `json:"resolved"`
	Position *position       `json:"position"`
}

// position is a place in a diff.
type position struct {
	Kind    string `json:"position_type"`
	Base    string `json:"base_sha"`
	Start   string `json:"start_sha"`
	Head    string `json:"head_sha"`
	OldPath string `json:"old_path"`
	NewPath string `json:"new_path"`
	OldLine int    `json:"old_line,omitempty"`
	NewLine int    `json:"new_line,omitempty"`
}

// discussion is a thread, or a single note.
type discussion struct {
	ID    string `json:"id"`
	Notes []note `json:"notes"`
}

// version is a state that the branch had.
type version struct {
	ID   int64     `json:"id"`
	Head string    `json:"head_commit_sha"`
	At   time.Time `json:"created_at"`
}

// said is all that was said and done at a merge request.
type said struct {
	own         map[string]bool
	discussions []discussion
	versions    []version // the oldest first
	rights      map[string]bool
	people      map[string]gitlabapi.User
}

func (s *said) ours(u *gitlabapi.User) bool { return s.own[strings.ToLower(u.Login())] }

func (h *Host) said(ctx context.Context, number int64) (s *said, err error) {
	s = &said{rights: map[string]bool{}, people: map[string]gitlabapi.User{}}
	if s.own, err = h.ours(ctx); err != nil {
		return nil, err
	}
	if s.discussions, err = gitlabapi.List[discussion](ctx, h.api, fmt.Sprintf("read the discussions of merge request %d", number), path(number)+"/discussions", nil); err != nil {
		return nil, err
	}
	s.discussions = slices.DeleteFunc(s.discussions, func(d discussion) bool { return len(d.Notes) == 0 })
	s.versions, err = gitlabapi.List[version](ctx, h.api, fmt.Sprintf("read the states of merge request %d", number), path(number)+"/versions", nil)
	slices.SortFunc(s.versions, func(a, b version) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	for _, d := range s.discussions {
		for _, n := range d.Notes {
			if n.Author != nil {
				s.people[n.Author.Name] = *n.Author
			}
		}
	}
	return s, err
}

// at is the commit that the branch was at, at a moment. What came in the same moment is
// not taken to have been seen.
func (s *said) at(moment time.Time) (head string) {
	for _, v := range s.versions {
		if v.At.Before(moment) {
			head = v.Head
		}
	}
	return head
}

// Look reads all that a merge request says.
func (h *Host) Look(ctx context.Context, number int64) (work.PullLook, error) {
	out, s, err := h.reviewed(ctx, number)
	if err != nil {
		return out, err
	}
	if err := h.threads(ctx, &out, s); err != nil {
		return out, err
	}
	words := s.words()
	for _, d := range s.discussions {
		for _, n := range d.Notes {
			if _, of := words[n.ID]; of || n.System || n.Internal || d.Notes[0].Position != nil {
				continue
			}
			out.Comments = append(out.Comments, s.comment(n))
		}
	}
	slices.SortStableFunc(out.Comments, func(a, b work.PullComment) int { return a.At.Compare(b.At) })
	for _, who := range host.Speakers(out) {
		may, err := h.mayWrite(ctx, s, who)
		if err != nil {
			return out, err
		}
		if may {
			out.Writers = append(out.Writers, who)
		}
	}
	out.Checks, err = h.state(ctx, out.Head)
	return out, err
}

// Verdicts is Look without what people said in words, and who of them may write. Where
// the reviews come to no approval, checks are not asked for either.
func (h *Host) Verdicts(ctx context.Context, number int64) (work.PullLook, error) {
	out, _, err := h.reviewed(ctx, number)
	if err != nil || host.Stand(out.Reviews, out.Head).Verdict != work.PullApproved {
		return out, err
	}
	out.Checks, err = h.state(ctx, out.Head)
	return out, err
}

// reviewed is the state of a merge request with its reviews.
func (h *Host) reviewed(ctx context.Context, number int64) (out work.PullLook, s *said, err error) {
	m, err := h.get(ctx, number)
	if err != nil {
		return out, nil, err
	}
	if out.PullRequest, err = h.based(ctx, m); err != nil {
		return out, nil, err
	}
	out.Checks = work.ChecksUnknown
	out.Mergeable, out.Why = mergeability(m)
	if s, err = h.said(ctx, number); err != nil {
		return out, nil, err
	}
	return out, s, h.reviews(ctx, &out, s)
}

// What GitLab says of a decision, in words.
const (
	saysApproved  = "approved this merge request"
	saysRequested = "requested changes"
)

// reviews puts decisions together from two sources: the notes say when each was made,
// which tells for which commit; the lists say which of them stand. A decision that one
// of them does not know counts for no commit, or holds.
func (h *Host) reviews(ctx context.Context, out *work.PullLook, s *said) error {
	approved, requested, err := h.standing(ctx, out.Number, s)
	if err != nil {
		return err
	}
	words := s.words()
	last := map[string]int{} // of each person's, in out.Reviews
	for _, n := range s.decisions() {
		r := work.PullReview{ID: strconv.FormatInt(n.ID, 10), By: n.Author.Login(), At: n.At.UTC(), Commit: s.at(n.At), Own: s.ours(n.Author), Verdict: work.PullApproved}
		if strings.HasPrefix(n.Body, saysRequested) {
			r.Verdict = work.PullChangesRequested
		}
		for _, d := range s.discussions {
			if id, of := words[d.Notes[0].ID]; of && id == n.ID {
				r.Body, _ = host.Clip(d.Notes[0].Body)
			}
		}
		last[r.By+string(r.Verdict)] = len(out.Reviews)
		out.Reviews = append(out.Reviews, r)
	}
	for i := range out.Reviews {
		r := &out.Reviews[i]
		stands := approved
		if r.Verdict == work.PullChangesRequested {
			stands = requested
		}
		_, there := stands[r.By]
		r.Dismissed = !there || last[r.By+string(r.Verdict)] != i
	}
	for verdict, list := range map[work.PullVerdict]map[string]time.Time{work.PullApproved: approved, work.PullChangesRequested: requested} {
		for who, at := range list {
			if _, told := last[who+string(verdict)]; !told {
				out.Reviews = append(out.Reviews, work.PullReview{ID: who + " " + string(verdict), By: who, At: at, Verdict: verdict, Own: s.own[strings.ToLower(who)]})
			}
		}
	}
	slices.SortFunc(out.Reviews, func(a, b work.PullReview) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	for i := range out.Reviews {
		r := &out.Reviews[i]
		r.Stale = r.Commit != out.Head
		if !r.Own && r.By != "" {
			if r.MayDecide, err = h.mayWrite(ctx, s, r.By); err != nil {
				return err
			}
		}
	}
	return nil
}

// standing are those whose approval and whose request for changes stand now, and since
// when as far as that is told.
func (h *Host) standing(ctx context.Context, number int64, s *said) (approved, requested map[string]time.Time, err error) {
	approved, requested = map[string]time.Time{}, map[string]time.Time{}
	var list struct {
		By []struct {
			User gitlabapi.User `json:"user"`
			At   time.Time      `json:"approved_at"`
		} `json:"approved_by"`
	}
	do := fmt.Sprintf("read the approvals of merge request %d", number)
	if _, err := h.api.Ask(ctx, do, http.MethodGet, path(number)+"/approvals", nil, &list); err != nil {
		return nil, nil, err
	}
	for _, a := range list.By {
		approved[a.User.Name], s.people[a.User.Name] = a.At.UTC(), a.User
	}
	type reviewer struct {
		User  gitlabapi.User `json:"user"`
		State string         `json:"state"`
		At    time.Time      `json:"created_at"`
	}
	all, err := gitlabapi.List[reviewer](ctx, h.api, fmt.Sprintf("read the reviewers of merge request %d", number), path(number)+"/reviewers", nil)
	for _, r := range all {
		if r.State == "requested_changes" {
			requested[r.User.Name], s.people[r.User.Name] = r.At.UTC(), r.User
		}
	}
	return approved, requested, err
}

// decisions are the notes that say of one, the oldest first.
func (s *said) decisions() (all []note) {
	for _, d := range s.discussions {
		for _, n := range d.Notes {
			if n.System && n.Author.Login() != "" && (strings.HasPrefix(n.Body, saysApproved) || strings.HasPrefix(n.Body, saysRequested)) {
				all = append(all, n)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return all
}

// words are the comments that came with a decision, by their ids, and which: GitLab
// writes the summary of a review as a comment of that moment.
func (s *said) words() map[int64]int64 {
	out, taken := map[int64]int64{}, map[int64]bool{}
	for _, d := range s.discussions {
		n := d.Notes[0]
		if len(d.Notes) != 1 || n.System || n.Position != nil {
			continue
		}
		if decision, ok := s.with(n); ok && !taken[decision.ID] {
			out[n.ID], taken[decision.ID] = decision.ID, true
		}
	}
	return out
}

// with is the decision that a note came with: the nearest of its author's, and of that
// moment.
func (s *said) with(n note) (decision note, ok bool) {
	off := func(d note) time.Duration { return n.At.Sub(d.At).Abs() }
	for _, d := range s.decisions() {
		if d.Author.Login() == n.Author.Login() && off(d) <= sameMoment && (!ok || off(d) < off(decision)) {
			decision, ok = d, true
		}
	}
	return decision, ok
}

// mayWrite asks once of each.
func (h *Host) mayWrite(ctx context.Context, s *said, who string) (bool, error) {
	if may, asked := s.rights[who]; asked {
		return may, nil
	}
	may, err := h.api.MayWrite(ctx, s.people[who])
	if err == nil {
		s.rights[who] = may
	}
	return may, err
}

func (s *said) comment(n note) work.PullComment {
	c := work.PullComment{ID: strconv.FormatInt(n.ID, 10), By: n.Author.Login(), At: n.At.UTC(), Own: s.ours(n.Author)}
	c.Body, c.Clipped = host.Clip(n.Body)
	return c
}

// threads are the discussions at a place of a diff.
func (h *Host) threads(ctx context.Context, out *work.PullLook, s *said) error {
	diffs := map[string][]fileDiff{}
	for _, d := range s.discussions {
		first := d.Notes[0]
		if first.Position == nil || first.System {
			continue
		}
		at := first.Position
		t := work.PullThread{ID: strconv.FormatInt(first.ID, 10), Path: cmp.Or(at.NewPath, at.OldPath), Line: at.NewLine, Commit: at.Head, Resolved: first.Resolved}
		if t.Line == 0 {
			t.OldLine = at.OldLine
		}
		if decision, ok := s.with(first); ok {
			t.Review = strconv.FormatInt(decision.ID, 10)
		}
		if _, read := diffs[at.Head]; !read {
			var err error
			if diffs[at.Head], err = h.diff(ctx, out.Number, s, at.Head); err != nil {
				return err
			}
		}
		for _, f := range diffs[at.Head] {
			if f.New == at.NewPath {
				t.Hunk, _ = host.Clip(hunk(f.Diff, at.OldLine, at.NewLine))
			}
		}
		for _, n := range d.Notes {
			if !n.System {
				t.Comments = append(t.Comments, s.comment(n))
			}
		}
		out.Threads = append(out.Threads, t)
	}
	return nil
}

type fileDiff struct {
	New  string `json:"new_path"`
	Diff string `json:"diff"`
}

// diff is that of a state which the branch had.
func (h *Host) diff(ctx context.Context, number int64, s *said, head string) ([]fileDiff, error) {
	for _, v := range s.versions {
		if v.Head != head {
			continue
		}
		var of struct {
			Diffs []fileDiff `json:"diffs"`
		}
		_, err := h.api.Ask(ctx, fmt.Sprintf("read the diff of merge request %d", number), http.MethodGet, fmt.Sprintf("%s/versions/%d", path(number), v.ID), nil, &of)
		return of.Diffs, err
	}
	return []fileDiff{}, nil
}

// linesAround is how much of a hunk stands above the line that is spoken of.
const linesAround = 12

// hunk is the end of a hunk up to a line of the new file, or of the old one where new
// is 0; "" = the diff has no such line.
func hunk(diff string, old, new int) string {
	var lines []string
	atOld, atNew := 0, 0
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@") {
			if _, err := fmt.Sscanf(line, "@@ -%d", &atOld); err != nil {
				return ""
			}
			_, plus, _ := strings.Cut(line, " +")
			if _, err := fmt.Sscanf(plus, "%d", &atNew); err != nil {
				return ""
			}
			lines = []string{line}
			continue
		}
		lines = append(lines, line)
		inOld, inNew := !strings.HasPrefix(line, "+"), !strings.HasPrefix(line, "-")
		if new > 0 && inNew && atNew == new || new == 0 && inOld && atOld == old {
			return strings.Join(append(lines[:1:1], lines[max(1, len(lines)-linesAround):]...), "\n")
		}
		if inOld {
			atOld++
		}
		if inNew {
			atNew++
		}
	}
	return ""
}
