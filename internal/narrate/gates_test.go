package narrate

import (
	"encoding/json"
	"strings"
	"testing"

	"forge/internal/work"
)

// A decision is told in plain words, in the log and by forge why; the exact term
// stands below. One that has no words is told by its term rather than not at all.
func TestDecisionsInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ gate, decision, by, head, who string }{
		{"stale", "pivot", "strategy:autonomous", "stuck: the agent is told to try another way", "the level autonomous"},
		{"claim", "not_claimed", "rule:claim", "it does not count as done yet", "a rule that holds at every level (claim)"},
		{"ckpt.question", "decide", "policy:full", "nobody is asked: the agent decides, and writes down what it assumed", "the level full"},
		{"final", "ask", "person:ann", "you are asked", "ann"},
		{"final", "something_new", "config:factory", "final → something_new", "config:factory"},
	} {
		data, err := json.Marshal(work.GateDecidedData{Gate: c.gate, Decision: c.decision, By: c.by, Reason: "so it is"})
		if err != nil {
			t.Fatal(err)
		}
		head, below, err := Say(work.Event{V: 1, Kind: work.GateDecided, Data: data})
		if err != nil || head != c.head {
			t.Errorf("%s → %s is told as %q, %v, want %q", c.gate, c.decision, head, err, c.head)
		}
		said := map[string]string{}
		for _, f := range below {
			said[f[0]] = f[1]
		}
		if said["by"] != c.who {
			t.Errorf("%s decided, and is told as %q, want %q", c.by, said["by"], c.who)
		}
		if term := c.gate + " → " + c.decision; head != term && said["exact"] != term {
			t.Errorf("the exact term of %q is %q, want %q", head, said["exact"], term)
		}
		_, line, pairs := Describe(work.Event{V: 1, Kind: work.GateDecided, Data: data}, nil)
		if !strings.HasPrefix(line, c.head) && line != c.gate+": "+c.decision {
			t.Errorf("the log says %q of %s → %s", line, c.gate, c.decision)
		}
		if person := strings.HasPrefix(c.by, "person:"); (len(pairs) == 4) != person {
			t.Errorf("the log says %v, by %s", pairs, c.by)
		}
	}
}
