//go:build real

package agent

import (
	"testing"

	"forge/internal/agent/agenttest"
	"forge/internal/fakemodel"
)

// realTools are the calls that make a real agent do the steps of the
// conformance suite.
type realTools struct {
	shell   func(command string) fakemodel.Tool
	write   func(dir, name, content string) fakemodel.Tool
	refused fakemodel.Tool            // what the permission mode refuses
	outage  func(int) fakemodel.Fault // a refusal for so many seconds
}

// turns is what the model answers for an agent that is to do the steps.
func (k realTools) turns(t *testing.T, dir string, steps []agenttest.Step) []fakemodel.Turn {
	t.Helper()
	var turns []fakemodel.Turn
	var now fakemodel.Turn
	call := func(tool fakemodel.Tool) {
		now.Tools = append(now.Tools, tool)
		turns, now = append(turns, now), fakemodel.Turn{}
	}
	end := func(f fakemodel.Fault) {
		if now.Text != "" {
			call(k.shell("true"))
		}
		turns = append(turns, fakemodel.Turn{Repeat: -1, Fault: f})
	}
	for i, s := range steps {
		last := i == len(steps)-1
		switch {
		case s.Say != "":
			if now.Text = s.Say; last {
				turns = append(turns, now)
			} else if steps[i+1].Say != "" {
				call(k.shell("true"))
			}
		case s.Echo:
			turns = append(turns, fakemodel.Turn{Text: agenttest.Prompt, Thinking: agenttest.Prompt})
		case s.Write != "":
			call(k.write(dir, s.Write, s.Content))
		case s.Tool != "":
			call(k.shell(s.Tool))
		case s.Refused:
			call(k.refused)
		case s.Hang:
			end(fakemodel.Fault{Hang: true})
		case s.Fail:
			end(fakemodel.Fault{Status: 400})
		case s.Outage > 0:
			end(k.outage(s.Outage))
		default:
			t.Fatalf("step %+v", s)
		}
	}
	return turns
}
