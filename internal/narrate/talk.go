package narrate

import (
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

const (
	aboutRunes  = 100 // of what a tool is called with
	failedRunes = 160 // of what a failed tool answered
)

// Turn is one turn of an agent's conversation as lines for a terminal, with a
// line end: words as they were said, a tool in one line with its result folded;
// "" where it says nothing to a reader. With full, results and thoughts are told as
// far as they were kept. Nothing in it acts on a terminal.
func Turn(t work.Turn, full bool) string {
	switch t.Kind {
	case work.TurnSaid:
		if t.Aside {
			return indented("| ", t.Text)
		}
		return strings.TrimRight(text.Harmless(t.Text), "\n") + "\n"
	case work.TurnThought:
		if full {
			return "  (thinks)\n" + indented("    ", t.Text)
		}
		return "  (thinks, " + text.Number(t.Lines, "line") + ")\n"
	case work.TurnNotice:
		return "  ! " + text.OneLine(t.Text, failedRunes) + "\n"
	case work.TurnTool:
		return turnTool(t, full)
	}
	line := "  (" + text.Number(t.Lines, "other line")
	if full {
		return line + ")\n" + indented("    ", t.Text)
	}
	last := text.OneLine(t.About, aboutRunes)
	if last == "" {
		return "" // events of the program's own
	}
	return line + ": " + last + ")\n"
}

func turnTool(t work.Turn, full bool) string {
	line := "  "
	if t.Aside {
		line = "  | "
	}
	line += text.OneLine(t.Tool, aboutRunes)
	if t.About != "" {
		line += ": " + text.OneLine(t.About, aboutRunes)
	}
	line += " · " + t.Result() + "\n"
	if full && t.Ended {
		line += indented("    ", t.Text)
	}
	return line
}

func indented(by, s string) string {
	if s = strings.TrimRight(text.Harmless(s), "\n"); s == "" {
		return ""
	}
	return by + strings.ReplaceAll(s, "\n", "\n"+by) + "\n"
}

// Iteration is one line on how an iteration ended: how long it took, what it
// used.
func Iteration(began, ended work.Event) string {
	var d work.IterationFinishedData
	if work.Decode(ended, &d) != nil {
		return ""
	}
	parts := []string{text.HarmlessLine(string(d.Outcome))}
	if took := ended.Time.Sub(began.Time); took >= 0 && !began.Time.IsZero() {
		parts = append(parts, text.Took(took))
	}
	return strings.Join(append(parts, Usage(d.Usage)...), ", ")
}

// Usage is what was used, as far as it is known.
func Usage(u work.Usage) (parts []string) {
	if u.InputTokens != nil && u.OutputTokens != nil {
		parts = append(parts, text.Count(*u.InputTokens)+" tokens in, "+text.Count(*u.OutputTokens)+" out")
	}
	if u.CostUSD != nil {
		parts = append(parts, text.USD(*u.CostUSD))
	}
	return parts
}
