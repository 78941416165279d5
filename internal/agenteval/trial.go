package agenteval

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Task is a change of the past, with what proves it hidden.
type Task struct {
	Commit string `json:"commit"` // the change
	Parent string `json:"parent"` // where an agent begins
	Title  string `json:"title"`
	Text   string `json:"text"` // what is wanted, as the change's author wrote it
	// Hidden are the files of tests that the change brought: no agent sees them,
	// and they decide.
	Hidden []string `json:"hidden"`
	// Files are those of the product that the change touched.
	Files int `json:"files"`
}

// LeftOut is a change of the past that is no task, and why.
type LeftOut struct {
	Commit string `json:"commit"`
	Title  string `json:"title"`
	Why    string `json:"why"`
}

// Status is what came of a try.
type Status string

// The words of a status.
const (
	Solved   Status = "solved"   // the hidden tests pass
	Unsolved Status = "unsolved" // they do not, or the agent gave up
	Unknown  Status = "unknown"  // nobody could say: a limit, no time left, an outage, a setup that failed
)

// Try is one agent at one task.
type Try struct {
	Task       string   `json:"task"` // its commit
	Agent      string   `json:"agent"`
	Nth        int      `json:"nth"` // from 1
	Status     Status   `json:"status"`
	Why        string   `json:"why"`
	Late       bool     `json:"late,omitempty"` // unknown since its time, or that of its proof, was up
	USD        *float64 `json:"usd"`            // nil = its agent named no price
	Tokens     *int64   `json:"tokens"`
	Iterations int      `json:"iterations"`
	Seconds    float64  `json:"seconds"`
}

// Trial is agents at the same tasks.
type Trial struct {
	V       int       `json:"v"`
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	Head    string    `json:"head"` // whose history it is
	Verify  []string  `json:"verify"`
	Agents  []string  `json:"agents"`
	Tries   int       `json:"tries"` // of each agent at each task
	Budget  int       `json:"budget"`
	Limit   float64   `json:"limit_seconds"`
	Network string    `json:"network"` // what agents reached
	Tasks   []Task    `json:"tasks"`
	LeftOut []LeftOut `json:"left_out"`
	Done    []Try     `json:"done"`
}

// version is that of a stored trial.
const version = 1

// New is a trial that has not begun.
func New(id string, at time.Time) *Trial { return &Trial{V: version, ID: id, Started: at} }

// Read reads a stored trial.
func Read(text []byte) (*Trial, error) {
	t := new(Trial)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("read a trial: %w", err)
	}
	if t.V != version || t.ID == "" {
		return nil, fmt.Errorf("read a trial: it is of version %d, and this forge knows %d", t.V, version)
	}
	for i := range t.Done {
		if d := &t.Done[i]; d.Status == Unsolved && d.Why == TimeUp {
			d.Status, d.Late = Unknown, true // as trials of earlier versions say it
		}
	}
	return t, nil
}

// TimeUp is why nobody knows what an agent would have come to.
const TimeUp = "its time was up"

// Left are the tries that are still to be made, in order: the agents take turns,
// so that a trial that ends early has asked each the same.
func (t *Trial) Left() (all []Try) {
	for nth := 1; nth <= t.Tries; nth++ {
		for _, task := range t.Tasks {
			for _, agent := range t.Agents {
				if !slices.ContainsFunc(t.Done, func(d Try) bool { return d.Task == task.Commit && d.Agent == agent && d.Nth == nth }) {
					all = append(all, Try{Task: task.Commit, Agent: agent, Nth: nth})
				}
			}
		}
	}
	return all
}

// Task is the task of a commit.
func (t *Trial) Task(commit string) Task {
	i := slices.IndexFunc(t.Tasks, func(k Task) bool { return k.Commit == commit })
	if i < 0 {
		return Task{Commit: commit}
	}
	return t.Tasks[i]
}

// USD is what the tries cost as far as prices were named.
func (t *Trial) USD() (sum float64) {
	for _, d := range t.Done {
		if d.USD != nil {
			sum += *d.USD
		}
	}
	return sum
}
