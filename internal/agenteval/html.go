package agenteval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"forge/internal/text"
)

//go:embed report.html
var report string

// row is a task with what each agent made of it.
type row struct {
	Task  Task
	Cells [][]Try
}

// line is a score as the page shows it; places are of a hundred.
type line struct {
	Agent, Solved, Interval, USD, PerSolved, Time string
	Unknown, Late                                 int
	Worst, Best                                   string // intervals, with the unknown ones as failed and as solved
	Known                                         bool
	Low, Wide, At                                 string
}

// WriteHTML writes a trial as a page that needs nothing besides.
func WriteHTML(to io.Writer, t *Trial) error {
	page, err := template.New("trial").Funcs(template.FuncMap{"short": text.Short}).Parse(report)
	if err != nil {
		return fmt.Errorf("write the page of a trial: %w", err)
	}
	var scores []line
	for _, s := range Scores(t) {
		l := line{Agent: s.Agent, Solved: solved(s), Interval: interval(s.Solved), USD: dollars(s.USD), PerSolved: dollars(s.PerSolved), Time: seconds(s.Seconds), Unknown: s.Unknown, Late: s.Late, Worst: interval(s.Worst), Best: interval(s.Best)}
		if s.Solved.Rate != nil {
			l.Known = true
			l.Low, l.Wide, l.At = percent(*s.Solved.Low), percent(*s.Solved.High-*s.Solved.Low), percent(*s.Solved.Rate)
		}
		scores = append(scores, l)
	}
	var rows []row
	for _, task := range t.Tasks {
		r := row{Task: task}
		for _, agent := range t.Agents {
			var cell []Try
			for _, d := range t.Done {
				if d.Task == task.Commit && d.Agent == agent {
					cell = append(cell, d)
				}
			}
			r.Cells = append(r.Cells, cell)
		}
		rows = append(rows, r)
	}
	err = page.Execute(to, map[string]any{
		"Trial": t, "Scores": scores, "Pairs": Pairs(t), "Rows": rows, "Left": len(t.Left()),
		"Limit": time.Duration(t.Limit * float64(time.Second)).String(),
	})
	if err != nil {
		return fmt.Errorf("write the page of a trial: %w", err)
	}
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }
