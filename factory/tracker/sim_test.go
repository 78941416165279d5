package tracker

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// step is one thing that somebody does.
func (w *simWorld) step() {
	switch n := w.rand.IntN(12); {
	case n < 4:
		w.others()
	case n < 7:
		w.process(w.look)
	case n < 10:
		w.process(w.works)
	case w.poked || n == 10 && w.rand.IntN(3) == 0: // a poll
		w.process(w.round)
	}
}

// peace lets everything be wanted again but for what stays as it is: ann looks
// at each issue once more, and everybody is within reach.
func (w *simWorld) peace() {
	w.calm, w.away = true, false
	for n := range int64(len(w.issues)) {
		i := w.issues[n+1]
		row := w.store.rows[n+1]
		w.happens()
		if i.gone || row.Issue != 0 && w.card(row.Issue).Column == work.ColumnDone || w.rand.IntN(4) == 0 {
			continue
		}
		i.Open, i.Locked, i.Assignees, i.Blockers, i.blocked, i.again = true, false, nil, nil, 0, false
		if has(i.Labels, "forge") {
			w.event(i, Unlabelled, ann, "forge", "")
			i.Labels = nil
		}
		w.happens()
		w.label(i)
		w.became(i, true)
	}
	w.process(w.round)
	for _, row := range w.store.rows {
		if row.Issue == 0 {
			continue
		}
		w.happens()
		w.takesOver(row.Issue, w.retry)
		said, _ := saidOf(w.card(row.Issue))
		if i := w.card(row.Issue); i.Column == work.ColumnBacklog && (i.State == "" || said == HoldReopened) {
			w.takesOver(row.Issue, w.toReady)
		}
	}
	for range 60 {
		w.tick += 20
		w.process(w.look)
		w.process(w.works)
		if w.rand.IntN(2) == 0 {
			w.process(w.round)
		}
	}
	for range 3 { // what it could not be told is tried again after a while
		w.tick += 1000
		w.process(w.round)
	}
}

// agrees holds board and tracker against each other, once it is quiet.
func (w *simWorld) agrees() {
	if len(w.jobs) > 0 {
		w.complain("%d cards are worked on for ever", len(w.jobs))
	}
	cards, _ := w.store.Issues(w.ctx, work.IssueFilter{Project: simBoard}, 100, "")
	sources := map[string]bool{}
	for _, i := range cards {
		if sources[i.Source] {
			w.complain("%s is on the board twice", i.Source)
		}
		sources[i.Source] = true
	}
	lines := w.store.lines()
	for n := range int64(len(w.issues)) {
		w.agree(w.issues[n+1], lines)
	}
}

func (w *simWorld) agree(r *simIssue, lines []work.IssueEntry) {
	row := w.store.rows[r.Number]
	if row.Issue == 0 {
		if r.wanted() {
			w.complain("issue %d is wanted, and not on the board", r.Number)
		}
		return
	}
	i := w.card(row.Issue)
	idle := i.State != "" || i.Column != work.ColumnReady && i.Column != work.ColumnInProgress
	switch {
	case r.wanted() && i.Column != work.ColumnDone && r.reopened <= w.took[i.ID].tick && r.blocked == 0 && !r.spoiled:
		w.complain("issue %d is wanted, and lost: card %d is %s: %s", r.Number, i.ID, i.Column, i.Reason)
	case !r.wanted() && !idle:
		w.complain("issue %d is not wanted, and card %d is %s", r.Number, i.ID, i.Column)
	}
	if r.gone {
		return
	}
	report, _ := Tell(w.sync.key(row), i)
	if r.said[report.Key] != report.Body.String() {
		w.complain("issue %d says %q, and card %d stands as %q", r.Number, r.said[report.Key], i.ID, report.Body.String())
	}
	if blocked := slices.ContainsFunc(r.Blockers, func(b Blocker) bool { return b.Open }); i.Column == work.ColumnDone && r.Open && !r.again && !blocked {
		w.complain("card %d is done, and issue %d is open", i.ID, r.Number)
	}
	heard := map[string]int{}
	for _, l := range lines {
		if l.Issue == i.ID && strings.HasPrefix(l.By, eve) {
			w.complain("eve changed card %d: %+v", i.ID, l)
		}
		if l.Issue == i.ID {
			heard[strings.TrimPrefix(l.Note, "called: ")]++
		}
	}
	for call := range r.calls {
		if heard[call] != 1 {
			w.complain("%q below issue %d was acted on %d times", call, r.Number, heard[call])
		}
	}
}

// play plays one schedule, and says what went wrong.
func play(seed uint64, bug simBug, reached map[string]int) []string {
	w := newSimWorld(seed, bug)
	for range 60 + w.rand.IntN(80) {
		if w.step(); len(w.wrong) > 0 {
			return w.wrong
		}
	}
	w.peace()
	w.agrees()
	for what, n := range w.ran {
		reached[what] += n
	}
	return w.wrong
}

// schedules is how many are played: FORGE_SCHEDULES (make soak), else few enough
// for two seconds.
func schedules() uint64 {
	if n, err := strconv.Atoi(os.Getenv("FORGE_SCHEDULES")); err == nil && n > 0 {
		return uint64(n)
	}
	return 300
}

// Whatever people do on the tracker and on the board, whichever webhooks are lost,
// late or come twice, and whenever the factory dies: nothing is begun, gone on
// with or landed that the tracker did not want when it was asked, no external author's
// word gets in, no issue is lost, and in the end board and tracker say the same.
func TestReconcilingOfManyWorlds(t *testing.T) {
	pace.Sequential(t, "worlds of one goroutine")
	if schedules() > 300 {
		pace.Slow(t, "thousands of worlds")
	}
	reached, wrong := map[string]int{}, 0
	for seed := range schedules() {
		if broken := play(seed, simBug{}, reached); len(broken) > 0 {
			if t.Errorf("seed %d: %s", seed, strings.Join(broken, "\n")); wrong == 5 {
				break
			}
			wrong++
		}
	}
	for _, what := range []string{"killed", "round", "claim", "landed"} {
		if reached[what] == 0 {
			t.Errorf("no world came to %q", what)
		}
	}
	t.Log(reached)
}
