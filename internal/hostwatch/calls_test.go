package hostwatch

import (
	"errors"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// What follows from a comment on a pull request, by who wrote it and whether it was
// heard before.
func TestCallsOnAPullRequest(t *testing.T) {
	for name, c := range map[string]struct {
		by, body   string
		own, heard bool
		issue      bool
		end        string
		answer     work.CheckpointStatus
		level      string
		says       string
	}{
		"fix":                     {by: "ann", body: "@forge fix the test", end: callTaken, answer: work.CheckpointChangesRequested, says: "Heard"},
		"fix, heard before":       {by: "ann", body: "/forge fix", heard: true},
		"stop":                    {by: "ann", body: "/forge stop", end: callTaken, answer: work.CheckpointRejected, says: "Heard"},
		"explain":                 {by: "ann", body: "/forge explain", end: callTaken, says: "two approvals"},
		"review":                  {by: "ann", body: "/forge review", end: callTaken, says: "reviewers"},
		"do":                      {by: "ann", body: "/forge do it in capitals", end: callTaken, answer: work.CheckpointChangesRequested, says: "Heard"},
		"retry":                   {by: "ann", body: "/forge retry", end: callTaken, answer: work.CheckpointChangesRequested, says: "Heard"},
		"plan":                    {by: "ann", body: "/forge plan", end: callRefused, says: "fix has it changed"},
		"level":                   {by: "ann", body: "/forge level careful", end: callTaken, level: "careful", says: "from the next boundary on"},
		"level that is none":      {by: "ann", body: "/forge level dance", end: callRefused, says: "no such level"},
		"level without a name":    {by: "ann", body: "/forge level", end: callRefused, says: "takes NAME"},
		"level of an issue's":     {by: "ann", body: "/forge level careful", issue: true, end: callRefused, says: "forge issue edit 7 --level"},
		"budget":                  {by: "ann", body: "/forge budget 3", end: callRefused, says: "forge resume r1 --budget 02=N"},
		"budget of an issue's":    {by: "ann", body: "/forge budget 3", issue: true, end: callRefused, says: "forge issue edit 7 --budget"},
		"of nobody":               {by: "ann", body: "/forge dance", end: callRefused, says: "Not done"},
		"by who may not write":    {by: "eve", body: "/forge fix", end: callIgnored},
		"by Forge itself":         {by: "forge", body: "/forge fix", own: true},
		"talk":                    {by: "ann", body: "shall @forge fix it?"},
		"quoted":                  {by: "ann", body: "> /forge fix"},
		"in code":                 {by: "ann", body: "```\n/forge fix\n```"},
		"another's name":          {by: "ann", body: "/robo fix"},
		"two, and the last holds": {by: "ann", body: "/forge fix\n/forge stop", end: callTaken, answer: work.CheckpointRejected},
	} {
		look := work.PullLook{Comments: []work.PullComment{{ID: "9", By: c.by, Body: c.body, Own: c.own}}, Writers: []string{"ann", "forge"}}
		look.Number, look.Head = 3, "head"
		q := Question{Checkpoint: work.Checkpoint{ID: "cp", Revision: 2, Run: "r1", Phase: "02", Question: "merge it?"}}
		if c.issue {
			q.Issue = &work.Issue{ID: 7}
		}
		if q.Pull = (orchestrator.Pull{Number: 3}); c.heard {
			q.Pull.Heard = []string{"c9"}
		}
		all := callsOn(look, q, "forge", "two approvals are missing", func(name string) error {
			if name != "careful" {
				return errors.New("there is no such level")
			}
			return nil
		})
		if c.end == "" {
			if len(all) > 0 {
				t.Errorf("%s: %+v", name, all)
			}
			continue
		}
		if len(all) != 1 || all[0].end != c.end || all[0].level != c.level {
			t.Fatalf("%s: %+v", name, all)
		}
		said := ""
		for _, w := range append(all[0].heard, all[0].words...) {
			said += w.String()
		}
		if !strings.Contains(said, c.says) || c.end == callIgnored && said != "" {
			t.Errorf("%s: it says %q", name, said)
		}
		a := all[0].answer
		if (a == nil) != (c.answer == "") || a != nil && (a.Status != c.answer || a.By != "ann" || a.Checkpoint != "cp" || a.Revision != 2 || a.Head != "head") {
			t.Errorf("%s: it answers %+v", name, a)
		}
	}
	var counts calls
	if !counts.count("9", callTaken) || counts.count("9", callTaken) || counts.ended[callTaken] != 1 {
		t.Errorf("one comment is counted as %v", counts.ended)
	}
}
