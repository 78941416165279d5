package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// mostRuns is how many runs are looked through for the times of proofs.
const mostRuns = 20

// proofTimes are the last proofs of a base that were timed; nil = none was.
type proofTimes struct{ cold, warm *work.Event }

// note takes an event of a run that is older than those noted before, or of the
// same run and younger than those of it.
func (t *proofTimes) note(evs []work.Event) {
	var of proofTimes
	for i := range evs {
		var d work.VerifyFinishedData
		if evs[i].Kind != work.VerifyFinished || work.Decode(evs[i], &d) != nil {
			continue
		}
		if !d.On.OfBase() || !d.OK || d.Before != nil || d.Time == nil || d.Millis == 0 {
			continue
		}
		if d.Time.Cold {
			of.cold = &evs[i]
		} else {
			of.warm = &evs[i]
		}
	}
	if t.cold == nil {
		t.cold = of.cold
	}
	if t.warm == nil {
		t.warm = of.warm
	}
}

// say is how long they took, cold first; "" = none was timed.
func (t *proofTimes) say() string {
	var parts []string
	for _, one := range []struct {
		e   *work.Event
		how string
	}{{t.cold, "cold, with empty caches"}, {t.warm, "warm"}} {
		var d work.VerifyFinishedData
		if one.e == nil || work.Decode(*one.e, &d) != nil {
			continue
		}
		took := text.Took(time.Duration(d.Millis) * time.Millisecond)
		parts = append(parts, fmt.Sprintf("%s %s (run %s, %s)", took, one.how, one.e.Run, one.e.Time.UTC().Format("2006-01-02")))
	}
	return strings.Join(parts, "; ")
}

// proofs says how long the last proofs of the base took, by what past runs noted.
func (d *Doctor) proofs(ctx context.Context, p *project.Checkout) {
	times, err := timesOf(ctx, p)
	if err != nil {
		d.note("", "how long a proof takes cannot be read from past runs: %v", err)
		return
	}
	if said := times.say(); said != "" {
		d.good("the last proof of the base took %s", said)
	}
}

func timesOf(ctx context.Context, p *project.Checkout) (proofTimes, error) {
	var times proofTimes
	there, err := p.OpenStore(ctx, false)
	if err != nil || !there {
		return times, err
	}
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return times, err
	}
	for _, row := range rows[:min(len(rows), mostRuns)] {
		evs, err := p.Journal.Events(ctx, row.ID, 0)
		if err != nil {
			return times, err
		}
		if times.note(evs); times.cold != nil && times.warm != nil {
			break
		}
	}
	return times, nil
}
