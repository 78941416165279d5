package narrate

import (
	"fmt"
	"strings"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// sayTogether tells how the results of several repositories are handed over: what
// was decided about all of them, and what came of each step in one.
func sayTogether(e work.Event) (string, facts, error) {
	if e.Kind == work.TogetherDecided {
		return telling(e, func(d orchestrator.TogetherDecidedData) (string, facts) {
			return togetherWords(d), facts{{"order", strings.Join(d.Order, ", ")}, {"why", d.Why}}
		})
	}
	return telling(e, func(d orchestrator.TogetherFinishedData) (string, facts) {
		return stepWords(d), facts{{"commit", text.Short(d.Commit)}, {"pull", d.URL}, {"why", d.Why}, {"undo", d.Undo}}
	})
}

func togetherWords(d orchestrator.TogetherDecidedData) string {
	switch {
	case d.To == orchestrator.TogetherMove:
		return "the result is ready in every repository: all are moved"
	case d.To == orchestrator.TogetherUpdating:
		return "a target went on since the run began: the result is merged with it, and proven so"
	case d.To == orchestrator.TogetherPrepare:
		return "the result is proven with what its targets hold by now: each is prepared again"
	case d.To == orchestrator.TogetherPropose:
		return "the result can be proposed in every repository: a pull request is opened in each"
	case d.To == orchestrator.TogetherLink:
		return "every pull request is open: each is told of the others"
	case d.To == orchestrator.TogetherLook:
		return "every pull request names the others: each is looked at"
	case d.To == orchestrator.TogetherBack:
		return "one repository cannot be moved: those before it are moved back"
	case d.To == orchestrator.TogetherHeld:
		return "the result cannot be handed over as it stands: the run is held"
	case d.Why == "":
		return "every repository is moved"
	}
	return "no repository is moved"
}

func stepWords(d orchestrator.TogetherFinishedData) string {
	words := map[orchestrator.Step][2]string{
		orchestrator.StepPrepare:  {"could not be moved to the result", "is ready to be moved to the result"},
		orchestrator.StepUpdate:   {"has a target that the result does not go together with", "has the result merged with its target, proven"},
		orchestrator.StepPropose:  {"has no pull request of its part", "has a pull request of its part"},
		orchestrator.StepLink:     {"has a pull request that could not be told of the others", "has a pull request that names the others"},
		orchestrator.StepLook:     {"has a pull request that cannot be merged yet", "has a pull request that can be merged"},
		orchestrator.StepMove:     {"was not moved", "was moved to the result"},
		orchestrator.StepTakeBack: {"was not moved back", "was moved back"},
	}[d.Step]
	if d.OK {
		return "the repository " + d.Repository + " " + words[1]
	}
	return "the repository " + d.Repository + " " + words[0]
}

// describeTogether is a line of the log about that.
func describeTogether(e work.Event) (log.Level, string, []any) {
	head, said, err := sayTogether(e)
	if err != nil {
		return log.ErrorLevel, strings.TrimSpace(err.Error()), nil
	}
	level := log.InfoLevel
	var pairs []any
	for _, f := range said {
		if f[1] == "" {
			continue
		}
		if f[0] == "why" {
			level = log.WarnLevel
		}
		pairs = append(pairs, f[0], f[1])
	}
	return level, head, pairs
}

// repositoriesText says where the result of several repositories is.
func repositoriesText(d *work.Delivery) string {
	var b strings.Builder
	switch {
	case d.FastForwarded && d.Repositories[0].Pull != "":
		fmt.Fprintf(&b, "Result: %s, the pull request of each repository was merged.\nNext:   %s\n", d.Branch, d.Next)
	case d.FastForwarded:
		fmt.Fprintf(&b, "Result: %s, the branch of each repository was moved to it.\n", d.Branch)
	default:
		fmt.Fprintf(&b, "Result: %s (no repository was moved: %s)\nMerge:  %s\n", d.Branch, d.Reason, d.Next)
	}
	for _, r := range d.Repositories {
		line := fmt.Sprintf("  %s  %s: git diff %s %s", r.Repository, r.Target, text.Short(r.From), text.Short(r.To))
		if r.Undo != "" {
			line += "; undo: " + r.Undo
		}
		if r.Pull != "" {
			line += "; " + text.HarmlessLine(r.Pull)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
