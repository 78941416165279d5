package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// mostInbox is how many lines the inbox shows, and mostSized how many of them
// say how much is judged.
const (
	mostInbox = 200
	mostSized = 30
)

func (s *Server) inboxRoutes() {
	s.mux.Handle("GET /inbox", s.need(RoleViewer, s.inboxPage))
	s.mux.Handle("GET /inbox/count", s.need(RoleViewer, s.inboxCount))
}

// inboxLine is one thing that waits for a person: a checkpoint, an issue that
// stands still and asks nothing, or a draft.
type inboxLine struct {
	Project, URL, Title string
	About               []string
	Since               time.Time
	Expires             *time.Time
	Who                 string // may do something about it
	Mine                bool   // who looks may

	more func(context.Context) []string // about what is asked; nil = nothing
}

func checkpointLine(p Project, cp work.Checkpoint, who Person) inboxLine {
	var about []string
	if cp.Phase != "" {
		about = append(about, "phase "+cp.Phase)
	}
	about = append(about, "run "+cp.Run)
	return inboxLine{
		more:    func(ctx context.Context) []string { return sizeAndCost(ctx, p, cp) },
		Project: p.ID, URL: "/p/" + p.ID + "/checkpoints/" + cp.ID, Title: cp.Question, About: about, Since: cp.OpenedAt, Expires: cp.ExpiresAt,
		Who: gates.WhoAnswers(cp), Mine: gates.MayAnswer(cp, who.Role(p.ID).Gate()),
	}
}

func issueLine(p Project, i work.Issue, who Person) inboxLine {
	what := "Failed"
	if i.State == work.IssueWaits {
		what = "Waits for a person"
	}
	if i.Reason != "" {
		what += ": " + i.Reason
	}
	return inboxLine{
		Project: p.ID, URL: fmt.Sprintf("/p/%s/issues/%d", p.ID, i.ID), Title: fmt.Sprintf("#%d %s", i.ID, i.Title), About: []string{what}, Since: i.Changed,
		Who: RoleOperator.String(), Mine: who.May(p.ID, RoleOperator),
	}
}

func draftLine(p Project, d Draft) inboxLine {
	line := inboxLine{
		Project: p.ID, URL: "/p/" + p.ID + "/drafts/" + d.ID, Title: d.Title(), Since: cmp.Or(d.Ended, d.Began), Mine: true,
	}
	switch {
	case d.Question != "":
		line.Title, line.About = d.Question, []string{"interview"}
	case d.State == DraftReady && d.Plans():
		line.About = []string{"the plan is drafted: look at it, and begin it or drop it"}
	case d.State == DraftReady:
		line.About = []string{"drafted, not taken yet"}
	case d.State == DraftFailed:
		line.About = []string{"draft failed: " + text.OneLine(d.Problem, 200)}
	default:
		line.About = []string{"draft interrupted"}
	}
	return line
}

// sizeAndCost says how much is judged at a checkpoint and what its run cost. What
// cannot be read is left out: the question waits all the same.
func sizeAndCost(ctx context.Context, p Project, cp work.Checkpoint) []string {
	var out []string
	if j, err := p.Questions.Judged(ctx, cp.ID); err == nil && len(j.Files) > 0 {
		out = append(out, plural(len(j.Files), "file", "files")+" changed")
	}
	if p.Runs == nil {
		return out
	}
	if run, err := p.Runs.Run(ctx, cp.Run); err == nil && run.CostUSD != nil {
		out = append(out, usd(run.CostUSD)+" so far")
	}
	return out
}

// drafted are the drafts of a project that wait for a person.
func drafted(ctx context.Context, p Project) ([]Draft, error) {
	if p.Starts == nil {
		return nil, nil
	}
	list, err := p.Starts.Drafts(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the drafts that wait: %w", err)
	}
	var out []Draft // the list is its owner's
	for _, d := range list {
		if d.waits() {
			out = append(out, d)
		}
	}
	return out, nil
}

// inboxPage is what pages/inbox.html shows.
type inboxPage struct {
	Mine, Others []inboxLine
	More         int // lines that are not shown
}

// waits is what waits in the projects that a person may see: what expires
// first, then what waits longest.
func (s *Server) waits(ctx context.Context, who Person) (mine, others []inboxLine, err error) {
	projects, err := s.visible(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	add := func(line inboxLine) {
		if line.Mine {
			mine = append(mine, line)
		} else {
			others = append(others, line)
		}
	}
	for _, p := range projects {
		list, err := pending(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		for _, cp := range list {
			add(checkpointLine(p, cp, who))
		}
		stuck, err := s.stuck.of(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		asked := byRun(list)
		for _, i := range stuck {
			if _, ok := waitsFor(asked, i); !ok {
				add(issueLine(p, i, who))
			}
		}
		drafts, err := drafted(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range drafts {
			if who.May(p.ID, RoleOperator) { // nobody else sees a draft's page
				add(draftLine(p, d))
			}
		}
	}
	for _, list := range [][]inboxLine{mine, others} {
		slices.SortStableFunc(list, func(a, b inboxLine) int {
			switch {
			case (a.Expires == nil) != (b.Expires == nil):
				if a.Expires != nil {
					return -1
				}
				return 1
			case a.Expires != nil && !a.Expires.Equal(*b.Expires):
				return a.Expires.Compare(*b.Expires)
			}
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.URL, b.URL))
		})
	}
	return mine, others, nil
}

func (s *Server) inboxPage(v *visit) error {
	projects, err := s.visible(v.Context(), v.Who)
	if err != nil {
		return err
	}
	for _, p := range projects[:min(len(projects), mostTopics)] {
		v.Live = append(v.Live, QuestionsTopic(p.ID))
		if err := s.feeds.begin(p); err != nil {
			return err
		}
	}
	var page inboxPage
	if page.Mine, page.Others, err = s.waits(v.Context(), v.Who); err != nil {
		return err
	}
	for _, list := range []*[]inboxLine{&page.Mine, &page.Others} {
		if n := len(*list); n > mostInbox {
			page.More += n - mostInbox
			*list = (*list)[:mostInbox]
		}
		for i := range min(len(*list), mostSized) {
			if line := &(*list)[i]; line.more != nil {
				line.About = append(line.About, line.more(v.Context())...)
			}
		}
	}
	if v.htmx() {
		return v.part("inbox", "list", page)
	}
	return v.page("inbox", "Inbox", page)
}

// inboxCount is the number beside the inbox's name.
func (s *Server) inboxCount(v *visit) error {
	mine, _, err := s.waits(v.Context(), v.Who)
	if err != nil {
		return err
	}
	return v.part("inbox", "count", len(mine))
}
