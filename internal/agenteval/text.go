package agenteval

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/eval"
	"forge/internal/text"
)

// Text is a trial as a person reads it; whole names each try.
func Text(t *Trial, whole bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Trial of agents %s, %s: %s", t.ID, t.Started.Format("2006-01-02 15:04"), count(len(t.Tasks), "task", "tasks"))
	if t.Tries > 1 {
		fmt.Fprintf(&b, ", %d tries each", t.Tries)
	}
	if left := len(t.Left()); left > 0 {
		fmt.Fprintf(&b, "; %s still to be made", count(left, "try", "tries"))
	}
	b.WriteString("\n\n")
	rows := [][]string{}
	for _, s := range Scores(t) {
		rows = append(rows, []string{text.OneLine(s.Agent, 40), solved(s), interval(s.Solved), fmt.Sprint(s.Unknown), fmt.Sprint(s.Late), interval(s.Worst), interval(s.Best), dollars(s.USD), dollars(s.PerSolved), seconds(s.Seconds)})
	}
	b.WriteString(text.Table([]string{"AGENT", "SOLVED", "95 %", "UNKNOWN", "TIME UP", "95 % IF UNKNOWN FAILED", "IF SOLVED", "$ A TRY", "$ A SOLVED TASK", "MEDIAN TIME"}, rows))
	if pairs := Pairs(t); len(pairs) > 0 {
		b.WriteString("\n")
		for _, p := range pairs {
			b.WriteString(p.String() + "\n")
		}
	}
	if whole {
		b.WriteString("\n" + tries(t))
	}
	return text.Harmless(b.String())
}

func tries(t *Trial) string {
	var rows [][]string
	for _, d := range t.Done {
		task := t.Task(d.Task)
		rows = append(rows, []string{text.Short(d.Task), text.OneLine(task.Title, 50), text.OneLine(d.Agent, 40), string(d.Status), dollars(d.USD), seconds(&d.Seconds), text.OneLine(d.Why, 80)})
	}
	return text.Table([]string{"CHANGE", "TITLE", "AGENT", "RESULT", "$", "TIME", "WHY"}, rows)
}

// String is a pair in one sentence.
func (p Pair) String() string {
	said := fmt.Sprintf("%s against %s: %s, solved by both %d, by %s alone %d, by %s alone %d; p = %.3f", p.A, p.B, count(p.Pairs, "pair", "pairs"), p.Both, p.A, p.OnlyA, p.B, p.OnlyB, p.P)
	if p.Noise {
		return said + ", which may be chance"
	}
	return said
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func solved(s Score) string { return fmt.Sprintf("%d of %d", s.Solved.Hits, s.Solved.Of) }

func interval(r eval.Rate) string {
	if r.Low == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f–%.0f %%", 100**r.Low, 100**r.High)
}

func dollars(usd *float64) string {
	if usd == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2f", *usd)
}

func seconds(s *float64) string {
	if s == nil {
		return "–"
	}
	return time.Duration(*s * float64(time.Second)).Round(time.Second).String()
}
