package machine

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/journal"
	"forge/internal/project"
)

// carryEvery is how often the inboxes of runs are looked at.
const carryEvery = 200 * time.Millisecond

// Carry hands what doors write for the checkout's runs to their workflows, until ctx
// ends. Several may do so: an answer is heard once, whoever brings it.
func Carry(ctx context.Context, p *project.Checkout, c client.Client) {
	watch := p.Journal.Watch()
	again := true
	for ctx.Err() == nil {
		if changed, err := watch.Changed(ctx); err == nil && (changed || again) {
			again = carryAll(ctx, p, c)
		}
		select {
		case <-time.After(carryEvery):
		case <-ctx.Done():
		}
	}
}

// carryAll says whether something was not taken that may be taken later.
func carryAll(ctx context.Context, p *project.Checkout, c client.Client) (left bool) {
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return true
	}
	for _, row := range rows {
		if !live(row) {
			continue
		}
		inbox, err := (&record{p: p, run: row.ID}).Inbox(ctx)
		if err != nil {
			left = true
		}
		for _, one := range inbox {
			if temporal.Carry(ctx, c, row.ID, one) != nil {
				left = true
			}
		}
	}
	return left
}

// live says that a run may have a workflow that hears answers. One that rests hears
// them when it is taken up.
func live(row journal.RunRow) bool { return row.Outcome == "" }
