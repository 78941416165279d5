package narrate

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"forge/internal/stuck"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// TellWidth is how wide forge why writes, in characters; tellIndent is where
// what belongs to an entry begins.
const (
	TellWidth  = 100
	tellIndent = 17
)

// Teller writes events as entries: time, phase, what happened, and below it
// from which facts. Its writer keeps its first error.
type Teller struct {
	Out    *bufio.Writer
	Policy string            // version of the run's policy, said once
	Least  map[string]string // checkpoint → which policy would have spared it
	day    string
}

// Tell writes one event; what says nothing to a person is left out.
func (t *Teller) Tell(e work.Event) error {
	head, facts, err := Say(e)
	if err != nil || head == "" {
		return err
	}
	if e.Kind == work.CheckpointOpened {
		var cp work.Checkpoint
		if err := work.Decode(e, &cp); err != nil {
			return err
		}
		facts = append(facts, [2]string{"unasked", t.Least[cp.ID]})
	}
	at := e.Time.Local()
	if day := at.Format(time.DateOnly); day != t.day {
		t.day = day
		fmt.Fprintf(t.Out, "\n%s\n", day)
	}
	phase := e.Phase
	if phase == "" {
		phase = "run"
	}
	t.Wrap(fmt.Sprintf("%s  %-*s", at.Format(time.TimeOnly), tellIndent-len("15:04:05  "), text.OneLine(phase, tellIndent-len("15:04:05  ")-1)), head)
	for _, f := range facts {
		switch {
		case f[1] == "", f[0] == "policy" && f[1] == t.Policy:
			continue
		case f[0] == "policy":
			f[1] = "version " + text.Short(f[1])
		}
		t.Wrap(fmt.Sprintf("%*s%-7s ", tellIndent, "", f[0]), f[1])
	}
	return nil
}

// Plain says that an event tells a person nothing new: that nobody had to decide,
// and the work went on.
func Plain(e work.Event) bool {
	var d work.GateDecidedData
	if e.Kind != work.GateDecided || work.Decode(e, &d) != nil {
		return false
	}
	if strings.HasPrefix(d.By, "person:") || d.Comment != "" || d.Commit != "" || len(d.Failed) > 0 {
		return false
	}
	switch d.Decision {
	case "go", "land", "claimed":
		return true
	}
	return false
}

// Wrap writes text after lead, further lines below its beginning.
func (t *Teller) Wrap(lead, body string) {
	under := strings.Repeat(" ", utf8.RuneCountInString(lead))
	for _, line := range strings.Split(strings.TrimRight(text.Harmless(body), "\n"), "\n") {
		for _, part := range text.Fold(line, TellWidth-len(under)) {
			fmt.Fprintln(t.Out, strings.TrimRight(lead+part, " "))
			lead = under
		}
	}
}

// facts are labelled lines below an entry; empty ones are left out.
type facts [][2]string

// Say puts an event into words.
func Say(e work.Event) (head string, below facts, err error) {
	switch e.Kind {
	case work.GateDecided:
		return telling(e, sayGate)
	case work.CheckpointOpened:
		return telling(e, func(d work.Checkpoint) (string, facts) {
			return "a person is asked: " + d.Question, facts{{"id", d.ID + ", revision " + fmt.Sprint(d.Revision)}, {"facts", d.Facts}}
		})
	case work.CheckpointAnswered:
		return telling(e, sayAnswer)
	case work.PullDecided:
		return telling(e, func(d orchestrator.PullDecidedData) (string, facts) {
			if d.Reason == "" || d.Decision == "look" {
				return "", nil
			}
			return "on the host: " + d.Reason, nil
		})
	case work.CheckpointOverdue:
		return telling(e, func(d orchestrator.CheckpointOverdueData) (string, facts) {
			return "nobody answered in time: it still waits, and is asked again", facts{{"id", d.ID}, {"again", d.Again}}
		})
	case work.IterationFinished:
		return telling(e, func(d work.IterationFinishedData) (string, facts) { return sayIteration(e, d) })
	case work.VerifyFinished:
		return telling(e, sayVerify)
	case work.ControlFinished:
		return telling(e, sayControl)
	case work.RestFinished:
		return telling(e, sayRest)
	case work.RunStarted:
		return telling(e, func(d orchestrator.RunStartedData) (string, facts) {
			if d.Phases == 0 {
				return fmt.Sprintf("the job started: base %s, policy %s", text.Short(d.Base), cmp.Or(d.Level, "of its own")), nil
			}
			f := facts{{"goes on from", d.Fork}}
			if d.Spec != nil && d.Spec.Issue != nil {
				f = append(f, [2]string{"by label", strings.Join(d.Spec.Issue.ByLabel, "; ")})
			}
			return fmt.Sprintf("started: %s, base %s, policy %s", text.Number(d.Phases, "phase"), text.Short(d.Base), cmp.Or(d.Level, "of its own")), f
		})
	case work.RunResumed:
		return telling(e, func(d orchestrator.RunResumedData) (string, facts) {
			f := facts{}
			for _, n := range slices.Sorted(maps.Keys(d.Budgets)) {
				f = append(f, [2]string{"budget", fmt.Sprintf("phase %s has %d iterations", n, d.Budgets[n])})
			}
			if d.Cost != nil {
				f = append(f, [2]string{"cost", "caps were raised"})
			}
			if d.Fresh {
				f = append(f, [2]string{"fresh", "what was proven before is proven again"})
			}
			return "resumed by " + d.By, f
		})
	case work.RunStopping:
		return telling(e, func(d orchestrator.RunStoppingData) (string, facts) {
			return "stops: " + string(d.Outcome), facts{{"why", d.Reason}}
		})
	case work.RunFinished:
		return telling(e, func(d work.RunFinishedData) (string, facts) {
			return "the process left the run: " + string(d.Outcome), facts{{"why", d.Reason}, {"result", d.Branch}}
		})
	case work.TogetherFinished, work.TogetherDecided:
		return sayTogether(e)
	case work.DeliverFinished:
		return telling(e, func(d orchestrator.DeliverFinishedData) (string, facts) {
			if d.Delivery.FastForwarded {
				return "result delivered to " + d.Delivery.Branch + ", the checked-out branch was moved to it", nil
			}
			return "result delivered to " + d.Delivery.Branch + ", not merged", facts{{"why", d.Delivery.Reason}}
		})
	}
	return sayPhase(e)
}

