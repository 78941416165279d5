package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"forge/factory/web"
	"forge/internal/work"
)

// judgement is how long readiness and a scrape may take.
const judgement = 5 * time.Second

// Health answers whoever asks whether the process lives.
func (a *API) Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { plainly(w, http.StatusOK, "ok") })
}

// Ready answers whether requests can be served: the projects and their journals
// can be read, and the server is not ending. It names no project.
func (a *API) Ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), judgement)
		defer cancel()
		if err := a.ready(ctx); err != nil {
			a.Log.Warn("not ready", "err", err)
			plainly(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		plainly(w, http.StatusOK, "ready")
	})
}

func (a *API) ready(ctx context.Context) error {
	select {
	case <-a.stop:
		return errors.New("the server is ending")
	default:
	}
	all, err := a.Site.Projects(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if _, err := p.Cards.IssueCounts(ctx, p.Board.Project); err != nil {
			return fmt.Errorf("project %s: %w", p.ID, err)
		}
	}
	return nil
}

func plainly(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text)
}

// Metrics are for Prometheus. The caller decides who may read them: they name
// every project of the server.
func (a *API) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), judgement)
		defer cancel()
		f := figures{}
		a.figures(ctx, f)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		f.write(w)
		metrics.WriteProcessMetrics(w)
		metrics.WriteFDMetrics(w)
	})
}

// figures reads what is told of the server and its projects. What cannot be read is
// not told: an absent figure is not a zero.
func (a *API) figures(ctx context.Context, f figures) {
	a.streams.mu.Lock()
	f.tell("forge_event_streams", float64(a.streams.all))
	a.streams.mu.Unlock()
	if a.Webhooks != nil {
		for outcome, n := range a.Webhooks() {
			f.tell("forge_host_webhooks_total", float64(n), "outcome", strings.ReplaceAll(outcome, " ", "_"))
		}
	}
	if a.Calls != nil {
		for end, n := range a.Calls() {
			f.tell("forge_calls_total", float64(n), "end", end)
		}
	}
	all, err := a.Site.Projects(ctx)
	if err != nil {
		a.Log.Warn("the projects cannot be read for /metrics", "err", err)
		return
	}
	for _, p := range all {
		up := 1.0
		if err := a.projectFigures(ctx, p, f); err != nil {
			a.Log.Warn("figures cannot be read", "project", p.ID, "err", err)
			up = 0
		}
		f.tell("forge_project_up", up, "project", p.ID)
	}
}

func (a *API) projectFigures(ctx context.Context, p web.Project, f figures) error {
	counts, err := p.Cards.IssueCounts(ctx, p.Board.Project)
	if err != nil {
		return err
	}
	for _, column := range work.Columns() {
		f.tell("forge_issues", float64(counts[column]), "column", string(column), "project", p.ID)
	}
	s, err := p.Floor.Standing(ctx)
	if err != nil {
		return err
	}
	f.tell("forge_issues_running", float64(len(s.Running)), "project", p.ID)
	f.tell("forge_floor_serving", truth(s.Serving), "project", p.ID)
	f.tell("forge_floor_paused", truth(s.Paused || s.Drain), "project", p.ID)
	waits, err := p.Questions.Checkpoints(ctx, "", work.CheckpointPending, 500, "")
	if err != nil {
		return err
	}
	f.tell("forge_checkpoints_pending", float64(len(waits)), "project", p.ID)
	runs, err := a.seen.runs(ctx, p)
	if err != nil {
		return err
	}
	states, cost, unknown := map[string]int{}, 0.0, 0
	for _, r := range runs {
		states[r.State]++
		if r.CostUSD == nil {
			unknown++
			continue
		}
		cost += *r.CostUSD
	}
	for _, state := range []string{"running", "frozen", "interrupted", "limit", "completed", "failed", "cancelled"} {
		f.tell("forge_runs", float64(states[state]), "project", p.ID, "state", state)
	}
	f.tell("forge_cost_usd", cost, "project", p.ID)
	f.tell("forge_runs_cost_unknown", float64(unknown), "project", p.ID)
	return nil
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
