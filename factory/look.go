package factory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"forge/internal/work"
)

// pageOfReady is how many ready issues are looked at together.
const pageOfReady = 100

// view is what one look at the board goes by.
type view struct {
	floor     work.Floor
	admission Admission
	claims    map[int64]work.IssueClaim
	news      map[int64]News
	project   ProjectState
	// asked are answers of where issues come from; finish are those of which no
	// new run is opened.
	asked  map[int64]Asked
	finish map[int64]bool
}

// look stops what was taken away, and begins what may be begun. done says that
// the loop is over.
func (m *loopRun) look(ctx context.Context) (done bool, err error) {
	m.again, m.idle = len(m.asking) > 0, true
	if err := m.stopCancelled(ctx); err != nil {
		return false, err
	}
	floor, err := m.Standings.Floor(ctx, m.Board.Project)
	if err != nil {
		return false, err
	}
	drains := floor.Drain && !floor.At.Before(m.since)
	s, why, err := m.survey(ctx, floor, drains)
	if err != nil {
		return false, err
	}
	if why == "" {
		if why, err = m.claimAll(ctx, s); err != nil {
			return false, err
		}
	}
	if why == "" {
		why = sayBreakers(floor, m.Now())
	}
	if err := m.tell(ctx, why); err != nil {
		return false, err
	}
	return len(m.jobs) == 0 && (drains || m.Once && m.idle && !m.again), nil
}

// tell keeps why nothing is claimed where people see it.
func (m *loopRun) tell(ctx context.Context, why string) error {
	if why == m.note {
		return nil
	}
	if m.note = why; why != "" {
		m.Say(0, why)
	}
	return m.Standings.Serve(ctx, m.Board.Project, why)
}

// stopCancelled stops the work on issues that a person took away.
func (m *loopRun) stopCancelled(ctx context.Context) error {
	for id, j := range m.jobs {
		i, err := m.Board.Store.Issue(ctx, m.Board.Project, id)
		if err != nil {
			return err
		}
		if takenAway(i) {
			j.cancel(errGone)
		}
	}
	return nil
}

// survey gathers the facts. why says that nothing may be claimed at all.
func (m *loopRun) survey(ctx context.Context, floor work.Floor, drains bool) (s view, why string, err error) {
	project := m.Board.Project
	s.floor, s.finish = floor, map[int64]bool{}
	s.asked, m.answers = m.answers, nil
	switch {
	case drains:
		return s, "draining, as " + orElse(floor.By, "a person") + " said", nil
	case floor.Paused && m.Only == 0:
		return s, "paused by " + orElse(floor.By, "a person"), nil
	}
	s.admission, err = m.Works.Admission(ctx)
	if ctx.Err() != nil {
		return s, "", ctx.Err()
	}
	if err != nil {
		return s, Line(err.Error()), nil
	}
	if s.claims, err = m.Claims.Claims(ctx, project); err != nil {
		return s, "", err
	}
	if s.news, err = m.Works.News(ctx); err != nil {
		return s, "", err
	}
	counts, err := m.Cards.IssueCounts(ctx, project)
	if err != nil {
		return s, "", err
	}
	if m.Only != 0 {
		// A person wants it now.
		s.admission.MaxRunning, s.admission.MaxInReview, s.admission.Agents = math.MaxInt, 0, nil
	}
	s.project = ProjectState{Now: m.Now(), MaxRunning: s.admission.MaxRunning, InReview: counts[work.ColumnInReview], MaxInReview: s.admission.MaxInReview}
	for _, c := range s.claims {
		if lease(c).holds(s.project.Now) {
			s.project.Running++
		}
	}
	s.project.Running += m.reserved(s.project.Now)
	return s, "", nil
}

// lease is a claim as the rules see it; nil when nobody holds it.
func lease(c work.IssueClaim) *Lease {
	if c.Owner == "" {
		return nil
	}
	return &Lease{Owner: c.Owner, Heartbeat: c.Heartbeat, Dead: c.Dead}
}

