package web

import (
	"context"
	"fmt"
	"html/template"
	"sync"
	"time"

	"forge/factory/web/picture"
	"forge/internal/work"
)

const (
	// metricsRuns is how many runs, the newest, are counted.
	metricsRuns = 500
	// enoughRuns is from how many runs on shares are drawn.
	enoughRuns = 5
	// historyLines is how much of a board's history is read at a time.
	historyLines = 1000
)

func (s *Server) metricsRoutes() {
	s.mux.Handle("GET /p/{project}/metrics", s.need(RoleViewer, s.metricsPage))
}

// counted keeps what was counted of a project, so that a page reads what is new.
type counted struct {
	mu       sync.Mutex
	projects map[string]*countedProject
}

type countedProject struct {
	mu    sync.Mutex
	board boardFigures
	runs  map[string]countedRun
}

// countedRun is a run's figures as of its last event.
type countedRun struct {
	updated time.Time
	runFigures
}

func (c *counted) of(project string) *countedProject {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.projects == nil {
		c.projects = map[string]*countedProject{}
	}
	if c.projects[project] == nil {
		c.projects[project] = &countedProject{runs: map[string]countedRun{}}
	}
	return c.projects[project]
}

// count brings what is counted up to date. A run that did not change is not
// read again.
func (c *countedProject) count(ctx context.Context, p Project, now time.Time) (metrics, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p.Watch != nil {
		lines, err := p.Watch.BoardLines(ctx, p.Board.Project, c.board.Line, historyLines)
		if err != nil {
			return metrics{}, err
		}
		c.board.fold(lines)
		if len(lines) < historyLines {
			break
		}
	}
	list, err := p.Runs.Runs(ctx, metricsRuns, "")
	if err != nil {
		return metrics{}, err
	}
	var all []runFigures
	keep := map[string]countedRun{}
	for _, r := range list {
		was, ok := c.runs[r.ID]
		if !ok || !was.updated.Equal(r.Updated) {
			if was, err = countRun(ctx, p, r); err != nil {
				return metrics{}, err
			}
		}
		keep[r.ID] = was
		all = append(all, was.runFigures)
	}
	c.runs = keep
	return sumOf(all, c.board, now), nil
}

func countRun(ctx context.Context, p Project, r Run) (countedRun, error) {
	st, err := p.Runs.State(ctx, r.ID)
	if err != nil {
		return countedRun{}, err
	}
	const page = 1000
	var evs []work.Event
	for after := int64(0); ; {
		got, err := p.Runs.Events(ctx, r.ID, after, page)
		if err != nil {
			return countedRun{}, err
		}
		evs = append(evs, got...)
		if len(got) < page {
			break
		}
		after = got[len(got)-1].Seq
	}
	return countedRun{updated: r.Updated, runFigures: figuresOf(st, evs)}, nil
}

// figure is a plot and the table that says the same.
type figure struct {
	Title string
	Plot  template.HTML
	Head  []string
	Rows  [][]string
	Note  string
}

func (s *Server) metricsPage(v *visit) error {
	m, err := s.counted.of(v.Project.ID).count(v.Context(), v.Project, s.Now())
	if err != nil {
		return err
	}
	page := struct {
		Metrics metrics
		Figures []figure
		Enough  int
	}{m, nil, enoughRuns}
	if m.Counted >= enoughRuns {
		page.Figures = figures(m)
	}
	return v.page("metrics", "Metrics", page)
}

// figures are the plots of the page.
func figures(m metrics) []figure {
	through := figure{Title: "Finished each week", Head: []string{"Week from", "Issues done", "Runs completed"}}
	var issues []picture.Bar
	for _, w := range m.Weeks {
		n, day := float64(w.Issues), w.Begin.Format("2 Jan")
		issues = append(issues, picture.Bar{Label: day, Value: &n, Text: plural(w.Issues, "issue", "issues")})
		through.Rows = append(through.Rows, []string{day, fmt.Sprint(w.Issues), fmt.Sprint(w.Runs)})
	}
	through.Plot = picture.Columns("Issues done each week", "The table beside it has the numbers.", issues)
	out := []figure{through}
	for _, f := range []struct {
		title, what string
		rates       []rate
	}{{"Success by phase type", "Type", m.Types}, {"Success by agent", "Agent", m.Agents}, {"Success by model", "Model", m.Models}} {
		out = append(out, rateFigure(f.title, f.what, f.rates))
	}
	precision := rateFigure("Findings that were acted on", "Findings", []rate{{Name: "of all that were judged", Good: m.Findings.Good, All: m.Findings.All}})
	precision.Head = []string{"Findings", "Acted on", "Judged", "Share"}
	return append(out, precision)
}

func rateFigure(title, what string, rates []rate) figure {
	f := figure{Title: title, Head: []string{what, "Succeeded", "Tried", "Share"}}
	var bars []picture.Bar
	for _, r := range rates {
		text := "nothing yet"
		share := r.Share()
		if share != nil {
			text = fmt.Sprintf("%.0f %% of %d", *share*100, r.All)
		}
		bars = append(bars, picture.Bar{Label: r.Name, Value: share, Text: text, Most: 1})
		f.Rows = append(f.Rows, []string{r.Name, fmt.Sprint(r.Good), fmt.Sprint(r.All), text})
	}
	if len(rates) == 0 {
		f.Note = "Nothing to count yet."
	}
	f.Plot = picture.Bars(title, "The table beside it has the numbers.", bars)
	return f
}

// span is a length of time as a person says it.
func span(d *time.Duration) string {
	switch {
	case d == nil:
		return "unknown"
	case *d < time.Hour:
		return fmt.Sprintf("%d min", *d/time.Minute)
	case *d < 48*time.Hour:
		return fmt.Sprintf("%.1f hours", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// Lead is the median time from added to done.
func (m metrics) Lead() string { return span(m.LeadMedian) }

// Longest is the longest of them.
func (m metrics) Longest() string { return span(m.LeadLongest) }

// Known is what was spent as far as anybody knows; nil = nobody knows of any.
func (m metrics) Known() *float64 {
	if m.Spent == 0 && m.UnknownCost > 0 {
		return nil
	}
	return &m.Spent
}
