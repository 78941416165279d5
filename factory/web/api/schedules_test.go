package api_test

import (
	"context"
	"fmt"
	"testing"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/work"
)

// nightly is the one schedule of a project.
type nightly struct{ web.Schedule }

func (n *nightly) List(context.Context) ([]web.Schedule, error) {
	n.Name, n.Cron, n.Zone = "nightly", "0 3 * * *", "UTC"
	return []web.Schedule{n.Schedule}, nil
}

func (n *nightly) Run(_ context.Context, name string, by factory.By) (work.Issue, error) {
	if name != "nightly" {
		return work.Issue{}, fmt.Errorf("%w: schedule", work.ErrUnknown)
	}
	n.Issue, n.Note = 7, "by "+by.Name
	return work.Issue{ID: 7}, nil
}

func (n *nightly) Pause(_ context.Context, name string, paused bool, _ string) error {
	if name != "nightly" {
		return fmt.Errorf("%w: schedule", work.ErrUnknown)
	}
	n.Paused = paused
	return nil
}

func TestSchedules(t *testing.T) {
	w := newWorld(t)
	const path = "/projects/p/schedules"
	w.v1("GET", path, "").is(200, "").has(`"name":"nightly"`, `"paused":false`)
	w.v1("POST", path+"/nightly/run", "").is(200, "").has(`"issue":7`, `"note":"by the admin"`)
	w.v1("POST", path+"/nightly/pause", "").is(200, "").has(`"paused":true`)
	w.v1("POST", path+"/nightly/resume", "").is(200, "").has(`"paused":false`)
	w.v1("POST", path+"/hourly/run", "").is(404, "unknown_schedule")
	w.v1("POST", path+"/nightly/sing", "").is(404, "unknown_address")
	w.ask("viewer", "POST", "/api/v1"+path+"/nightly/pause", "").is(403, "forbidden")
}
