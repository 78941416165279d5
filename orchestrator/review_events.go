package orchestrator

import (
	"forge/internal/work"
	"forge/review"
)

// ReviewStartedData is the payload of review.started.
type ReviewStartedData struct {
	Command    work.CommandID `json:"command"`
	Specialist string         `json:"specialist"`
	Gating     bool           `json:"gating"`
	Commit     string         `json:"commit"`
	Since      string         `json:"since,omitempty"` // only what differs from this commit is reviewed
	Ask        int            `json:"ask"`             // from 1; above 1 after unknown answers
	Reserved   *float64       `json:"reserved_usd,omitempty"`
}

// ReviewFinishedData is the payload of review.finished. What is clipped here is
// whole in the answer's blob.
type ReviewFinishedData struct {
	Command      work.CommandID `json:"command"`
	Specialist   string         `json:"specialist"`
	Gating       bool           `json:"gating"`
	Commit       string         `json:"commit"`
	Ask          int            `json:"ask"`
	Verdict      work.Verdict   `json:"verdict"`
	Why          string         `json:"why,omitempty"`
	Findings     []work.Finding `json:"findings"`
	Notes        []work.Finding `json:"notes,omitempty"`
	LeftOut      int            `json:"left_out,omitempty"` // findings and notes that are in the blob only
	Hallucinated int            `json:"hallucinated,omitempty"`
	Files        int            `json:"files"`
	Unreviewed   []string       `json:"unreviewed,omitempty"`
	Final        bool           `json:"final,omitempty"`      // unknown, and asking again would not change it
	Confidence   *float64       `json:"confidence,omitempty"` // of its least sure part, 0 to 1; nil = unknown
	Model        string         `json:"model,omitempty"`
	Usage        work.Usage     `json:"usage"`
	Request      string         `json:"request,omitempty"` // blob
	Answer       string         `json:"answer,omitempty"`  // blob
}

// ArbiterStartedData is the payload of arbiter.started: its model is asked.
type ArbiterStartedData struct {
	Command  work.CommandID `json:"command"`
	Model    string         `json:"model"`
	Reserved *float64       `json:"reserved_usd,omitempty"`
}

// ArbiterFinishedData is the payload of arbiter.finished: what its model said.
type ArbiterFinishedData struct {
	Command work.CommandID     `json:"command"`
	Answer  work.ArbiterAnswer `json:"answer"`
}

// ArbiterDecidedData is the payload of arbiter.decided: what follows from the
// reviews by the rules, with the model's own word beside it.
type ArbiterDecidedData struct {
	Verdict    review.Ruling       `json:"verdict"`
	Confidence *float64            `json:"confidence"`
	Reason     review.RulingReason `json:"reason"`
	Attempt    int                 `json:"attempt"` // fixes so far
	Most       int                 `json:"most"`
	Findings   []work.Severity     `json:"findings,omitempty"`
	Unknown    []string            `json:"unknown,omitempty"`   // gating reviewers without a usable answer
	Said       string              `json:"said,omitempty"`      // the model's verdict
	Overruled  bool                `json:"overruled,omitempty"` // it was another one
	Why        string              `json:"why,omitempty"`
}
