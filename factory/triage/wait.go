package triage

import (
	"fmt"
	"time"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// A service that limits or is away is asked again when it may be back: the
// thread ends at its limit until then, and holds nothing. A question that
// nobody answers in time stays held and is put again. Neither is ever a yes.

// The waits between two calls where the service names no time.
const (
	firstOutageWait = 30 * time.Second
	mostOutageWait  = 5 * time.Minute
)

// Outage is a service that is waited for.
type Outage struct {
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Tries  int       `json:"tries"`
	Detail string    `json:"detail,omitempty"`
}

// outage is until when a call that came to nothing waits; ok is false when it
// is not of the kind that passes, or was waited for long enough.
func (d *decision) outage(f Answer) (until time.Time, ok bool) {
	if !f.Passing || f.Problem == "" {
		return until, false
	}
	since, tries := d.now, 0
	if o := d.s.Outage; o != nil {
		since, tries = o.Since, o.Tries
	}
	wait := mostOutageWait
	if tries < 4 {
		wait = min(firstOutageWait<<tries, mostOutageWait)
	}
	until = d.now.Add(wait)
	if at := f.ResetAt; at != nil && at.After(d.now) {
		until = *at
	}
	most := time.Duration(d.s.Spec.OutageWaitSecs) * time.Second
	return until.UTC(), !until.After(since.Add(most))
}

func (d *decision) outageBegan(until time.Time, detail string) {
	tries := 0
	if o := d.s.Outage; o != nil {
		tries = o.Tries
	}
	d.add(work.OutageBegan, d.s.target(), orchestrator.OutageData{Until: until, Detail: line(detail, 200), Tries: tries + 1})
}

func (s *State) outage(at time.Time, d orchestrator.OutageData) {
	since := at
	if s.Outage != nil {
		since = s.Outage.Since
	}
	s.Outage = &Outage{Since: since, Until: d.Until, Tries: d.Tries, Detail: d.Detail}
}

// expiry is until when a checkpoint that is opened now may be answered; nil =
// for ever.
func (d *decision) expiry() *time.Time {
	if d.s.Spec.ExpirySecs <= 0 {
		return nil
	}
	end := d.now.UTC().Add(time.Duration(d.s.Spec.ExpirySecs) * time.Second)
	return &end
}

// overdue puts a question again that nobody answered in time.
func (d *decision) overdue(f Overdue) {
	cp := d.s.Open
	if !d.s.Live || cp == nil || cp.ID != f.Checkpoint || cp.ExpiresAt == nil {
		return
	}
	again := *cp
	again.ID, again.OpenedAt, again.ExpiresAt = fmt.Sprintf("%s.%d", d.s.Thread, d.s.Opened+1), d.now.UTC(), d.expiry()
	d.add(work.CheckpointOverdue, gates.Point(cp.Phase), orchestrator.CheckpointOverdueData{ID: cp.ID, Again: again.ID})
	d.add(work.CheckpointOpened, gates.Point(cp.Phase), again)
}
