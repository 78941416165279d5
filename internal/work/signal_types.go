package work

import "encoding/json"

// Signals are the tags found in an agent's words, in the order of their
// appearance.
type Signals struct {
	Promises             []string          `json:"promises"`
	Progress             []float64         `json:"progress"` // percent, 0 to 100
	Blockers             []string          `json:"blockers"`
	Pivots               []string          `json:"pivots"`
	SubPhases            []SubPhaseRequest `json:"subphases"`
	RequestDecomposition bool              `json:"request_decomposition"`
	Decompositions       []Decomposition   `json:"decompositions,omitempty"`
	Checkpoints          []json.RawMessage `json:"checkpoints,omitempty"`
	JobComplete          []json.RawMessage `json:"job_complete,omitempty"`
	Questions            []Question        `json:"questions,omitempty"`
	Assumptions          []string          `json:"assumptions,omitempty"`
	// Waiting is what it waits for: a kind of stuck.WaitKinds, and what follows a colon.
	Waiting []string `json:"waiting,omitempty"`
	// Lacks are those of Blockers that say what they need.
	Lacks []Lack `json:"lacks,omitempty"`
	// Replies are answers to threads that it was told of.
	Replies []ThreadReply `json:"replies,omitempty"`
	// Lessons are what it proposes to tell whoever works here next.
	Lessons []Lesson `json:"lessons,omitempty"`
	// Summaries are what a new session has to know, in its own words.
	Summaries []string `json:"summaries,omitempty"`
	// Problems are tags that could not be used, each in one line: they are
	// fed back to the agent and never guessed at.
	Problems []string `json:"problems,omitempty"`
}

// ThreadReply is an answer to one thread of a pull request: its number there, and
// what is said.
type ThreadReply struct {
	Thread string `json:"thread"`
	Text   string `json:"text"`
}

// SubPhaseRequest is the body of <spawn-subphase>.
type SubPhaseRequest struct {
	Name      string `json:"name"`
	Promise   string `json:"promise"`
	Budget    int    `json:"budget"`
	Reasoning string `json:"reasoning,omitempty"`
}
