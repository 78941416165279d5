package orchestrator

import (
	"encoding/json"
	"fmt"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// Spec is what a run was opened with: resolved once, recorded with
// run.started, and read from there ever after.
type Spec struct {
	Plan     work.Plan     `json:"plan"`
	Settings work.Settings `json:"settings"`
	Job      *work.Job     `json:"job,omitempty"` // instead of a plan
	Policy   gates.Policy  `json:"policy"`
	// Levels are those that phases and agents have of their own, by name.
	Levels map[string]gates.Policy `json:"levels,omitempty"`
	// Issue is what the run works on; nil = it is no issue's run.
	Issue *work.IssueBrief `json:"issue,omitempty"`
	// Pulls says that boundaries are looked at on a code host; nil = there is none.
	Pulls *work.PullSettings `json:"pulls,omitempty"`
	// Host is where the home's part of a result of several repositories is proposed;
	// nil = the targets are moved here.
	Host *work.PullSettings `json:"host,omitempty"`
	// Bound is what no later choice of a level may pass: the meet of the
	// ceiling and all parents. nil = nothing bounds it.
	Bound *gates.Policy `json:"bound,omitempty"`
	Base  work.Base     `json:"base"`
	// Trusted is the commit whose evidence every proof is held against; "" = the
	// base, as in runs of earlier releases.
	Trusted string `json:"trusted,omitempty"`
	Branch  string `json:"branch"` // of the result, in the user's repository
	// Repositories are those that phases work in beside the home.
	Repositories []work.Repository `json:"repositories,omitempty"`
	// Only are the phases to run; the others count as done. Empty = all.
	Only []string `json:"only,omitempty"`
	// AnswerYes is --yes: phase start, iteration and sub-phase questions are
	// answered by the flag instead of a person.
	AnswerYes bool `json:"answer_yes,omitempty"`
	NoMerge   bool `json:"no_merge,omitempty"`
	// Fresh is --fresh: no earlier verify stands for one of this run.
	Fresh bool `json:"fresh,omitempty"`
	// Fork is what the run goes on from; nil = it began by itself.
	Fork *Fork `json:"fork,omitempty"`
	// Digest of the configuration and plan files, to notice later edits.
	Digest string `json:"digest,omitempty"`
}

// RunStartedData is the payload of run.started. Spec is nil when it is larger
// than an event may be; then Blob names it.
type RunStartedData struct {
	Spec   *Spec  `json:"spec,omitempty"`
	Blob   string `json:"blob,omitempty"`
	Policy string `json:"policy"` // version
	Level  string `json:"level"`  // preset
	Branch string `json:"branch"`
	Base   string `json:"base"`
	Phases int    `json:"phases"`
	Fork   string `json:"fork,omitempty"` // run, phase and iteration that it goes on from
	Core   string `json:"core,omitempty"` // version of the core that began it; "" = one before versions were noted
}

// RunResumedData is the payload of run.resumed.
type RunResumedData struct {
	By      string         `json:"by,omitempty"`
	Budgets map[string]int `json:"budgets,omitempty"` // widened
	Cost    *work.Cost     `json:"cost,omitempty"`    // caps raised
	// MaxPhases lets a job have more phases; 0 = as many as before.
	MaxPhases int `json:"max_phases,omitempty"`
	// AcceptUnknown says that a person saw that usage is unknown under a cap
	// and lets the run go on.
	AcceptUnknown bool `json:"accept_unknown,omitempty"`
	// Fresh is --fresh: no earlier verify stands for one of the run from now on.
	Fresh bool `json:"fresh,omitempty"`
}

// RunStoppingData is the payload of run.stopping: nothing new is started.
type RunStoppingData struct {
	Outcome work.RunOutcome `json:"outcome"`
	Reason  string          `json:"reason"`
}

// PhaseStartedData is the payload of phase.started.
type PhaseStartedData struct {
	Name   string `json:"name"`
	Base   string `json:"base"`
	Agent  string `json:"agent"`
	Budget int    `json:"budget"`
	Parent string `json:"parent,omitempty"`
	// Repository is the one that it works in; "" = the home.
	Repository string `json:"repository,omitempty"`
}

// PhaseReopenedData is the payload of phase.reopened.
type PhaseReopenedData struct {
	Why    string `json:"why"` // resume, final, rewind
	Budget int    `json:"budget"`
}

// EffectData is the payload of started events that need no more than an id.
type EffectData struct {
	Command work.CommandID `json:"command"`
}

// FolderFinishedData is the payload of folder.finished.
type FolderFinishedData struct {
	Command work.CommandID `json:"command"`
	OK      bool           `json:"ok"`
	Problem string         `json:"problem,omitempty"`
	Output  string         `json:"output,omitempty"`
}

// MergeFinishedData is the payload of merge.finished.
type MergeFinishedData struct {
	Command   work.CommandID `json:"command"`
	Head      string         `json:"head"` // run head it was merged onto
	Moved     bool           `json:"moved"`
	Tree      string         `json:"tree"`
	Commit    string         `json:"commit"` // holds the tree; parents head and snapshot when moved
	Conflicts []string       `json:"conflicts,omitempty"`
	Files     int            `json:"files"` // changed by the phase
	// Differs are the files of the phase's change, of a reviewed phase, whose
	// content is not the reviewed one.
	Differs []string `json:"differs,omitempty"`
	// Paths, in an issue's run, are marks of the files that the phase changed;
	// none although Files says some: there are too many to tell.
	Paths []string `json:"paths,omitempty"`
	// Resolved says that an agent resolved conflicts in it.
	Resolved bool `json:"resolved,omitempty"`
	// Train is the batch that it was merged in, behind those before it; 0 = alone.
	Train int `json:"train,omitempty"`
}

// PhaseMergedData is the payload of phase.merged.
type PhaseMergedData struct {
	Command work.CommandID `json:"id"`
	Commit  string         `json:"commit"`
	Empty   bool           `json:"empty,omitempty"`
	Files   int            `json:"files"`
	Pull    int64          `json:"pull,omitempty"` // the pull request that it was merged by
	// Train is the batch that it landed in, before the last one of it: the branch
	// moved past this commit at once.
	Train int `json:"train,omitempty"`
}

// SubPhaseSpawnedData is the payload of subphase.spawned; the event's phase is
// the parent.
type SubPhaseSpawnedData struct {
	Number  string               `json:"number"`
	Request work.SubPhaseRequest `json:"request"`
	// Task is the part of the split phase that it does, and Verify are the
	// commands that prove it instead of the project's.
	Task   string   `json:"task,omitempty"`
	Verify []string `json:"verify,omitempty"`
}

// SubPhaseFoldedData is the payload of subphase.folded.
type SubPhaseFoldedData struct {
	Number  string            `json:"number"`
	Outcome work.PhaseOutcome `json:"outcome"`
	Reason  work.Reason       `json:"reason,omitempty"`
	Commit  string            `json:"commit,omitempty"`
	Spent   int               `json:"spent"`
}

// CheckpointAnsweredData is the payload of checkpoint.answered.
type CheckpointAnsweredData struct {
	ID     string                `json:"id"`
	Status work.CheckpointStatus `json:"status"`
	Choice string                `json:"choice,omitempty"`
	Reason string                `json:"reason,omitempty"` // the person's comment
	By     string                `json:"by"`
	Door   string                `json:"door"`
	// Heard and Threads are as in work.Answer.
	Heard   []string `json:"heard,omitempty"`
	Threads []string `json:"threads,omitempty"`
	// FollowUps are what comments on lines of approved work leave for later.
	FollowUps []string `json:"follow_ups,omitempty"`
	// Refused says why an answer changed nothing.
	Refused string `json:"refused,omitempty"`
}

// CheckpointOverdueData is the payload of checkpoint.expired: nobody answered in
// time, so the work stays held, and the same is asked again.
type CheckpointOverdueData struct {
	ID    string `json:"id"`
	Again string `json:"again"` // the checkpoint that asks now
}

// OutageData is the payload of outage.began and outage.ended.
type OutageData struct {
	Until  time.Time `json:"until,omitzero"`
	Detail string    `json:"detail,omitempty"`
	Tries  int       `json:"tries,omitempty"`
	// Agent is not called before Away, after so many AwayTries where it is one of
	// several.
	Agent     string    `json:"agent,omitempty"`
	Away      time.Time `json:"away,omitzero"`
	AwayTries int       `json:"away_tries,omitempty"`
}

// DeliverFinishedData is the payload of deliver.finished.
type DeliverFinishedData struct {
	Command  work.CommandID `json:"command"`
	Delivery work.Delivery  `json:"delivery"`
}

// PolicyChangedData is the payload of policy.changed: it holds from the next
// decision on.
type PolicyChangedData struct {
	Policy  gates.Policy `json:"policy"`
	Version string       `json:"version"`
	Level   string       `json:"level"` // its preset
	Bounded []string     `json:"bounded,omitempty"`
	By      string       `json:"by"`
	Door    string       `json:"door"`
}

// WarnedData is the payload of warned: something a person should know that
// changes nothing by itself.
type WarnedData struct {
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
}

func decode(e work.Event, into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("read event %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}