// claimAll claims what may be claimed: first what was begun, then what is ready,
// each from the top. why says what holds the ready ones that nothing else does.
func (m *loopRun) claimAll(ctx context.Context, s view) (why string, err error) {
	if m.Only != 0 {
		i, err := m.Board.Store.Issue(ctx, m.Board.Project, m.Only)
		if err != nil {
			return "", err
		}
		_, err = m.tryPage(ctx, &s, []work.Issue{i})
		return "", err
	}
	for _, column := range []work.Column{work.ColumnInProgress, work.ColumnInReview} {
		if _, err := m.column(ctx, &s, column); err != nil {
			return "", err
		}
	}
	stop, err := m.column(ctx, &s, work.ColumnReady)
	if stop == NoClaimInReview {
		why = fmt.Sprintf("%d issues are in review, as many as factory.max_in_review allows", s.project.InReview)
	}
	return why, err
}

// column tries the issues of a column in its order, until one reason holds all
// that would follow.
func (m *loopRun) column(ctx context.Context, s *view, column work.Column) (NoClaim, error) {
	if column == work.ColumnReady && m.Order != nil {
		return m.ordered(ctx, s)
	}
	for after := ""; ; {
		page, err := m.Cards.Issues(ctx, work.IssueFilter{Project: m.Board.Project, Column: column}, pageOfReady, after)
		if err != nil {
			return "", err
		}
		stop, err := m.tryPage(ctx, s, page)
		if err != nil || stop != "" || len(page) < pageOfReady {
			return stop, err
		}
		after = page[len(page)-1].Rank
	}
}

// ordered tries all ready issues in an order of their own.
func (m *loopRun) ordered(ctx context.Context, s *view) (NoClaim, error) {
	var all []work.Issue
	for after := ""; ; {
		page, err := m.Cards.Issues(ctx, work.IssueFilter{Project: m.Board.Project, Column: work.ColumnReady}, pageOfReady, after)
		if err != nil {
			return "", err
		}
		if all = append(all, page...); len(page) < pageOfReady {
			break
		}
		after = page[len(page)-1].Rank
	}
	m.Order(all)
	return m.tryPage(ctx, s, all)
}

// tryPage claims what it may of a page. The reason it returns holds every ready
// issue that follows as well.
func (m *loopRun) tryPage(ctx context.Context, s *view, page []work.Issue) (NoClaim, error) {
	ids := make([]int64, 0, len(page))
	for _, i := range page {
		ids = append(ids, i.ID)
	}
	blocked, err := m.Cards.Blockers(ctx, m.Board.Project, ids)
	if err != nil {
		return "", err
	}
	for _, i := range page {
		no, err := m.may(ctx, s, i, blocked[i.ID])
		if err != nil {
			return "", err
		}
		if m.refused = ""; m.Only != 0 {
			m.refused = string(no)
		}
		switch no {
		case "":
			if err := m.claim(ctx, s, i); err != nil {
				return "", err
			}
		case NoClaimRunning, NoClaimInReview:
			return no, nil
		}
	}
	return "", nil
}

