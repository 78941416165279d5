package triage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// The kinds of events that a thread has beside those of runs.
const (
	Started           work.EventKind = "triage.started"
	Inferred          work.EventKind = "triage.inferred"
	SubProposed       work.EventKind = "triage.subissue"
	CombinedInferred  work.EventKind = "triage.combined"
	InferenceStarted  work.EventKind = "inference.started"
	InferenceFinished work.EventKind = "inference.finished"
	SpawnStarted      work.EventKind = "spawn.started"
	SpawnFinished     work.EventKind = "spawn.finished"
	CleanupStarted    work.EventKind = "cleanup.started"
	CleanupFinished   work.EventKind = "cleanup.finished"
)

// StartedData is the payload of triage.started. Spec is nil when it is larger
// than an event may be; then Blob names it.
type StartedData struct {
	Spec   *Spec  `json:"spec,omitempty"`
	Blob   string `json:"blob,omitempty"`
	Issue  int64  `json:"issue"`
	Policy string `json:"policy"` // version
	Level  string `json:"level"`  // preset
}

// InferenceStartedData is the payload of inference.started.
type InferenceStartedData struct {
	Command     work.CommandID `json:"command"`
	Target      gates.Point    `json:"target"`
	By          string         `json:"by"`
	Model       string         `json:"model,omitempty"`
	Tier        gates.Tier     `json:"tier"`
	ReservedUSD float64        `json:"reserved_usd"`
}

// InferenceFinishedData is the payload of inference.finished.
type InferenceFinishedData struct {
	Command work.CommandID `json:"command"`
	OK      bool           `json:"ok"`
	Problem string         `json:"problem,omitempty"` // why the answer cannot be used
	Tries   int            `json:"tries,omitempty"`   // 2 = it was sent back once already
	// Passing says that the same is asked again later, GaveUp that it was asked
	// for as long as may be waited.
	Passing bool `json:"passing,omitempty"`
	GaveUp  bool `json:"gave_up,omitempty"`

	Model   string     `json:"model,omitempty"`
	Usage   work.Usage `json:"usage"`
	Request string     `json:"request,omitempty"` // blob: exactly what was asked
	Answer  string     `json:"answer,omitempty"`  // blob: exactly what came back
}

// InferredData is the payload of triage.inferred: what holds at a target until
// it is inferred or edited again. An action's parts follow, an event each.
type InferredData struct {
	Target gates.Point `json:"target"`
	By     string      `json:"by"` // model:name, person:name, rule:name
	Value  Value       `json:"value"`
}

// CombinedData is the payload of triage.combined: three values came from one
// call, which was paid for once.
type CombinedData struct {
	Command     work.CommandID      `json:"command"`
	Targets     []gates.Point       `json:"targets"`
	Confidences map[string]*float64 `json:"confidences"`
	Usage       work.Usage          `json:"usage"`
}

// SpawnData is the payload of spawn.started.
type SpawnData struct {
	Command work.CommandID `json:"command"`
	Part    int            `json:"part"` // from 1
	Key     string         `json:"key"`  // by which the board knows it again
}

// SpawnFinishedData is the payload of spawn.finished.
type SpawnFinishedData struct {
	Command work.CommandID `json:"command"`
	Part    int            `json:"part"`
	Issue   int64          `json:"issue,omitempty"`
	Problem string         `json:"problem,omitempty"`
}

// CleanupData is the payload of cleanup.started.
type CleanupData struct {
	Command work.CommandID `json:"command"`
}

// CleanupFinishedData is the payload of cleanup.finished.
type CleanupFinishedData struct {
	Command   work.CommandID `json:"command"`
	Cancelled []int64        `json:"cancelled,omitempty"` // sub-issues that nobody will work on
	Problem   string         `json:"problem,omitempty"`
}

// decision collects the events of one step.
type decision struct {
	s   *State
	now time.Time
	out []work.Event
}

func (d *decision) add(kind work.EventKind, at gates.Point, data any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		panic(fmt.Sprintf("encode %s: %v", kind, err)) // our own types, cleaned before
	}
	d.out = append(d.out, work.Event{
		V: work.EventVersion, Seq: d.s.Seq + int64(len(d.out)) + 1, Time: d.now.UTC(), Run: d.s.Thread, Kind: kind, Phase: string(at),
		Data: bytes.TrimSuffix(b.Bytes(), []byte("\n")),
	})
}

// gate records a decision at a target, or one about what is to be asked there.
func (d *decision) gate(at gates.Point, data work.GateDecidedData) {
	data.Facts, data.Reason, data.Comment = text.Clip(data.Facts, 1000), text.Clip(data.Reason, 1000), text.Clip(data.Comment, 4000)
	if data.Policy == "" {
		data.Policy = d.s.version
	}
	d.add(work.GateDecided, at, data)
}

// inferred records a value with its parts.
func (d *decision) inferred(target gates.Point, by string, v Value) {
	v = v.tidy()
	d.add(Inferred, target, InferredData{Target: target, By: by, Value: v})
	for _, sub := range v.SubIssues {
		d.add(SubProposed, target, sub)
	}
}
