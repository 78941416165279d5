package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/changereview"
	"forge/internal/host"
	"forge/internal/ignored"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/report"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/text/texttest"
	"forge/internal/work"
	"forge/internal/worker"
	"forge/orchestrator"
	"forge/review"
)

// posted keeps what is posted on a pull request.
type posted struct {
	host.Host
	all []text.Markdown
}

func (p *posted) Reply(_ context.Context, _ int64, _ work.PullThread, _ string, body text.Markdown) error {
	p.all = append(p.all, body)
	return nil
}

func (p *posted) Comment(_ context.Context, _ int64, _ string, body text.Markdown) error {
	p.all = append(p.all, body)
	return nil
}

func (p *posted) ClosePull(_ context.Context, _ int64, _ work.PullProposal, _ string, why text.Markdown) error {
	p.all = append(p.all, why)
	return nil
}

// Whatever agents, issues and people say, it acts nowhere on a code host. That
// nothing else can be posted is the compiler's: adapters take text.Markdown and
// text.Title alone, which only the renderer makes.
func TestWhatIsPostedActsNowhere(t *testing.T) {
	t.Parallel()
	for _, words := range append(texttest.Pages(), strings.Join(texttest.Pages(), "\n")) {
		for _, m := range postedOf(t, words) {
			texttest.Nothing(t, m.String(), "h2", "h3", "p", "ul", "li", "code", "pre", "blockquote", "strong", "em", "table", "thead", "tbody", "tr", "th", "td")
		}
		for _, m := range postedOf(t, words) {
			if strings.Contains(m.String(), "<!--") {
				t.Fatalf("%q is posted with what may be a mark of Forge's:\n%s", words, m)
			}
		}
		for _, line := range linesOf(words) {
			texttest.Nothing(t, line, "p")
			if strings.ContainsAny(line, "\r\n") {
				t.Fatalf("%q is more than a line", line)
			}
		}
	}
}

// postedOf is every text that is posted, with words in every place of it.
func postedOf(t *testing.T, words string) []text.Markdown {
	t.Helper()
	list := []string{words}
	finding := work.Finding{Severity: work.Severity(words), Specialist: words, Also: list, File: words, Line: 1, Issue: words, Failure: words, Suggestion: words, Repro: words}
	changes := []work.FileChange{{Path: words, Status: words}}
	found := changereview.Finding{Finding: finding, Rule: words, Gating: true}
	res := changereview.Result{Verdict: work.VerdictFail, Why: list, Own: []changereview.Finding{found}, Findings: []changereview.Finding{found}, Unreviewed: list}
	res.Base.Ref = words
	res.Summary, res.LeftOut = list, []review.LeftOut{{Path: words, Why: words}}
	res.Ignored = []changereview.Ignored{{Entry: ignored.Entry{ID: words, File: words, Reason: words, By: words, Until: words}, Issue: words}}
	res.Expired, res.Standing = res.Ignored, []changereview.Earlier{{ID: words, File: words, Severity: work.Severity(words)}}
	res.Gone = res.Standing
	res.Reviewers = append(res.Reviewers, changereview.Reviewer{Name: words, Why: words, Verdict: work.VerdictUnknown})
	posts, _ := tracker.Tell("00", work.Issue{Column: work.ColumnInReview, Reason: words, Hold: list, Run: words, Branch: words})
	notes := work.PullNotes{Body: text.Quote(words), Lines: []work.PullNote{{Path: words, Line: 1, Body: pullrequest.TellNote(finding)}}}

	p := &posted{}
	h := &pullrequest.Port{Host: p, Answer: func(context.Context, string) (work.Checkpoint, error) {
		return work.Checkpoint{ID: words, Status: work.CheckpointApproved, AnsweredBy: words, Door: words, Comment: words}, nil
	}}
	look := work.PullLook{Threads: []work.PullThread{{ID: "1", Path: words}}}
	if err := h.Reply(t.Context(), look, []orchestrator.PullReply{{Thread: "1", Body: words}}); err != nil {
		t.Fatal(err)
	}
	h.TellAnswer(t.Context(), 1, "c")
	if _, err := h.Close(t.Context(), orchestrator.PullClose{Number: 1, Why: words}); err != nil {
		t.Fatal(err)
	}
	want := 3
	if text.Quote(work.WithoutSignals(words)).Empty() {
		want = 2 // an answer that says nothing is none
	}
	if len(p.all) != want {
		t.Fatalf("of %q %d texts were posted, want %d", words, len(p.all), want)
	}
	return append(p.all,
		pullrequest.Describe(orchestrator.PullPaper{Phase: words, Checkpoint: words, Why: words, Facts: words, Proof: list, Doubts: words}, changes, words, text.Markdown{}),
		pullrequest.Describe(orchestrator.PullPaper{Why: words}, changes, "", text.Markdown{}),
		worker.TellHold(&orchestrator.State{}, []review.HoldReason{review.HoldReason(words)}),
		worker.TellCriteria([]orchestrator.CriterionState{{Criterion: work.Criterion{ID: words, Text: words}, Evidence: []work.Evidence{{Who: words, What: words}}}}),
		pullrequest.TellNote(finding), host.NotesAsText(notes), host.OnPath(words, text.Quote(words)),
		text.Suggestion("", words), text.DiffBlock(list, words),
		posts.Body, changereview.Markdown(res), report.Summary(saying(words)),
	)
}

// saying is a run that says words wherever it can, and how it ended.
func saying(words string) (*orchestrator.State, work.RunFinishedData) {
	s := &orchestrator.State{Run: "r", Order: []string{"1"}, Phases: map[string]*orchestrator.Phase{
		"1": {View: orchestrator.View{Number: "1", Plan: work.Phase{Name: words}, Ending: orchestrator.Ending{Outcome: work.PhaseFailed, Reason: work.Reason(words), Detail: words, Cause: words}}},
	}, Open: map[string]*work.Checkpoint{"r.1": {ID: "r.1", Kind: "final", Question: words}}, Delivery: &work.Delivery{Branch: words}}
	s.Spec.Settings.Project = words
	return s, work.RunFinishedData{Outcome: work.RunFrozen, Reason: words}
}

// linesOf are the titles, notices and annotations that say words.
func linesOf(words string) []string {
	s, end := saying(words)
	p := &project.Checkout{Env: project.Env{Now: time.Now}}
	n, _ := runs.NoticeOf(p, s, end)
	out := []string{n.Project, n.Reason, pullrequest.Title(orchestrator.PullPublish{Title: words}).String(), worker.Title(work.Issue{Title: words}).String()}
	for _, q := range n.Checkpoints {
		out = append(out, q.Question)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(report.Annotations(s, end), "\n"), "\n") {
		command, said, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		_, title, _ := strings.Cut(command, "title=")
		for _, text := range append(strings.Split(said, "%0A"), title) {
			out = append(out, strings.NewReplacer("%3A", ":", "%2C", ",", "%25", "%").Replace(text))
		}
	}
	return out
}
