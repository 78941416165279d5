package narrate

import (
	"cmp"
	"fmt"

	"forge/factory/triage"
	"forge/internal/text"
	"forge/internal/work"
)

// SayOfTriage puts the events of triage into words.
func SayOfTriage(e work.Event) (string, facts, error) {
	switch e.Kind {
	case triage.Started:
		return telling(e, func(d triage.StartedData) (string, facts) {
			return fmt.Sprintf("triage of issue %d began", d.Issue), facts{{"level", d.Level}, {"policy", d.Policy}}
		})
	case triage.Inferred:
		return telling(e, func(d triage.InferredData) (string, facts) {
			confidence := "unknown"
			if d.Value.Confidence != nil {
				confidence = fmt.Sprint(*d.Value.Confidence)
			}
			return fmt.Sprintf("%s, said by %s", d.Target, d.By), facts{{"says", cmp.Or(d.Value.Summary, d.Value.Question)}, {"sure", confidence}}
		})
	case triage.CombinedInferred:
		return telling(e, func(d triage.CombinedData) (string, facts) {
			return "all three came from one call, paid for once", facts{{"usage", usageWords(d.Usage)}}
		})
	case triage.InferenceFinished:
		return telling(e, func(d triage.InferenceFinishedData) (string, facts) {
			head := "an answer came"
			if !d.OK {
				head = "an answer that cannot be used"
			}
			return head, facts{{"from", d.Model}, {"why", d.Problem}, {"usage", usageWords(d.Usage)}, {"answer", d.Answer}}
		})
	case triage.SpawnFinished:
		return telling(e, func(d triage.SpawnFinishedData) (string, facts) {
			if d.Problem != "" {
				return fmt.Sprintf("part %d could not be created", d.Part), facts{{"why", d.Problem}}
			}
			return fmt.Sprintf("part %d is issue #%d", d.Part, d.Issue), nil
		})
	case triage.CleanupFinished:
		return telling(e, func(d triage.CleanupFinishedData) (string, facts) {
			if d.Problem != "" {
				return "cleaning up failed", facts{{"why", d.Problem}}
			}
			return "cleaned up", facts{{"cancelled", Hashes(d.Cancelled)}}
		})
	}
	return "", nil, nil
}

func usageWords(u work.Usage) string {
	cost, tokens := "cost unknown", "tokens unknown"
	if u.CostUSD != nil {
		cost = text.USD(*u.CostUSD)
	}
	if n, ok := u.Tokens(); ok {
		tokens = fmt.Sprintf("%d tokens", n)
	}
	return cost + ", " + tokens
}
