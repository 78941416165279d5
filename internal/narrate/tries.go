package narrate

import (
	"fmt"
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayTries tells of a phase that is tried several times: by whom, which try is
// ended, which one is taken, and why no other is.
func sayTries(e work.Event) (string, facts, error) {
	switch e.Kind {
	case work.TriesBegan:
		return telling(e, func(d orchestrator.TriesBeganData) (string, facts) {
			var who []string
			for _, t := range d.Tries {
				who = append(who, strings.TrimSpace(t.Number+" by "+t.Agent+" "+t.Model))
			}
			return "tried " + text.Number(len(d.Tries), "time") + " side by side", facts{{"tries", strings.Join(who, ", ")}, {"taken is", d.Until}}
		})
	case work.TryStopped:
		return telling(e, func(d orchestrator.TryStoppedData) (string, facts) {
			return "this try is ended: " + d.Why, nil
		})
	case work.CouncilBegan:
		return telling(e, func(d orchestrator.CouncilBeganData) (string, facts) {
			said := facts{}
			for i, v := range d.Voters {
				said = append(said, [2]string{fmt.Sprintf("worker %d", i+1), strings.TrimSpace(v.Agent+" "+v.Model) + " about " + strings.Join(v.Of, ", ")})
			}
			return text.Number(len(d.Voters), "worker") + " to judge the tries of the others, without knowing whose they are", said
		})
	case work.VoteFinished:
		return telling(e, sayVote)
	case work.SynthesisBegan:
		return telling(e, func(d orchestrator.SynthesisBeganData) (string, facts) {
			return fmt.Sprintf("try %s is made out of %s, by %s", d.Number, strings.Join(d.Of, ", "), strings.TrimSpace(d.Agent+" "+d.Model)), nil
		})
	}
	return telling(e, func(d orchestrator.TryChosenData) (string, facts) {
		said := facts{{"why", d.Why}}
		for _, t := range d.Tries {
			line := strings.TrimPrefix(t.String(), "try "+t.Number)
			if t.Proven && t.Why != "" {
				line += "; " + t.Why
			}
			said = append(said, [2]string{t.Number, strings.TrimPrefix(line, ": ")})
		}
		return fmt.Sprintf("try %s is taken, by %s", d.Number, deciderWords(d.By)), said
	})
}

// sayVote is what one worker said of the others' tries.
func sayVote(d orchestrator.VoteFinishedData) (string, facts) {
	if len(d.Scores) == 0 {
		return fmt.Sprintf("worker %d has no vote: %s", d.Voter, d.Why), nil
	}
	var said facts
	for i, s := range d.Scores {
		if i < len(d.Of) {
			said = append(said, [2]string{d.Of[i], strings.TrimSpace(fmt.Sprintf("%d of %d points. %s", s.Score, work.MostScore, s.Critique))})
		}
	}
	return fmt.Sprintf("worker %d has judged %s", d.Voter, strings.Join(d.Of, ", ")), said
}

// describeTries is a line of the log about the tries of a phase.
func describeTries(e work.Event) (log.Level, string, []any) {
	head, said, err := sayTries(e)
	if err != nil {
		return log.ErrorLevel, strings.TrimSpace(err.Error()), nil
	}
	var pairs []any
	for _, f := range said {
		if f[1] != "" && len(pairs) < 6 {
			pairs = append(pairs, f[0], f[1])
		}
	}
	return log.InfoLevel, head, pairs
}
