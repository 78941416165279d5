package orchestrator

import (
	"encoding/json"
	"fmt"
	"slices"

	"forge/gates"
	"forge/internal/work"
)

// stops are the checkpoints that an agent asks for, some of which nobody could
// open.
func (w *world) stops() []json.RawMessage {
	var out []json.RawMessage
	for range 1 + w.IntN(5) {
		raw, _ := json.Marshal(work.StopRequest{
			Type:    []string{"deliverable", "deliverable", "notes", "notes", "phase_transition", "final_output", "*", "other"}[w.IntN(8)],
			Summary: w.text("look at this"), Paths: w.texts(w.IntN(9), "a.txt"),
		})
		if w.chance(10) {
			w.fault("a checkpoint that cannot be read")
			raw = json.RawMessage(`{"type":"deliverable","level":"full"}`)
		}
		out = append(out, raw)
	}
	return out
}

// level is a policy that a person chooses in the middle of a run.
func (w *world) level() json.RawMessage {
	if w.chance(10) {
		w.fault("a level that cannot be read")
		return json.RawMessage([]string{`{}`, `{"preset":"full"}`, `"full"`, `7`}[w.IntN(4)])
	}
	all := gates.Catalogue{}.Names()
	p, _ := gates.Preset(all[w.IntN(len(all))])
	raw, _ := json.Marshal(p)
	return raw
}

// humanStops are the points that the agent asked for, and at which the policy
// wants a person.
func (c *invariants) humanStops(p *Phase, d work.IterationFinishedData) []string {
	var out []string
	for _, raw := range d.Signals.Checkpoints {
		var r work.StopRequest
		if json.Unmarshal(raw, &r) != nil {
			continue
		}
		registered := r.Type == "deliverable" || slices.Contains(c.w.spec.Settings.CheckpointTypes, r.Type)
		pt := gates.CheckpointPoint(r.Type)
		if registered && c.policyAt(c.w.s, p.Number).At(pt) == gates.Human && !slices.Contains(out, string(pt)) {
			out = append(out, string(pt))
		}
	}
	return out
}

// policyChanged: a level that is chosen in the middle of a run stays within
// what bounds it, and is one that somebody chose.
func (c *invariants) policyChanged(e work.Event) error {
	var d PolicyChangedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if b := c.w.spec.Bound; b != nil {
		if freer := gates.Exceeds(d.Policy, *b); len(freer) > 0 {
			return fmt.Errorf("the policy becomes freer than its bound on %v", freer)
		}
	}
	if d.Policy.Version() != d.Version || len(d.Policy.Validate()) > 0 {
		return fmt.Errorf("the policy becomes %s, which is none", d.Version)
	}
	old := c.policy
	c.undo = append(c.undo, func() { c.policy = old })
	c.policy = d.Policy
	// What a person had to look at before and the policy decides now may go on.
	for n, left := range c.stops {
		note(c, c.stops, n, slices.DeleteFunc(slices.Clone(left), func(pt string) bool { return c.policyAt(c.w.s, n).At(gates.Point(pt)) == gates.Auto }))
	}
	return nil
}
