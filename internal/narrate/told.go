package narrate

import (
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayTold puts a message to an agent into words, for forge why.
func sayTold(e work.Event) (string, facts, error) {
	return telling(e, func(d orchestrator.ToldData) (string, facts) {
		said := "said to its agent: " + text.FirstLine(text.Plain(d.Text), 200)
		switch {
		case text.Blank(d.Text) && d.Anew:
			said = "asked for a new session"
		case d.Now:
			said = "said to its agent at once: " + text.FirstLine(text.Plain(d.Text), 200)
		}
		how := ""
		switch {
		case d.Refused != "":
		case d.Midway:
			how = "while it works"
		case d.Anew:
			how = "in a new session"
		default:
			how = "with its next prompt"
		}
		return said, facts{{"by", d.By + " (" + d.Door + ")"}, {"with it", sayAttached(d.Attached)}, {"delivered", how}, {"nobody reads it", d.Refused}}
	})
}

// sayHeard says what became of a message that an agent was to get while it works.
func sayHeard(e work.Event) (string, facts, error) {
	return telling(e, func(d orchestrator.TellFinishedData) (string, facts) {
		if d.Taken {
			return "its agent has message " + d.ID + ", while it works", nil
		}
		return "its agent gets message " + d.ID + " with its next prompt", facts{{"why", d.Why}}
	})
}

func describeHeard(e work.Event) (log.Level, string, []any) {
	return describeAs(e, func(d orchestrator.TellFinishedData) (log.Level, string, []any) {
		if d.Taken {
			return log.InfoLevel, "delivered while it works", []any{"message", d.ID}
		}
		return log.InfoLevel, "delivered with the next prompt", []any{"message", d.ID, "why", d.Why}
	})
}

// describeTold says it in one line, as it happens.
func describeTold(e work.Event) (log.Level, string, []any) {
	return describeAs(e, func(d orchestrator.ToldData) (log.Level, string, []any) {
		if d.Refused != "" {
			return log.WarnLevel, "a message that nobody reads", []any{"why", d.Refused, "by", d.By, "door", d.Door}
		}
		if text.Blank(d.Text) {
			return log.InfoLevel, "a new session is asked for", []any{"by", d.By, "door", d.Door, "now", d.Now}
		}
		facts := []any{"by", d.By, "door", d.Door, "now", d.Now, "midway", d.Midway}
		if len(d.Attached) > 0 {
			facts = append(facts, "with", sayAttached(d.Attached))
		}
		return log.InfoLevel, "told: " + text.FirstLine(text.Plain(d.Text), 200), facts
	})
}

// sayAttached names what goes with a message, and the snapshot that it was read from.
func sayAttached(all []work.Attached) string {
	var parts []string
	for _, a := range all {
		part := text.OneLine(a.String(), 120)
		if a.Commit != "" {
			part += " at " + text.Short(a.Commit)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
