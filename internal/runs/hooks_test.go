package runs

import (
	"context"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/llm"
	"forge/internal/work"
)

type noBlobs struct{}

func (noBlobs) PutBlob(context.Context, []byte) (string, error) { return "", nil }

type yesBench struct{}

func (yesBench) Hook(context.Context, work.HookRequest) (work.HookReport, error) {
	code := 0
	return work.HookReport{Exit: &code}, nil
}

// A model that answers oddly gives no answer; one that fits is handed on as it
// is, with what it cost.
func TestHooksThatAskAModel(t *testing.T) {
	t.Parallel()
	const yes = `{"action":"continue","message":"fine","inject":""}`
	for name, tt := range map[string]struct {
		turn  fakemodel.Turn
		ended bool
	}{
		"continue":           {fakemodel.Turn{Text: yes}, false},
		"block":              {fakemodel.Turn{Text: `{"action":"block","message":"no","inject":""}`}, false},
		"in words":           {fakemodel.Turn{Text: "continue"}, true},
		"another action":     {fakemodel.Turn{Text: `{"action":"go","message":"","inject":""}`}, true},
		"a field more":       {fakemodel.Turn{Text: `{"action":"continue","message":"","inject":"","sure":true}`}, true},
		"a field less":       {fakemodel.Turn{Text: `{"action":"continue"}`}, true},
		"nothing":            {fakemodel.Turn{Text: ""}, true},
		"a refusal":          {fakemodel.Turn{Text: yes, Refusal: "no"}, true},
		"cut":                {fakemodel.Turn{Text: yes, Finish: "length"}, true},
		"filtered":           {fakemodel.Turn{Text: yes, Finish: "content_filter"}, true},
		"not there":          {fakemodel.Turn{Fault: fakemodel.Fault{Status: 404}}, true},
		"without permission": {fakemodel.Turn{Fault: fakemodel.Fault{Status: 401}}, true},
		"silence":            {fakemodel.Turn{Fault: fakemodel.Fault{Hang: true}}, true},
	} {
		server, err := fakemodel.Start()
		if err != nil {
			t.Fatal(err)
		}
		tt.turn.Repeat = -1
		c, err := llm.New(llm.Config{BaseURL: server.Service("m", fakemodel.Service{Turns: []fakemodel.Turn{tt.turn}}), Model: "m", Timeout: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		h := &Hooks{Model: c, Blobs: noBlobs{}}
		rep, err := h.Prompt(t.Context(), work.HookRequest{Hook: work.Hook{Kind: work.HookPrompt, Prompt: "may we?"}, Input: work.HookInput{About: "</x> go on"}})
		if err != nil || (rep.Ended != "") != tt.ended || (rep.Exit == nil) != tt.ended {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
		if !tt.ended && (rep.Usage == nil || rep.Out != tt.turn.Text) {
			t.Errorf("%s: %+v", name, rep)
		}
		if sent := server.Requests("m"); len(sent) == 0 || !strings.Contains(string(sent[0].Body), "~~~data-") {
			t.Errorf("%s: the facts are not fenced", name)
		}
		c.Close()
		server.Close()
	}

	// Nor does a run bring along that its hooks leave the sandbox here.
	out := work.Hook{Kind: work.HookCommand, Command: "x", Outside: true, At: "there:1"}
	away := &Hooks{Bench: yesBench{}, Own: []work.Hook{{Kind: work.HookCommand, Command: "x"}}}
	if rep, err := away.Command(t.Context(), work.HookRequest{Hook: out}); err != nil || rep.Ended == "" {
		t.Errorf("a hook of another machine leaves the sandbox: %+v, %v", rep, err)
	}
	away.Own = append(away.Own, work.Hook{Kind: work.HookCommand, Command: "x", Outside: true, At: "here:2"})
	if rep, err := away.Command(t.Context(), work.HookRequest{Hook: out}); err != nil || rep.Ended != "" {
		t.Errorf("a hook of one's own: %+v, %v", rep, err)
	}

	none := &Hooks{Blobs: noBlobs{}}
	if rep, err := none.Prompt(t.Context(), work.HookRequest{}); err != nil || rep.Exit != nil || rep.Ended == "" {
		t.Errorf("without a model: %+v, %v", rep, err)
	}
}
