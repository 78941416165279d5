package triage

import (
	"encoding/json"
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// State is a thread as its events tell it.
type State struct {
	Thread string `json:"thread"`
	Spec   Spec   `json:"spec"`
	Seq    int64  `json:"seq"`

	Live    bool            `json:"live"` // a process goes on with it
	Outcome work.RunOutcome `json:"outcome,omitempty"`
	Reason  string          `json:"reason,omitempty"`

	Policy  gates.Policy `json:"policy"` // from now on
	version string

	Stages [3]Stage         `json:"stages"` // in the order of gates.Targets
	Open   *work.Checkpoint `json:"open,omitempty"`
	Opened int              `json:"opened"` // checkpoints so far
	Hold   string           `json:"hold,omitempty"`

	// Call is the inference that began and has not ended.
	Call  *Call `json:"call,omitempty"`
	Calls int   `json:"calls"`
	// SpentUSD is what calls consumed; one that did not report counts as what
	// was set aside for it. Silent says that there was one.
	SpentUSD float64 `json:"spent_usd"`
	Silent   bool    `json:"silent,omitempty"`
	// Outage is a service that is waited for; nil = none is.
	Outage *Outage `json:"outage,omitempty"`
	// Nobody says why no model may be asked any more; "" = one may.
	Nobody  string  `json:"nobody,omitempty"`
	Refusal Refusal `json:"refusal,omitzero"`

	Dismissed string  `json:"dismissed,omitempty"` // by whom and why
	Children  []int64 `json:"children,omitempty"`  // that were created, in the order of the parts
	Spawning  int     `json:"spawning,omitempty"`  // the part that began and has not ended, from 1
	Stuck     string  `json:"stuck,omitempty"`     // why a part could not be created
	Enough    bool    `json:"enough,omitempty"`    // a person goes on with the parts that there are
	Cleanup   Cleanup `json:"cleanup,omitzero"`
}

// Stage is one target: intent, context or action.
type Stage struct {
	Value     *Value   `json:"value,omitempty"`
	By        string   `json:"by,omitempty"`     // who said Value
	Judged    string   `json:"judged,omitempty"` // surface, clarify: a person has to look at it
	Failed    []string `json:"failed,omitempty"` // the axes that keep it
	Confirmed bool     `json:"confirmed,omitempty"`
	Asked     int      `json:"asked"`              // inferences that began
	Unusable  int      `json:"unusable,omitempty"` // answers in a row
	Problem   string   `json:"problem,omitempty"`  // with the last answer
	Revision  int      `json:"revision,omitempty"` // questions to a person so far
	Notes     []Note   `json:"notes,omitempty"`
}

// Note is what a person said at a stage.
type Note struct {
	By   string `json:"by"`
	Text string `json:"text"`
}

// Call is an inference under way.
type Call struct {
	Command work.CommandID `json:"command"`
	Target  gates.Point    `json:"target"`
	USD     float64        `json:"usd"` // set aside
}

// Refusal is by which gate no model may be asked, and what that saw.
type Refusal struct {
	Gate  string `json:"gate,omitempty"`
	Facts string `json:"facts,omitempty"`
}

// Cleanup is what is left to do when the work was dismissed.
type Cleanup struct {
	Tries   int    `json:"tries,omitempty"`
	Under   bool   `json:"under,omitempty"`
	Done    bool   `json:"done,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// NewState is a thread before its first event.
func NewState(thread string, spec Spec) *State {
	spec = spec.clean()
	return &State{Thread: thread, Spec: spec, Policy: spec.Policy, version: spec.Policy.Version()}
}

// At is the place of the stage that is worked on: the first that is not
// confirmed; 3 when all are.
func (s *State) At() int {
	for i := range s.Stages {
		if !s.Stages[i].Confirmed {
			return i
		}
	}
	return len(s.Stages)
}

// stage is the one of a target, nil for what is none.
func (s *State) stage(target gates.Point) *Stage {
	if i := slices.Index(gates.Targets(), target); i >= 0 {
		return &s.Stages[i]
	}
	return nil
}

// Clone is a state of its own.
func (s *State) Clone() *State {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("copy thread %s: %v", s.Thread, err)) // our own types
	}
	out := &State{}
	if err := json.Unmarshal(raw, out); err != nil {
		panic(fmt.Sprintf("copy thread %s: %v", s.Thread, err))
	}
	for i, st := range s.Stages {
		if st.Value != nil {
			out.Stages[i].Value.SubIssues = slices.Clone(st.Value.SubIssues)
		}
	}
	out.version = s.version
	return out
}

// Apply folds one event. It never decides.
func Apply(s *State, e work.Event) error {
	if e.Seq != s.Seq+1 {
		return fmt.Errorf("apply event %d of %s: %d was due", e.Seq, s.Thread, s.Seq+1)
	}
	if err := apply(s, e); err != nil {
		return fmt.Errorf("apply event %d (%s) of %s: %w", e.Seq, e.Kind, s.Thread, err)
	}
	s.Seq = e.Seq
	return nil
}

func apply(s *State, e work.Event) error {
	switch e.Kind {
	case Started:
		s.Live = true
	case work.RunResumed:
		s.Live, s.Outcome, s.Reason = true, "", ""
		s.spend(nil) // of a call that its process did not live to see
		s.Spawning, s.Cleanup.Under = 0, false
	case work.RunFinished:
		return with(e, func(d work.RunFinishedData) { s.Live, s.Outcome, s.Reason = false, d.Outcome, d.Reason })
	case work.GateDecided:
		return with(e, func(d work.GateDecidedData) { s.decided(e, d) })
	case work.PolicyChanged:
		return with(e, func(d orchestrator.PolicyChangedData) { s.Policy, s.version = d.Policy, d.Version })
	case work.CheckpointOpened:
		return with(e, s.opened)
	case work.CheckpointAnswered:
		return with(e, func(d orchestrator.CheckpointAnsweredData) {
			if d.Refused == "" && s.Open != nil && s.Open.ID == d.ID {
				s.Open = nil
			}
		})
	case InferenceStarted:
		return with(e, func(d InferenceStartedData) {
			s.Call, s.Calls = &Call{Command: d.Command, Target: d.Target, USD: d.ReservedUSD}, s.Calls+1
			if at := s.At(); at < len(s.Stages) {
				s.Stages[at].Asked++
			}
		})
	case InferenceFinished:
		return with(e, s.answered)
	case work.OutageBegan:
		return with(e, func(d orchestrator.OutageData) { s.outage(e.Time, d) })
	case work.CheckpointOverdue:
		return with(e, func(d orchestrator.CheckpointOverdueData) {
			if s.Open != nil && s.Open.ID == d.ID {
				s.Open = nil
			}
		})
	case Inferred:
		return with(e, s.inferred)
	case SubProposed:
		return with(e, func(d SubIssue) {
			if v := s.Stages[2].Value; v != nil {
				v.SubIssues = append(v.SubIssues, d)
			}
		})
	}
	return s.applyEffect(e)
}

// applyEffect folds what was done about a decided action.
func (s *State) applyEffect(e work.Event) error {
	switch e.Kind {
	case SpawnStarted:
		return with(e, func(d SpawnData) { s.Spawning = d.Part })
	case SpawnFinished:
		return with(e, func(d SpawnFinishedData) {
			if s.Spawning, s.Stuck = 0, d.Problem; d.Problem == "" {
				s.Children = append(s.Children, d.Issue)
			}
		})
	case CleanupStarted:
		s.Cleanup.Under, s.Cleanup.Tries = true, s.Cleanup.Tries+1
	case CleanupFinished:
		return with(e, func(d CleanupFinishedData) {
			s.Cleanup.Under, s.Cleanup.Problem, s.Cleanup.Done = false, d.Problem, d.Problem == ""
		})
	}
	return nil
}

func with[T any](e work.Event, do func(T)) error {
	var data T
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	do(data)
	return nil
}

func (s *State) opened(cp work.Checkpoint) {
	s.Open, s.Hold = &cp, ""
	s.Opened++
	if at := s.At(); at < len(s.Stages) {
		s.Stages[at].Revision++
	}
}

// answered takes a call's reservation back, or spends it.
func (s *State) answered(d InferenceFinishedData) {
	if s.Call == nil || s.Call.Command != d.Command {
		return
	}
	s.spend(d.Usage.CostUSD)
	if d.Passing {
		return
	}
	s.Outage = nil
	if at := s.At(); at < len(s.Stages) {
		st := &s.Stages[at]
		st.Problem = d.Problem
		if !d.OK {
			st.Unusable += max(d.Tries, 1)
		}
		if d.GaveUp {
			st.Unusable = max(st.Unusable, maxUnusable)
		}
	}
}

func (s *State) spend(reported *float64) {
	if s.Call == nil {
		return
	}
	held := s.Call.USD
	s.Call = nil
	if reported == nil || !(*reported >= 0) {
		s.SpentUSD, s.Silent = s.SpentUSD+held, true
		return
	}
	s.SpentUSD += *reported
}

func (s *State) inferred(d InferredData) {
	if st := s.stage(d.Target); st != nil {
		v := d.Value
		st.Value, st.By, st.Judged, st.Failed = &v, d.By, "", nil
	}
}

// The words of decisions beside those of gates.
const (
	decideAsk      = "ask"
	decideGo       = "go"
	decideReject   = "reject"
	decideRedirect = "redirect"
	decideAnswer   = "answer"
	decideRetry    = "retry"
	decideAccept   = "accept"
	decideDismiss  = "dismiss"
	decideHold     = "hold"
)

// The gates that are no points of a policy.
const (
	gateTier    = "tier"
	gateBudget  = "budget_usd"
	gateSpawn   = "spawn"
	gateCleanup = "cleanup"
)

// decided folds a decision. What it does not know changes nothing.
func (s *State) decided(e work.Event, d work.GateDecidedData) {
	switch d.Gate {
	case gateTier, gateBudget:
		if d.Decision == decideReject {
			s.Nobody, s.Refusal = d.Reason, Refusal{Gate: d.Gate, Facts: d.Facts}
		}
		return
	case gateSpawn:
		switch d.Decision {
		case decideReject:
			st := &s.Stages[2]
			st.Value, st.Unusable, st.Problem = nil, st.Unusable+1, d.Reason
		case decideRetry:
			s.Stuck = ""
		case decideAccept:
			s.Stuck, s.Enough = "", true
		case decideDismiss:
			s.Dismissed = d.Reason
		}
		return
	case gateCleanup:
		switch d.Decision {
		case decideRetry:
			s.Cleanup.Problem = ""
		case decideAccept:
			s.Cleanup.Done = true
		}
		return
	}
	st := s.stage(gates.Point(d.Gate))
	if st == nil {
		return
	}
	note := func() { st.Notes = append(st.Notes, Note{By: d.By, Text: d.Comment}) }
	switch d.Decision {
	case string(gates.Advance):
		st.Confirmed, st.Judged, st.Unusable, st.Problem = st.Value != nil, "", 0, ""
		if d.Comment != "" {
			note()
		}
	case string(gates.Surface), string(gates.Clarify), decideAsk:
		st.Judged, st.Failed = d.Decision, d.Failed
	case decideRedirect, decideAnswer:
		note()
		s.again(st)
	case decideRetry:
		s.Nobody = ""
		s.again(st)
	case decideHold:
		s.Hold = d.Reason
	case decideDismiss:
		s.Dismissed, s.Open = d.Reason, nil
	}
}

// again lets a stage be inferred anew, and those that were asked about with it.
func (s *State) again(st *Stage) {
	for i := range s.Stages {
		if open := &s.Stages[i]; !open.Confirmed && (open == st || open.Judged == decideAsk) {
			open.again()
		}
	}
}

// again lets a stage be inferred anew.
func (st *Stage) again() {
	st.Value, st.By, st.Judged, st.Failed, st.Unusable = nil, "", "", nil, 0
}
