package symphony

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Issue is one of the tracker as a template and the rules see it.
type Issue struct {
	ID          string
	Identifier  string
	Title       string
	Description string // "" = there is none
	Priority    int    // 0 = none
	State       string
	Branch      string
	URL         string
	Labels      []string // in small letters
	Blockers    []Blocker
	Created     time.Time
	Updated     time.Time
}

// Blocker is an issue that another one waits for.
type Blocker struct{ ID, Identifier, State string }

// values are what a template knows of an issue. Each field of the specification is
// there; one that the tracker does not say is nothing.
func (i Issue) values() map[string]any {
	word := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	moment := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.UTC().Format(time.RFC3339)
	}
	labels, blockers := []any{}, []any{}
	for _, l := range i.Labels {
		labels = append(labels, l)
	}
	for _, b := range i.Blockers {
		blockers = append(blockers, map[string]any{"id": word(b.ID), "identifier": word(b.Identifier), "state": word(b.State)})
	}
	var priority any
	if i.Priority != 0 {
		priority = int64(i.Priority)
	}
	return map[string]any{
		"id": i.ID, "identifier": i.Identifier, "title": i.Title, "description": word(i.Description), "priority": priority,
		"state": i.State, "branch_name": word(i.Branch), "url": word(i.URL), "labels": labels, "blocked_by": blockers,
		"created_at": moment(i.Created), "updated_at": moment(i.Updated),
	}
}

// Render is the prompt for an issue. attempt is 0 for the first one.
func (w *Workflow) Render(i Issue, attempt int) (string, error) {
	var n any
	if attempt > 0 {
		n = int64(attempt)
	}
	out, err := w.template.Render(map[string]any{"issue": i.values(), "attempt": n})
	return strings.TrimSpace(out), err
}

// IsActive says that issues of a state are to be worked on.
func (t Tracker) IsActive(state string) bool { return has(t.Active, state) && !has(t.Terminal, state) }

// Over says that issues of a state are not to be worked on ever again.
func (t Tracker) Over(state string) bool { return has(t.Terminal, state) }

func has(states []string, state string) bool {
	return slices.ContainsFunc(states, func(s string) bool { return Normal(s) == Normal(state) })
}

// firstState is the one in which an issue waits for those that block it. In others it
// was begun, and goes on.
const firstState = "todo"

// NotDispatched says why an issue is not worked on, whatever room there is; "" =
// nothing speaks against it.
func (s Settings) NotDispatched(i Issue) string {
	switch {
	case i.ID == "" || i.Identifier == "" || i.Title == "" || i.State == "":
		return "it has no id, identifier, title or state"
	case s.Tracker.Over(i.State):
		return "its state " + i.State + " is terminal"
	case !s.Tracker.IsActive(i.State):
		return "its state " + i.State + " is not active"
	}
	for _, l := range s.Tracker.Labels {
		if !slices.ContainsFunc(i.Labels, func(has string) bool { return Normal(has) == Normal(l) }) {
			return "it does not have the label " + l
		}
	}
	if open := s.Waits(i); len(open) > 0 {
		return "it waits for " + open[0].Identifier
	}
	return ""
}

// Waits are those that block an issue which was not begun, and are not over.
func (s Settings) Waits(i Issue) (open []Blocker) {
	if Normal(i.State) != firstState {
		return nil
	}
	for _, b := range i.Blockers {
		if !s.Tracker.Over(b.State) {
			open = append(open, b)
		}
	}
	return open
}

// Order puts the issue first that is to be dispatched first: by priority, where none
// is the least, by age, by identifier.
func Order(a, b Issue) int {
	return cmp.Or(cmp.Compare(rankOf(a.Priority), rankOf(b.Priority)), ageOf(a, b), strings.Compare(a.Identifier, b.Identifier))
}

func rankOf(priority int) int {
	if priority < 1 || priority > 4 {
		return 5
	}
	return priority
}

func ageOf(a, b Issue) int {
	if a.Created.IsZero() || b.Created.IsZero() {
		return cmp.Compare(btoi(a.Created.IsZero()), btoi(b.Created.IsZero()))
	}
	return a.Created.Compare(b.Created)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// NoSlot is what is said of an issue for which there is no room.
const NoSlot = "no available orchestrator slots"

// Room says whether one more issue of a state may be worked on, beside those whose
// states are given.
func (s Settings) Room(running []string, state string) bool {
	if len(running) >= s.MaxAgents {
		return false
	}
	most, limited := s.ByState[Normal(state)]
	if !limited {
		return true
	}
	same := 0
	for _, other := range running {
		if Normal(other) == Normal(state) {
			same++
		}
	}
	return same < most
}

// Follow is what becomes of who works on an issue, by the state that the tracker says.
type Follow string

// What may become of it.
const (
	GoOn  Follow = "go_on"
	Stop  Follow = "stop"           // and keep the workspace
	Clean Follow = "stop_and_clean" // and remove it
	Wait  Follow = "ask_again"      // nobody can say
)

// Reconcile decides that. An issue of which nothing is known is not stopped.
func (s Settings) Reconcile(i Issue, known bool) Follow {
	switch {
	case !known || i.State == "":
		return Wait
	case s.Tracker.Over(i.State):
		return Clean
	case s.Tracker.IsActive(i.State):
		return GoOn
	}
	return Stop
}
