package web_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// oneClock is a board with one schedule.
type oneClock struct {
	web.Schedule
	did []string
}

func (c *oneClock) List(context.Context) ([]web.Schedule, error) {
	return []web.Schedule{c.Schedule}, nil
}

func (c *oneClock) Run(_ context.Context, name string, by factory.By) (work.Issue, error) {
	if name != c.Name {
		return work.Issue{}, fmt.Errorf("%w: schedule %s", work.ErrUnknown, name)
	}
	c.did = append(c.did, "run by "+by.Name)
	return work.Issue{ID: 3}, nil
}

func (c *oneClock) Pause(_ context.Context, name string, paused bool, by string) error {
	c.Paused = paused
	c.did = append(c.did, fmt.Sprintf("%s paused %v by %s", name, paused, by))
	return nil
}

// Schedules are seen by whoever sees the project, and run and paused by an admin.
func TestSchedulesPage(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	on := &oneClock{Schedule: web.Schedule{Name: "updates", Cron: "0 6 * * <mon>", Zone: "Europe/Berlin", Next: time.Date(2026, 5, 4, 6, 0, 0, 0, time.UTC), Issue: 2, Note: "on time"}}
	w.Site.Change("demo", func(p *web.Project) { p.Schedules = on })
	owner := w.Owner()
	if page := owner.Get("/p/demo").Body; !strings.Contains(page, `href="/p/demo/schedules"`) {
		t.Error("the board does not lead there")
	}
	page := owner.Get("/p/demo/schedules").Body
	for _, want := range []string{"updates", "0 6 * * &lt;mon&gt;", "Europe/Berlin", "4 May 2026 06:00 UTC", "/p/demo/issues/2", "on time", "Run now", "Pause"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	form := url.Values{"name": {"updates"}}
	owner.Send("/p/demo/schedules/run", form)
	owner.Send("/p/demo/schedules/pause", form)
	if page = owner.Get("/p/demo/schedules").Body; !strings.Contains(page, "paused") || !strings.Contains(page, "Go on") {
		t.Error("it is not said that it is paused")
	}
	owner.Send("/p/demo/schedules/resume", form)
	if got := owner.Send("/p/demo/schedules/run", url.Values{"name": {"other"}}); got.Status != 422 {
		t.Errorf("one that is not there: %d", got.Status)
	}
	operator := w.User("uo", web.RoleOperator, "demo")
	if a := operator.Get("/p/demo/schedules"); a.Status != 200 || strings.Contains(a.Body, "Run now") {
		t.Errorf("an operator: %d", a.Status)
	}
	if a := operator.Send("/p/demo/schedules/run", form); a.Status != 403 {
		t.Errorf("an operator runs one: %d", a.Status)
	}
	if got := strings.Join(on.did, "; "); !strings.HasPrefix(got, "run by ") || !strings.Contains(got, "updates paused true by") || !strings.Contains(got, "updates paused false by") {
		t.Errorf("done: %s", got)
	}
}
