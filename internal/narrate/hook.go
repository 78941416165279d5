package narrate

import (
	"fmt"
	"time"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
)

// sayHook puts what a hook said into words.
func sayHook(d work.HookFinishedData) (string, facts) {
	head := fmt.Sprintf("the hook %s: %s", d.Hook, d.Action)
	if d.Millis > 0 {
		head += ", " + (time.Duration(d.Millis) * time.Millisecond).String()
	}
	if d.Usage != nil && d.Usage.CostUSD != nil {
		head += ", " + text.USD(*d.Usage.CostUSD)
	}
	f := facts{{"why", d.Why}, {"the agent is told", d.Tell}}
	if d.Output != d.Tell {
		f = append(f, [2]string{"output", tailOf(d.Output)})
	}
	return head, f
}

// describeHook is the same for the log: what goes on is said where somebody wants
// to know everything.
func describeHook(d work.HookFinishedData) (log.Level, string, []any) {
	level := log.InfoLevel
	if !d.Action.Passes() {
		level = log.WarnLevel
	}
	return level, "hook " + string(d.Event) + ": " + string(d.Action), []any{"hook", d.Hook, "why", d.Why}
}
