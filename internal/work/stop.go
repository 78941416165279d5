package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// StopRequest is the body of <checkpoint>: the agent asks for somebody to look
// before it goes on. It can add a stop, never remove one.
type StopRequest struct {
	Type    string   `json:"type"` // deliverable, or one that the project registers
	Summary string   `json:"summary"`
	Paths   []string `json:"paths,omitempty"`
}

// ParseStop reads what a signal found. Unknown fields and empty types are
// errors: what the agent meant is not for Forge to guess.
func ParseStop(raw json.RawMessage) (StopRequest, error) {
	var r StopRequest
	if err := readFields(string(raw), map[string]any{"type": &r.Type, "summary": &r.Summary, "paths": &r.Paths}); err != nil {
		return r, err
	}
	if r.Type = strings.TrimSpace(r.Type); r.Type == "" {
		return r, errors.New("it names no type")
	}
	return r, nil
}

// Completion is the body of <job-complete>: the agent says that a job is over.
type Completion struct {
	Summary      string   `json:"summary"`
	Deliverables []string `json:"deliverables"`
	Confidence   *float64 `json:"confidence"` // nil = unknown
	Notes        string   `json:"notes,omitempty"`
}

// ParseCompletion reads what a signal found. A confidence that is no number
// from 0 to 1 is unknown; any other field of the wrong type is an error.
func ParseCompletion(raw json.RawMessage) (Completion, error) {
	var c Completion
	fields, err := objectFields(string(raw))
	if err != nil {
		return c, err
	}
	for _, f := range fields {
		var target any
		switch f.name {
		case "summary":
			target = &c.Summary
		case "deliverables":
			target = &c.Deliverables
		case "notes":
			target = &c.Notes
		case "confidence":
			var sure float64
			if json.Unmarshal(f.value, &sure) == nil && sure >= 0 && sure <= 1 && string(f.value) != "null" {
				c.Confidence = &sure
			}
			continue
		default:
			return c, fmt.Errorf("unknown field %s", quoted(f.name))
		}
		if json.Unmarshal(f.value, target) != nil {
			return c, fmt.Errorf("%s cannot be %s", f.name, quoted(string(f.value)))
		}
	}
	if strings.TrimSpace(c.Summary) == "" {
		return c, errors.New("it has no summary")
	}
	return c, nil
}
