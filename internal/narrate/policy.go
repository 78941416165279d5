package narrate

import (
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayPolicy puts a change of the run's policy into words, for forge why.
func sayPolicy(e work.Event) (string, facts, error) {
	return telling(e, func(d orchestrator.PolicyChangedData) (string, facts) {
		return "policy → " + policyName(d), facts{
			{"by", d.By + " (" + d.Door + ")"}, {"version", text.Short(d.Version)}, {"bound", strings.Join(d.Bounded, ", ")},
		}
	})
}

// describePolicy says it in one line, as it happens.
func describePolicy(e work.Event) (log.Level, string, []any) {
	return describeAs(e, func(d orchestrator.PolicyChangedData) (log.Level, string, []any) {
		return log.InfoLevel, "the policy is " + policyName(d) + " from here on", []any{"by", d.By, "door", d.Door}
	})
}

// policyName is a policy in one word: its preset, or its version where it is
// none.
func policyName(d orchestrator.PolicyChangedData) string {
	if d.Level == "" {
		return "version " + text.Short(d.Version)
	}
	return d.Level
}
