package narrate

import (
	"cmp"
	"fmt"
	"strings"

	"charm.land/log/v2"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// LogWatcher says in log lines what a person should know as it happens.
type LogWatcher struct {
	Log *log.Logger
	// unproven notes that the word alone counts was said.
	unproven bool
	cold     bool // the next proof begins with empty caches
	warms    bool // what runs on the base is to fill them, and says nothing else
}

// Activity is a line for those who want to be told everything. That the base is
// proven is said to all: it comes before anything else, and may take minutes.
func (w *LogWatcher) Activity(a work.Activity) {
	switch {
	case a.Kind == work.ActivityCold:
		w.cold = true
	case a.Kind == "setup" && a.Phase == work.BasePhase:
		w.Log.Info("setting the base up", "command", a.Text)
	case a.Kind == "verify" && a.Phase == work.BasePhase:
		pairs := []any{"command", a.Text}
		if w.cold {
			pairs = append(pairs, "caches", "empty: later proofs are lent what this one leaves")
		}
		w.cold = false
		w.Log.Info(w.onBase(), pairs...)
	default:
		w.Log.Debug(a.Text, "phase", a.Phase, "is", a.Kind)
	}
}

// onBase says what the commands on the base are run for.
func (w *LogWatcher) onBase() string {
	if w.warms {
		return "filling the caches of the project's tools"
	}
	return "proving the base"
}

// Events writes a line for each event that says something to a person.
func (w *LogWatcher) Events(evs []work.Event, s *orchestrator.State) {
	for _, e := range evs {
		var verify work.VerifyStartedData
		w.warms = w.warms || e.Kind == work.VerifyStarted && work.Decode(e, &verify) == nil && verify.On == work.OnWarm
		level, text, pairs := Describe(e, s)
		if text == "" {
			continue
		}
		if e.Phase != "" {
			pairs = append([]any{"phase", e.Phase}, pairs...)
		}
		w.Log.Log(level, text, pairs...)
		var fin work.PhaseFinishedData
		if e.Kind == work.PhaseFinished && !w.unproven && work.Decode(e, &fin) == nil && fin.Proof == work.ProofClaim {
			w.unproven = true
			w.Log.Warn("there are no verify commands: a phase is done by the agent's word alone, and nothing is merged into your branch by itself", "set", "[verify] commands")
		}
	}
}

// Describe says an event in one line; "" for what only the journal needs.
func Describe(e work.Event, s *orchestrator.State) (log.Level, string, []any) {
	switch e.Kind {
	case work.RunStarted:
		if s.Job != nil {
			return log.InfoLevel, "job " + e.Run + " started", []any{"policy", cmp.Or(s.Spec.Policy.Preset, "of its own")}
		}
		return log.InfoLevel, "run " + e.Run + " started", []any{"policy", cmp.Or(s.Spec.Policy.Preset, "of its own"), "phases", len(s.Spec.Plan.Phases)}
	case work.RunResumed:
		return log.InfoLevel, "run " + e.Run + " resumed", nil
	case work.RunStopping:
		return describeAs(e, func(d orchestrator.RunStoppingData) (log.Level, string, []any) {
			return log.WarnLevel, "stopping", []any{"outcome", d.Outcome, "why", d.Reason}
		})
	case work.PhaseStarted:
		return describeAs(e, func(d orchestrator.PhaseStartedData) (log.Level, string, []any) {
			pairs := []any{"name", d.Name, "agent", d.Agent, "budget", d.Budget}
			if d.Repository != "" {
				pairs = append(pairs, "repository", d.Repository)
			}
			return log.InfoLevel, "started", pairs
		})
	case work.IterationStarted:
		return describeAs(e, func(d work.IterationStartedData) (log.Level, string, []any) {
			pairs := []any{"prompt", d.Prompt}
			if len(d.Told) > 0 {
				pairs = append(pairs, "told", text.Number(len(d.Told), "message"))
			}
			return log.InfoLevel, fmt.Sprintf("iteration %d", e.Iteration), pairs
		})
	case work.IterationFinished:
		return describeAs(e, func(d work.IterationFinishedData) (log.Level, string, []any) {
			pairs := []any{"outcome", d.Outcome, "files", d.Files}
			if len(d.Claims) > 0 {
				pairs = append(pairs, "claims", "done")
			}
			if d.Detail != "" {
				pairs = append(pairs, "detail", d.Detail)
			}
			if d.Usage.CostUSD != nil {
				pairs = append(pairs, "cost", text.USD(*d.Usage.CostUSD))
			}
			level := log.InfoLevel
			if d.Outcome != work.OutcomeOK {
				level = log.WarnLevel
			}
			return level, fmt.Sprintf("iteration %d finished", e.Iteration), pairs
		})
	case work.VerifyFinished:
		return describeAs(e, describeVerify)
	case work.ControlStarted:
		return log.InfoLevel, "asking the test runners", nil
	case work.ControlFinished:
		return describeAs(e, describeControl)
	case work.RestStarted:
		return log.InfoLevel, "asking the test runners what there was no time for", nil
	case work.RestFinished:
		return describeAs(e, describeRest)
	case work.HookFinished:
		return describeAs(e, describeHook)
	case work.GateDecided:
		return describeAs(e, func(d work.GateDecidedData) (log.Level, string, []any) {
			level := log.DebugLevel
			switch {
			case d.Gate == string(gates.PointDecompose):
				level = log.InfoLevel // also of a proposal that cannot be used: the agent is told
			case d.Gate == "stale", d.Decision == "reject", d.Decision == "not_claimed", d.Decision == "resolve", d.Decision == "changed", d.Decision == "disturbed":
				level = log.WarnLevel
			case d.Gate == "review" && d.Decision == "arbiter":
				level = log.WarnLevel
			case d.Gate == string(gates.PointQuestion), d.Gate == string(gates.PointBlocker):
				if level = log.InfoLevel; d.Decision == "decide" || d.Decision == "stop" {
					level = log.WarnLevel
				}
			case d.Gate == "subphase":
				level = log.InfoLevel
			}
			pairs := []any{"why", d.Reason}
			if who, person := strings.CutPrefix(d.By, "person:"); person {
				pairs = append(pairs, "by", who)
			}
			return level, cmp.Or(gateWords(d.Gate, d.Decision), d.Gate+": "+d.Decision), pairs
		})
	case work.CloseFinished:
		return describeAs(e, func(d orchestrator.CloseFinishedData) (log.Level, string, []any) {
			if d.Trouble == nil {
				return log.DebugLevel, "its pull request is closed", []any{"branch", d.Branch}
			}
			return log.WarnLevel, "its pull request may be open still", []any{"branch", d.Branch, "why", d.Trouble.What}
		})
	case work.ReviewStarted, work.ReviewFinished, work.ArbiterDecided:
		return describeReview(e)
	case work.SubPhaseSpawned:
		return describeAs(e, func(d orchestrator.SubPhaseSpawnedData) (log.Level, string, []any) {
			return log.InfoLevel, "sub-phase " + d.Number, []any{"name", d.Request.Name, "budget", d.Request.Budget}
		})
	case work.OutageBegan:
		return describeAs(e, func(d orchestrator.OutageData) (log.Level, string, []any) {
			return log.WarnLevel, "the provider is out", []any{"until", d.Until.Format("15:04:05"), "detail", d.Detail}
		})
	case work.TriesBegan, work.TryStopped, work.TryChosen, work.CouncilBegan, work.VoteFinished, work.SynthesisBegan:
		return describeTries(e)
	case work.TogetherFinished, work.TogetherDecided:
		return describeTogether(e)
	case work.AgentSwitched:
		return describeAs(e, func(d orchestrator.AgentSwitchedData) (log.Level, string, []any) {
			pairs := []any{"why", d.Why}
			if !d.Until.IsZero() {
				pairs = append(pairs, "until", d.Until.Format("15:04:05"))
			}
			return log.WarnLevel, "agent " + d.To + " goes on", pairs
		})
	case work.CheckpointOpened:
		return describeAs(e, func(d work.Checkpoint) (log.Level, string, []any) {
			return log.WarnLevel, "waits for you: " + d.Question, []any{"answer", "forge approve " + d.ID}
		})
	case work.CheckpointAnswered:
		return describeAs(e, func(d orchestrator.CheckpointAnsweredData) (log.Level, string, []any) {
			return log.InfoLevel, "answered: " + answerWord(d) + d.Refused, []any{"by", d.By, "door", d.Door}
		})
	case work.CheckpointOverdue:
		return describeAs(e, func(d orchestrator.CheckpointOverdueData) (log.Level, string, []any) {
			return log.WarnLevel, "nobody answered in time: it still waits, and is asked again", []any{"id", d.ID, "again", d.Again}
		})
	case work.PolicyChanged:
		return describePolicy(e)
	case work.PhaseTold:
		return describeTold(e)
	case work.TellFinished:
		return describeHeard(e)
	case work.RewindAsked, work.PhaseRewound:
		return describeRewind(e)
	case work.PromotionDecided:
		return describeIssue(e)
	case work.PhaseAdded, work.JobDecided:
		return describeJob(e)
	case work.PhaseMerged:
		return describeAs(e, func(d orchestrator.PhaseMergedData) (log.Level, string, []any) {
			if d.Empty {
				return log.InfoLevel, "merged: nothing was changed", nil
			}
			return log.InfoLevel, "merged", []any{"files", d.Files}
		})
	case work.PhaseFinished:
		return describeAs(e, func(d work.PhaseFinishedData) (log.Level, string, []any) {
			pairs := []any{}
			for _, kv := range [][2]string{{"reason", string(d.Reason)}, {"cause", d.Cause}, {"detail", d.Detail}} {
				if kv[1] != "" {
					pairs = append(pairs, kv[0], kv[1])
				}
			}
			if e, ok := work.ExplainProof(string(d.Reason)); ok {
				pairs = append(pairs, "way_out", e.Way)
			}
			level := log.InfoLevel
			if d.Outcome != work.PhaseDone {
				level = log.WarnLevel
			}
			return level, string(d.Outcome), pairs
		})
	case work.TrainDecided:
		return describeTrain(e)
	case work.Warned:
		return describeAs(e, func(d orchestrator.WarnedData) (log.Level, string, []any) {
			return log.WarnLevel, d.What, []any{"detail", d.Detail}
		})
	}
	return log.DebugLevel, "", nil
}

func describeAs[T any](e work.Event, say func(T) (log.Level, string, []any)) (log.Level, string, []any) {
	var d T
	if err := work.Decode(e, &d); err != nil {
		return log.ErrorLevel, strings.TrimSpace(err.Error()), nil
	}
	return say(d)
}