// sayPhase puts the events of a phase's way into words.
func sayPhase(e work.Event) (string, facts, error) {
	switch e.Kind {
	case work.PhaseStarted:
		return telling(e, func(d orchestrator.PhaseStartedData) (string, facts) {
			in := facts{}
			if d.Repository != "" {
				in = facts{{"repository", d.Repository}}
			}
			return fmt.Sprintf("started %q: agent %s, budget %d, base %s", d.Name, d.Agent, d.Budget, text.Short(d.Base)), in
		})
	case work.PhaseReopened:
		return telling(e, func(d orchestrator.PhaseReopenedData) (string, facts) {
			return fmt.Sprintf("opened again (%s), budget %d", d.Why, d.Budget), nil
		})
	case work.PhaseMerged:
		return telling(e, func(d orchestrator.PhaseMergedData) (string, facts) {
			if d.Empty {
				return "merged: nothing changed", nil
			}
			return fmt.Sprintf("merged as %s, %s", text.Short(d.Commit), text.Number(d.Files, "file")), nil
		})
	case work.PhaseFinished:
		return telling(e, func(d work.PhaseFinishedData) (string, facts) {
			head := string(d.Outcome)
			if d.Reason != "" {
				head += ": " + string(d.Reason)
			}
			if d.Cause != "" {
				head += " (phase " + d.Cause + ")"
			}
			return head, append(facts{{"detail", d.Detail}, {"proof", string(d.Proof)}}, explained(string(d.Reason))...)
		})
	case work.FolderFinished:
		return telling(e, func(d orchestrator.FolderFinishedData) (string, facts) {
			if d.OK {
				return "", nil
			}
			return "its folder could not be made ready", facts{{"problem", d.Problem}, {"output", tailOf(d.Output)}}
		})
	case work.MergeFinished:
		return telling(e, func(d orchestrator.MergeFinishedData) (string, facts) {
			if len(d.Conflicts) == 0 {
				return "", nil
			}
			return "conflicts with the run's head", facts{{"files", strings.Join(d.Conflicts, ", ")}}
		})
	case work.TrainStarted, work.TrainFinished, work.TrainDecided:
		return sayTrain(e)
	case work.TriesBegan, work.TryStopped, work.TryChosen, work.CouncilBegan, work.VoteFinished, work.SynthesisBegan:
		return sayTries(e)
	case work.SubPhaseSpawned:
		return telling(e, func(d orchestrator.SubPhaseSpawnedData) (string, facts) {
			return fmt.Sprintf("spawned sub-phase %s %q, budget %d", d.Number, d.Request.Name, d.Request.Budget), nil
		})
	case work.SubPhaseFolded:
		return telling(e, func(d orchestrator.SubPhaseFoldedData) (string, facts) {
			return fmt.Sprintf("sub-phase %s ended %s %s, %s", d.Number, d.Outcome, d.Reason, text.Number(d.Spent, "iteration")), nil
		})
	case work.HookFinished:
		return telling(e, sayHook)
	case work.OutageBegan:
		return telling(e, func(d orchestrator.OutageData) (string, facts) {
			return "the provider is out, asked again at " + d.Until.Local().Format(time.TimeOnly), facts{{"detail", d.Detail}}
		})
	case work.AgentSwitched:
		return telling(e, func(d orchestrator.AgentSwitchedData) (string, facts) {
			said := facts{{"why", d.Why}}
			if !d.Until.IsZero() {
				said = append(said, [2]string{"asked again", d.Until.Local().Format(time.TimeOnly)})
			}
			return "agent " + d.To + " goes on in place of " + d.From, said
		})
	case work.PolicyChanged:
		return sayPolicy(e)
	case work.PhaseTold:
		return sayTold(e)
	case work.TellFinished:
		return sayHeard(e)
	case work.RewindAsked, work.PhaseRewound:
		return sayRewind(e)
	case work.PhaseAdded, work.JobDecided:
		return sayJob(e)
	case work.ReviewFinished, work.ArbiterFinished, work.ArbiterDecided:
		return sayOfReviews(e)
	case work.CriteriaAnswered, work.CriterionEvidenced, work.PromotionDecided:
		return sayOfIssue(e)
	case work.LandingDecided:
		return sayLanding(e)
	case work.Warned:
		return telling(e, func(d orchestrator.WarnedData) (string, facts) {
			return "note: " + d.What, facts{{"detail", d.Detail}}
		})
	}
	return SayOfTriage(e)
}

