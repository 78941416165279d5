package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"forge/internal/text"
)

// Decomposition is a phase as its agent would split it: the body of
// <decomposition>.
type Decomposition struct {
	Tasks    []SplitTask `json:"tasks"`
	Analysis string      `json:"analysis,omitempty"`
}

// SplitTask is one part of a phase that is split. It becomes a sub-phase.
type SplitTask struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	About     string   `json:"description,omitempty"`
	Files     []string `json:"files,omitempty"`      // that it is about
	DependsOn []string `json:"depends_on,omitempty"` // ids
	Budget    int      `json:"budget"`               // iterations
	Promise   string   `json:"promise,omitempty"`    // "" = one is made of the id
	Verify    []string `json:"verify,omitempty"`     // commands of its own
}

// Bounds of a decomposition, so that it fits into an event.
const (
	// MaxSplitTasks is how many parts are read at most.
	MaxSplitTasks = 20
	// MaxSplitBytes bounds the words of all parts together.
	MaxSplitBytes = 4 << 10
)

var taskID = text.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// Total is how many iterations the parts ask for together.
func (d Decomposition) Total() int {
	n := 0
	for _, t := range d.Tasks {
		n += t.Budget
	}
	return n
}

// Size is how many bytes it takes up in an event.
func (d Decomposition) Size() int {
	raw, err := json.Marshal(d)
	if err != nil {
		return MaxSplitBytes + 1
	}
	return len(raw)
}

// Commands are the verify commands that the parts name, each once.
func (d Decomposition) Commands() []string {
	var out []string
	for _, t := range d.Tasks {
		for _, c := range t.Verify {
			if !known(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// parseDecomposition reads the body of decomposition. What is wrong with its
// parts as a plan is judged where the phase is known.
func parseDecomposition(body string) (Decomposition, error) {
	var d Decomposition
	var tasks []json.RawMessage
	var last json.RawMessage
	if err := readFields(body, map[string]any{"tasks": &tasks, "integration_task": &last, "analysis": &d.Analysis}); err != nil {
		return d, err
	}
	if len(last) > 0 && string(last) != "null" {
		tasks = append(tasks, last)
	}
	if n := len(tasks); n > MaxSplitTasks {
		return d, fmt.Errorf("it has %d parts, more than %d", n, MaxSplitTasks)
	}
	for i, raw := range tasks {
		t, err := parseSplitTask(string(raw))
		if err != nil {
			return d, fmt.Errorf("part %d: %w", i+1, err)
		}
		// What puts the others together needs them all, unless it says otherwise.
		if len(last) > 0 && i == len(tasks)-1 && len(t.DependsOn) == 0 {
			for _, before := range d.Tasks {
				t.DependsOn = append(t.DependsOn, before.ID)
			}
		}
		d.Tasks = append(d.Tasks, t)
	}
	if n := d.Size(); n > MaxSplitBytes {
		return d, fmt.Errorf("its words have %d bytes together, more than %d", n, MaxSplitBytes)
	}
	return d, nil
}

func parseSplitTask(body string) (SplitTask, error) {
	var t SplitTask
	err := readFields(body, map[string]any{
		"id": &t.ID, "name": &t.Name, "description": &t.About, "files": &t.Files, "depends_on": &t.DependsOn, "budget": &t.Budget,
		"promise": &t.Promise, "verify": &t.Verify,
	})
	if err != nil {
		return t, err
	}
	if !taskID().MatchString(t.ID) {
		return t, fmt.Errorf("%s is no id: letters, digits, - and _, at most 40", quoted(t.ID))
	}
	for _, list := range []*[]string{&t.Files, &t.DependsOn, &t.Verify} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	t.Name, t.Promise = strings.TrimSpace(t.Name), strings.TrimSpace(t.Promise)
	for _, list := range [][]string{t.Files, t.Verify} {
		for _, one := range list {
			if strings.TrimSpace(one) == "" || text.Hides(one) {
				return t, errors.New("a file or command is empty or not on one line of printable text")
			}
		}
	}
	return t, nil
}
