package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &board{api: a})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// The descriptions of what is told to Prometheus.
var (
	issuesDesc   = prometheus.NewDesc("forge_issues", "Issues on the board, by column.", []string{"project", "column"}, nil)
	runningDesc  = prometheus.NewDesc("forge_issues_running", "Issues that are worked on now.", []string{"project"}, nil)
	servingDesc  = prometheus.NewDesc("forge_floor_serving", "Whether some process works on the board.", []string{"project"}, nil)
	pausedDesc   = prometheus.NewDesc("forge_floor_paused", "Whether nothing new is claimed.", []string{"project"}, nil)
	waitsDesc    = prometheus.NewDesc("forge_checkpoints_pending", "Checkpoints that wait for a person, counted up to 500.", []string{"project"}, nil)
	runsDesc     = prometheus.NewDesc("forge_runs", "Runs and jobs, by how they stand.", []string{"project", "state"}, nil)
	costDesc     = prometheus.NewDesc("forge_cost_usd", "Money that runs and jobs are known to have cost.", []string{"project"}, nil)
	unpricedDesc = prometheus.NewDesc("forge_runs_cost_unknown", "Runs and jobs of which the cost, or a part of it, is not known.", []string{"project"}, nil)
	streamsDesc  = prometheus.NewDesc("forge_event_streams", "Open event streams of the API.", nil, nil)
	webhooksDesc = prometheus.NewDesc("forge_host_webhooks_total", "Webhooks of code hosts since the server began, by what became of them.", []string{"outcome"}, nil)
	callsDesc    = prometheus.NewDesc("forge_calls_total", "Calls by name on trackers since the server began, by their end.", []string{"end"}, nil)
	upDesc       = prometheus.NewDesc("forge_project_up", "Whether the project's journal could be read.", []string{"project"}, nil)
)

// board reads the figures when they are asked for.
type board struct{ api *API }

// Describe is as of prometheus.Collector.
func (b *board) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{issuesDesc, runningDesc, servingDesc, pausedDesc, waitsDesc, runsDesc, costDesc, unpricedDesc, streamsDesc, webhooksDesc, callsDesc, upDesc} {
		out <- d
	}
}

// Collect is as of prometheus.Collector. What cannot be read is not told: an
// absent figure is not a zero.
func (b *board) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), judgement)
	defer cancel()
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	b.api.streams.mu.Lock()
	tell(streamsDesc, float64(b.api.streams.all))
	b.api.streams.mu.Unlock()
	if b.api.Webhooks != nil {
		for outcome, n := range b.api.Webhooks() {
			out <- prometheus.MustNewConstMetric(webhooksDesc, prometheus.CounterValue, float64(n), strings.ReplaceAll(outcome, " ", "_"))
		}
	}
	if b.api.Calls != nil {
		for end, n := range b.api.Calls() {
			out <- prometheus.MustNewConstMetric(callsDesc, prometheus.CounterValue, float64(n), end)
		}
	}
	all, err := b.api.Site.Projects(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(upDesc, err)
		return
	}
	for _, p := range all {
		up := 1.0
		if err := b.project(ctx, p, tell); err != nil {
			b.api.Log.Warn("figures cannot be read", "project", p.ID, "err", err)
			up = 0
		}
		tell(upDesc, up, p.ID)
	}
}

func (b *board) project(ctx context.Context, p web.Project, tell func(*prometheus.Desc, float64, ...string)) error {
	counts, err := p.Cards.IssueCounts(ctx, p.Board.Project)
	if err != nil {
		return err
	}
	for _, column := range work.Columns() {
		tell(issuesDesc, float64(counts[column]), p.ID, string(column))
	}
	s, err := p.Floor.Standing(ctx)
	if err != nil {
		return err
	}
	tell(runningDesc, float64(len(s.Running)), p.ID)
	tell(servingDesc, truth(s.Serving), p.ID)
	tell(pausedDesc, truth(s.Paused || s.Drain), p.ID)
	waits, err := p.Desk.Checkpoints(ctx, "", work.CheckpointPending, 500, "")
	if err != nil {
		return err
	}
	tell(waitsDesc, float64(len(waits)), p.ID)
	runs, err := b.api.seen.runs(ctx, p)
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
		tell(runsDesc, float64(states[state]), p.ID, state)
	}
	tell(costDesc, cost, p.ID)
	tell(unpricedDesc, float64(unknown), p.ID)
	return nil
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
