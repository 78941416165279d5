package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
)

//go:embed report.html
var report string

// A plot is a line for each trial, on a scale from left to right.
type plot struct {
	Title, Words string
	Height       int
	Grid         []gridLine
	Bars         []plotBar
}

type gridLine struct {
	X, Y, TextY int
	Label       string
}

// plotBar is one trial; a number that is unknown has no mark.
type plotBar struct {
	Label, Value    string
	Y, TextY        int
	Known, HasWorst bool
	Range           bool
	Low, High, At   float64
	Worst           float64
}

// Where a plot's scale begins and ends, and how high a line of it is.
const (
	plotLeft, plotRight = 200, 700
	plotLine            = 26
)

// WriteHTML writes trials side by side as a page that needs nothing besides.
func WriteHTML(to io.Writer, trials ...*Trial) error {
	page, err := template.New("trials").Funcs(template.FuncMap{"rate": rateText, "dollars": dollars, "moments": momentsText}).Parse(report)
	if err != nil {
		return fmt.Errorf("write the page of trials: %w", err)
	}
	b := SideBySide(trials)
	var pairs []string
	for i, c := range b.Against {
		for _, t := range c.Tests {
			pairs = append(pairs, fmt.Sprintf("%s beside %s, %s: %s", b.Columns[i+1].Trial, b.Columns[0].Trial, t.What, pairedText(t)))
		}
	}
	err = page.Execute(to, map[string]any{"Beside": b, "Plots": plots(b), "Pairs": pairs, "Rows": caseRows(trials)})
	if err != nil {
		return fmt.Errorf("write the page of trials: %w", err)
	}
	return nil
}

func plots(b Beside) []plot {
	shares := []string{"0 %", "25 %", "50 %", "75 %", "100 %"}
	share := func(of func(Column) (Rate, *Rate)) func(Column, *plotBar) {
		return func(c Column, bar *plotBar) {
			r, worst := of(c)
			if bar.Value = rateText(r); r.Rate != nil {
				bar.Known, bar.Range, bar.Low, bar.High, bar.At = true, true, onScale(*r.Low), onScale(*r.High), onScale(*r.Rate)
			}
			if worst != nil && worst.Rate != nil {
				bar.HasWorst, bar.Worst = true, onScale(*worst.Rate)
			}
		}
	}
	out := []plot{
		plotOf(b, "Recall", "With its 95 % interval; the second mark is the recall at worst.", shares, share(func(c Column) (Rate, *Rate) { return c.Recall, &c.Worst })),
		plotOf(b, "Precision", "With its 95 % interval.", shares, share(func(c Column) (Rate, *Rate) { return c.Precision, nil })),
		plotOf(b, "False proceeds at worst", "With its 95 % interval. Less is better.", shares, share(func(c Column) (Rate, *Rate) { return c.Proceeds, nil })),
	}
	for _, n := range []struct {
		title, words, form string
		of                 func(Column) (float64, bool)
	}{
		{"Seconds for an answer", "The median.", "%.1f s", func(c Column) (float64, bool) {
			if c.Latency == nil {
				return 0, false
			}
			return c.Latency.Median, true
		}},
		{"Dollars for a fault found", "All that was spent by what was found.", "$%.4f", func(c Column) (float64, bool) {
			if c.PerTrue == nil {
				return 0, false
			}
			return *c.PerTrue, true
		}},
	} {
		most := 0.0
		for _, c := range b.Columns {
			if x, known := n.of(c); known {
				most = max(most, x)
			}
		}
		if most == 0 {
			continue
		}
		out = append(out, plotOf(b, n.title, n.words, []string{"0", fmt.Sprintf(n.form, most/2), fmt.Sprintf(n.form, most)}, func(c Column, bar *plotBar) {
			x, known := n.of(c)
			bar.Known, bar.At, bar.Value = known, onScale(x/most), fmt.Sprintf(n.form, x)
		}))
	}
	return out
}

// onScale is where a share of the scale lies.
func onScale(share float64) float64 { return plotLeft + (plotRight-plotLeft)*share }

func plotOf(b Beside, title, words string, scale []string, fill func(Column, *plotBar)) plot {
	p := plot{Title: title, Words: words, Height: plotLine*len(b.Columns) + 30}
	for i, label := range scale {
		p.Grid = append(p.Grid, gridLine{X: plotLeft + (plotRight-plotLeft)*i/(len(scale)-1), Y: p.Height - 20, TextY: p.Height - 5, Label: label})
	}
	for i, c := range b.Columns {
		bar := plotBar{Label: c.Trial, Y: plotLine*i + 14, TextY: plotLine*i + 18}
		fill(c, &bar)
		p.Bars = append(p.Bars, bar)
	}
	return p
}

// caseRow is what came of one thing that a case asks about, in each trial.
type caseRow struct {
	Case, What string
	Came       []string // "-" = it was not asked
}

func caseRows(trials []*Trial) []caseRow {
	var rows []caseRow
	for i, t := range trials {
		for _, o := range t.Outcomes {
			for what, how := range o.came() {
				at := slices.IndexFunc(rows, func(r caseRow) bool { return r.Case == o.Case && r.What == what })
				if at < 0 {
					at = len(rows)
					rows = append(rows, caseRow{Case: o.Case, What: what, Came: slices.Repeat([]string{"-"}, len(trials))})
				}
				rows[at].Came[i] = how
			}
		}
	}
	slices.SortFunc(rows, func(a, b caseRow) int {
		switch {
		case a.What < b.What:
			return -1
		case a.What > b.What:
			return 1
		}
		return 0
	})
	return rows
}