// may says whether this loop may claim an issue now.
func (m *loopRun) may(ctx context.Context, s *view, i work.Issue, blocked []int64) (NoClaim, error) {
	claim, stored := s.claims[i.ID]
	if m.jobs[i.ID] != nil {
		return NoClaimHeld, nil
	}
	// A person wants it looked at now, whatever pause is left.
	paused := stored && claim.Later.After(s.project.Now)
	wanted := m.Only == i.ID && i.Column == work.ColumnInReview && (i.Pull != nil || paused) && !m.wanted
	if paused && !wanted {
		return NoClaimLater, nil
	}
	project := s.project
	news := s.news[i.ID]
	if news.Held {
		return NoClaimHeld, nil
	}
	// What waits on its pull request is over, and is not tried again for that; nor
	// is what is not wanted any more.
	over := news.Over && (i.Column != work.ColumnInReview || i.Pull == nil) && !slices.Contains(i.Hold, HoldUnwanted)
	due := stored && claim.Owner == "" && !claim.Later.IsZero()
	project.Answered = wanted || len(news.Answers) > 0 || over || due || news.Pull || news.Overdue || news.Updated.After(i.Changed)
	if i.Run == "" && i.State == work.IssueWaits {
		var err error
		if project.Answered, err = m.Triage.Answered(ctx, i); err != nil {
			return "", err
		}
	}
	needs := map[int64]work.Column{}
	for _, need := range i.Needs {
		needs[need] = work.ColumnDone
	}
	for _, need := range blocked {
		delete(needs, need)
	}
	if no := MayClaim(i, lease(claim), needs, project); no != "" {
		return no, nil
	}
	// What was begun goes on, whoever it waits for: its run knows its agents.
	if i.Run == "" && len(Tripped(s.floor, s.admission.Agents, s.project.Now)) > 0 {
		return NoClaimBreaker, nil
	}
	if len(m.jobs) >= s.admission.MaxRunning {
		return NoClaimRunning, nil
	}
	if m.Room != nil && m.Only == 0 && i.Column != work.ColumnInReview {
		if room, err := m.Room(ctx, m.taken(s.project.Now, i.ID), i); err != nil || !room {
			return NoClaimSlot, err
		}
	}
	return m.origin(ctx, s, i, news)
}

// claim takes an issue and begins with it. That another was quicker is no error:
// its change has the board looked at again.
func (m *loopRun) claim(ctx context.Context, s *view, i work.Issue) error {
	if !m.Concurrency.take() {
		m.again = true
		return nil
	}
	begun := false
	defer func() {
		if !begun {
			m.Concurrency.give()
		}
	}()
	was, err := m.Board.Store.Issue(ctx, m.Board.Project, i.ID)
	if err != nil {
		return err
	}
	if was.Version != i.Version {
		m.again, m.idle = true, false
		return nil
	}
	seen, stored := s.claims[i.ID]
	if !stored {
		seen = work.IssueClaim{Project: m.Board.Project, Issue: i.ID}
	}
	now := Claimed(clone(was), s.news[i.ID].Answers)
	var place *Place
	if now.Column != was.Column {
		if err := MayMove(was, now.Column, Machine); err != nil {
			return err
		}
		place = &Place{At: Bottom}
	}
	change, err := m.Board.plan(ctx, was, now, place, work.IssueClaimed, machine(noteOf(seen, s.news[i.ID].Answers)))
	var claim work.IssueClaim
	if err == nil {
		claim, now, err = m.Claims.Claim(ctx, seen, change)
	}
	switch {
	case errors.Is(err, work.ErrStale):
		m.again, m.idle = true, false
		return nil
	case err != nil:
		return err
	}
	begun, m.idle = true, false
	m.wanted = m.Only != 0
	s.project.Running++
	m.Say(i.ID, "claimed"+noteWords(noteOf(seen, s.news[i.ID].Answers)))
	m.begin(ctx, claim, now, start{afresh: was.Column == work.ColumnReady, finish: s.finish[i.ID]})
	return nil
}

// machine is the factory where a person would stand.
func machine(note string) By { return By{Name: "factory", Door: "factory", Note: note} }

func noteOf(seen work.IssueClaim, answers []work.Answer) string {
	switch {
	case seen.Owner != "":
		return fmt.Sprintf("taken over from process %d on %s", seen.PID, seen.Host)
	case len(answers) > 0:
		a := answers[len(answers)-1]
		what := string(a.Status)
		switch {
		case a.Message != nil:
			what = "a message"
		case what == "":
			what = "another level"
		}
		return Line(fmt.Sprintf("%s by %s", what, a.By))
	}
	return ""
}

func noteWords(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}
