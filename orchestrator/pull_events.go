package orchestrator

import "forge/internal/work"

// PublishStarted is the payload of publish.started.
type PublishStarted struct {
	Command    work.CommandID `json:"command"`
	Checkpoint string         `json:"checkpoint"`
	Branch     string         `json:"branch"`
	Commit     string         `json:"commit"`
}

// PublishFinishedData is the payload of publish.finished.
type PublishFinishedData struct {
	Command work.CommandID `json:"command"`
	PullPublished
}

// PullDueData is the payload of pull.due: an answer is acted upon once the
// branch was read.
type PullDueData struct {
	Checkpoint work.Checkpoint `json:"checkpoint"` // as far as the answer needs it
	Answer     work.Answer     `json:"answer"`
}

// PullFinishedData is the payload of pull.finished.
type PullFinishedData struct {
	Command work.CommandID `json:"command"`
	PullReading
}

// PullDecidedData is the payload of pull.decided: what follows from reading.
type PullDecidedData struct {
	Decision string                `json:"decision"` // look, go, take, ask, ask_again, prove
	By       string                `json:"by"`
	Reason   string                `json:"reason,omitempty"`
	Status   work.CheckpointStatus `json:"status,omitempty"`   // go: of the answer
	Approved bool                  `json:"approved,omitempty"` // take: a person approved this very head
	Rework   bool                  `json:"rework,omitempty"`   // take: changes were requested
	Merged   bool                  `json:"merged,omitempty"`   // people have merged it
	Lost     string                `json:"lost,omitempty"`
}

// LandRefusedData is the payload of land.refused.
type LandRefusedData struct {
	Command work.CommandID   `json:"command"`
	Trouble work.PullTrouble `json:"trouble"`
	// Commit is what the host made instead of the proven tree, "" = nothing.
	Commit string `json:"commit,omitempty"`
	Tree   string `json:"tree,omitempty"`
}
