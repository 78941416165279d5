package narrate

import (
	"github.com/charmbracelet/log"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayTold puts a message to an agent into words, for forge why.
func sayTold(e work.Event) (string, facts, error) {
	return telling(e, func(d orchestrator.ToldData) (string, facts) {
		said := "said to its agent: " + text.FirstLine(text.Plain(d.Text), 200)
		if d.Now {
			said = "said to its agent at once: " + text.FirstLine(text.Plain(d.Text), 200)
		}
		return said, facts{{"by", d.By + " (" + d.Door + ")"}, {"nobody reads it", d.Refused}}
	})
}

// describeTold says it in one line, as it happens.
func describeTold(e work.Event) (log.Level, string, []any) {
	return describeAs(e, func(d orchestrator.ToldData) (log.Level, string, []any) {
		if d.Refused != "" {
			return log.WarnLevel, "a message that nobody reads", []any{"why", d.Refused, "by", d.By, "door", d.Door}
		}
		return log.InfoLevel, "told: " + text.FirstLine(text.Plain(d.Text), 200), []any{"by", d.By, "door", d.Door, "now", d.Now}
	})
}
