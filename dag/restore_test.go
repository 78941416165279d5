package dag

import (
	"errors"
	"testing"
)

// Nothing comes back that no execution comes to.
func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	g, err := New([]Node[string]{{Key: "a"}, {Key: "b", Needs: []string{"a"}}, {Key: "c", Needs: []string{"b"}}})
	if err != nil {
		t.Fatal(err)
	}
	a, none := "a", "none"
	good := []Standing[string]{{Key: "a", State: Failed}, {Key: "b", State: Skipped, Cause: &a}, {Key: "c", State: Skipped, Cause: &a}}
	f, err := g.Restore(good)
	if err != nil {
		t.Fatal(err)
	}
	if cause, ok := f.Cause("c"); !ok || cause != "a" || !f.Finished() {
		t.Errorf("restored: cause %q, %+v", cause, f.Counts())
	}
	if err := f.Reopen("a", "b", "c"); err != nil || f.State("a") != Ready || f.State("b") != Waiting {
		t.Errorf("reopened: %v, a is %s, b is %s", err, f.State("a"), f.State("b"))
	}
	for name, c := range map[string]struct {
		at  []Standing[string]
		why error
	}{
		"a node is missing":               {at: good[:2]},
		"one stands in two places":        {at: []Standing[string]{good[0], good[1], good[1]}},
		"one is unknown":                  {at: []Standing[string]{good[0], good[1], {Key: "none", State: Waiting}}, why: ErrUnknownNode},
		"a cause is unknown":              {at: []Standing[string]{good[0], good[1], {Key: "c", State: Skipped, Cause: &none}}, why: ErrUnknownNode},
		"skipped without a cause":         {at: []Standing[string]{good[0], good[1], {Key: "c", State: Skipped}}},
		"a cause of what is not skipped":  {at: []Standing[string]{{Key: "a", State: Failed, Cause: &a}, good[1], good[2]}},
		"waits for nothing":               {at: []Standing[string]{{Key: "a", State: Waiting}, {Key: "b", State: Waiting}, {Key: "c", State: Waiting}}, why: ErrTransition},
		"ready although a need is not":    {at: []Standing[string]{{Key: "a", State: Running}, {Key: "b", State: Ready}, {Key: "c", State: Waiting}}, why: ErrTransition},
		"runs although a need is not":     {at: []Standing[string]{{Key: "a", State: Ready}, {Key: "b", State: Running}, {Key: "c", State: Waiting}}, why: ErrTransition},
		"a state that nobody knows":       {at: []Standing[string]{{Key: "a", State: "asleep"}, {Key: "b", State: Waiting}, {Key: "c", State: Waiting}}, why: ErrTransition},
		"failed although a need was open": {at: []Standing[string]{{Key: "a", State: Ready}, {Key: "b", State: Failed}, {Key: "c", State: Waiting}}, why: ErrTransition},
	} {
		if _, err := g.Restore(c.at); err == nil || c.why != nil && !errors.Is(err, c.why) {
			t.Errorf("%s: %v, want %v", name, err, c.why)
		}
	}
}
