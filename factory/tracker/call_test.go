package tracker

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestCalls(t *testing.T) {
	for body, want := range map[string]string{
		"/forge do":                             "do()",
		"@forge retry":                          "retry()",
		"  @Forge, level  careful ":             "level(careful)",
		"/forge budget 3\r\n/forge do":          "budget(3) do()",
		"Please look.\n/FORGE STOP now, please": "stop(now, please)",
		"/forge dance":                          "dance()",
		"/forge":                                "()",
		"@forge is great":                       "",
		"@forge":                                "",
		"thanks @forge do":                      "",
		"/forget do":                            "",
		"@forge-bot do":                         "",
		"> /forge stop":                         "",
		"    /forge stop":                       "",
		"\t/forge stop":                         "",
		"```\n/forge stop\n```\n/forge do":      "do()",
		"~~~~\n/forge stop\n~~~\n/forge stop":   "",
		"``` sh\n/forge stop\n```` \n/forge do": "do()",
		"`/forge stop`":                         "",
		"/for\u200bge stop":                     "stop()",
		"":                                      "",
		strings.Repeat("/forge do\n", 9):        "do() do() do() do() do()",
		"<!-- /forge stop -->\n/forge explain":  "explain()",
	} {
		var got []string
		for _, c := range Calls(body, "forge") {
			got = append(got, fmt.Sprintf("%s(%s)", c.Command, c.Given))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
	if got := Calls("/ do\n@ do\n/forge do", ""); got != nil {
		t.Errorf("nobody's name: %+v", got)
	}
	if got := Calls("/forge do\n/robo do", "Robo"); len(got) != 1 {
		t.Errorf("another name: %+v", got)
	}
}

// However a comment is made, what is read of it is short lines, and a quotation
// or a block of code of it is nobody's call.
func FuzzCalls(f *testing.F) {
	for _, body := range []string{"/forge do\n", "```\n@forge stop\n~~~", "x\r\n/forge level a\x00b\u202e", "~~~~x\n```"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		all := Calls(body, "forge")
		if len(all) > mostCalls {
			t.Errorf("%d calls", len(all))
		}
		for _, c := range all {
			if strings.ContainsAny(c.Command+c.Given, "\n\r") || len(c.Given) > mostGiven || len(c.Command) > 40 || c.Command != strings.ToLower(c.Command) {
				t.Errorf("%+v", c)
			}
		}
		quoted := "> " + strings.ReplaceAll(body, "\n", "\n> ")
		fence := strings.Repeat("~", 3+strings.Count(body, "~"))
		for _, hidden := range []string{quoted, fence + "\n" + body + "\n" + fence} {
			if got := Calls(hidden, "forge"); len(got) > 0 {
				t.Errorf("%q: %+v", hidden, got)
			}
		}
		if onlyCalls(body, "forge") && len(all) == 0 {
			t.Error("nothing but no calls")
		}
	})
}

func TestAct(t *testing.T) {
	level := func(name string) error {
		if name == "careful" || name == planLevel {
			return nil
		}
		return errors.New("there is no level " + name)
	}
	at := func(c work.Column, s work.IssueState, run string) work.Issue {
		return work.Issue{ID: 1, Title: "t", Column: c, State: s, Run: run}
	}
	for name, c := range map[string]struct {
		call    Call
		is      work.Issue
		held    string
		want    string // column, state, level, budget
		refused string
	}{
		"do":                   {call: Call{Command: "do"}, is: at("backlog", "", ""), want: "ready  \"\" 0"},
		"do what was held":     {call: Call{Command: "do"}, is: at("backlog", "waits", ""), held: "its text was edited", want: "backlog waits \"\" 0", refused: "edited"},
		"do what runs":         {call: Call{Command: "do"}, is: at("in_progress", "", "r"), want: "in_progress  \"\" 0"},
		"do what failed":       {call: Call{Command: "do"}, is: at("in_progress", "failed", "r"), want: "ready  \"\" 0"},
		"do what is done":      {call: Call{Command: "do"}, is: at("done", "", "r"), want: "done  \"\" 0", refused: "done"},
		"plan":                 {call: Call{Command: "plan"}, is: at("backlog", "", ""), want: "ready  \"plan_then_review\" 0"},
		"plan what runs":       {call: Call{Command: "plan"}, is: at("in_progress", "", "r"), want: "in_progress  \"\" 0", refused: "stop it first"},
		"retry":                {call: Call{Command: "retry"}, is: at("ready", "cancelled", ""), want: "ready  \"\" 0"},
		"retry what is fine":   {call: Call{Command: "retry"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "nothing to retry"},
		"retry what is held":   {call: Call{Command: "retry"}, is: at("ready", "cancelled", ""), held: "closed", want: "ready cancelled \"\" 0", refused: "closed"},
		"stop":                 {call: Call{Command: "stop"}, is: at("in_progress", "", "r"), want: "in_progress cancelled \"\" 0"},
		"stop what is held":    {call: Call{Command: "stop"}, is: at("backlog", "waits", ""), held: "x", want: "backlog cancelled \"\" 0"},
		"stop twice":           {call: Call{Command: "stop"}, is: at("ready", "cancelled", ""), want: "ready cancelled \"\" 0", refused: "cancelled already"},
		"level":                {call: Call{Command: "level", Given: "careful"}, is: at("ready", "", ""), want: "ready  \"careful\" 0"},
		"no level":             {call: Call{Command: "level", Given: "free"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "no level"},
		"level without a name": {call: Call{Command: "level"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "takes NAME"},
		"budget":               {call: Call{Command: "budget", Given: "3"}, is: at("ready", "", ""), want: "ready  \"\" 3"},
		"budget of nothing":    {call: Call{Command: "budget", Given: "0"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "from 1 to"},
		"budget that is none":  {call: Call{Command: "budget", Given: "3 USD"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "from 1 to"},
		"explain":              {call: Call{Command: "explain"}, is: at("ready", "", ""), want: "ready  \"\" 0"},
		"fix, of an issue":     {call: Call{Command: "fix"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "pull requests"},
		"no command":           {call: Call{Command: "dance"}, is: at("ready", "", ""), want: "ready  \"\" 0", refused: "do, plan, retry, stop, level, budget, explain"},
	} {
		got := Act(c.call, c.is, "ann", c.held, level)
		if is := fmt.Sprintf("%s %s %q %d", got.Is.Column, got.Is.State, got.Is.Level, got.Is.Budget); is != c.want || !strings.Contains(got.Refused, c.refused) || (c.refused == "") != (got.Refused == "") {
			t.Errorf("%s: %s, %q", name, is, got.Refused)
		}
		if c.call.Command == "explain" != got.Explain {
			t.Errorf("%s: explained is %v", name, got.Explain)
		}
	}
}