func telling[T any](e work.Event, words func(T) (string, facts)) (string, facts, error) {
	var d T
	if err := work.Decode(e, &d); err != nil {
		return "", nil, err
	}
	head, below := words(d)
	return head, below, nil
}

func sayGate(d work.GateDecidedData) (string, facts) {
	if d.Decision == "ask" {
		d.Reason = "" // the question, which the checkpoint repeats
	}
	if d.Comment != "" && strings.HasPrefix(d.By, "person:") {
		d.Reason = "" // how the comment begins
	}
	head, exact := d.Gate+" → "+d.Decision, ""
	if words := gateWords(d.Gate, d.Decision); words != "" {
		head, exact = words, head
	}
	return head, facts{
		{"exact", exact}, {"by", deciderWords(d.By)}, {"policy", d.Policy}, {"passed", strings.Join(d.Passed, ", ")}, {"failed", strings.Join(d.Failed, ", ")},
		{"facts", d.Facts}, {"why", d.Reason}, {"comment", d.Comment},
	}
}

func sayAnswer(d orchestrator.CheckpointAnsweredData) (string, facts) {
	head := fmt.Sprintf("answered: %s by %s (%s)", answerWord(d), d.By, d.Door)
	if d.Refused != "" {
		head = "an answer by " + d.By + " (" + d.Door + ") was refused: " + d.Refused
	}
	return head, facts{{"id", d.ID}, {"comment", d.Reason}}
}

// answerWord is what a person answered: the choice where one was named, since
// its answer alone may say the opposite.
func answerWord(d orchestrator.CheckpointAnsweredData) string {
	if d.Choice != "" && d.Refused == "" {
		return d.Choice
	}
	if d.Status == work.CheckpointChangesRequested { // which may be a yes: start it, with this
		return "with a comment for the agent"
	}
	return strings.ReplaceAll(string(d.Status), "_", " ")
}

// failingTests are the tests that the agent saw fail last.
func failingTests(t *stuck.Trace) string {
	switch {
	case t == nil || !t.Tested:
		return ""
	case len(t.Failing) == 0:
		return "none failed when it last ran them"
	}
	return fmt.Sprintf("%s failed when it last ran them: %s", text.Number(len(t.Failing), "test"), text.OneLine(strings.Join(t.Failing, ", "), 200))
}

func sayIteration(e work.Event, d work.IterationFinishedData) (string, facts) {
	head := fmt.Sprintf("iteration %d: %s, %s changed", e.Iteration, d.Outcome, text.Number(d.Files, "file"))
	if e.Attempt > 1 {
		head += fmt.Sprintf(" (attempt %d)", e.Attempt)
	}
	if d.Usage.CostUSD != nil {
		head += ", " + text.USD(*d.Usage.CostUSD)
	}
	f := facts{{"detail", d.Detail}, {"claimed", strings.Join(d.Claims, " | ")}, {"asks", questions(d.Signals)},
		{"assumed", strings.Join(d.Signals.Assumptions, " | ")}, {"lesson", lessons(d.Signals)}, {"blocker", strings.Join(d.Signals.Blockers, " | ")},
		{"pivot", strings.Join(d.Signals.Pivots, " | ")}, {"waiting", strings.Join(d.Signals.Waiting, " | ")}, {"tests", failingTests(d.Trace)}, {"refused by sandbox.network", strings.Join(work.Refusals(d.Network), ", ")}, {"denied", strings.Join(d.Denied, " | ")}, {"dropped", strings.Join(d.Dropped, ", ")}}
	if n := len(d.Signals.Progress); n > 0 {
		f = append(f, [2]string{"progress", fmt.Sprintf("%v %% by its own word", d.Signals.Progress[n-1])})
	}
	if d.Left > 0 {
		f = append(f, [2]string{"left", "processes that it left behind and that were ended: " + fmt.Sprint(d.Left)})
	}
	return head, f
}

func questions(sig work.Signals) string {
	var all []string
	for _, q := range sig.Questions {
		all = append(all, q.Text)
	}
	return strings.Join(all, " | ")
}

// tailOf is the end of an output: the last lines say what went wrong.
func tailOf(output string) string {
	const most = 12
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if len(lines) > most {
		lines = append([]string{fmt.Sprintf("… %d lines before", len(lines)-most)}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}
