package effect

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"forge/internal/work"
	"forge/orchestrator"
)

// asked is who asks hooks, in some way.
type asked struct {
	report work.HookReport
	err    error
	hangs  bool
}

func (a asked) Command(context.Context, work.HookRequest) (work.HookReport, error) {
	return a.report, a.err
}

func (a asked) Prompt(ctx context.Context, _ work.HookRequest) (work.HookReport, error) {
	if a.hangs {
		<-ctx.Done()
		return a.report, context.Cause(ctx)
	}
	return a.report, a.err
}

// Whatever keeps a hook from being asked is told as that, and never as a word to
// go on.
func TestHooksThatCannotBeAsked(t *testing.T) {
	code := 0
	yes := work.HookReport{Exit: &code}
	for name, tt := range map[string]struct {
		hooks Hooks
		kind  string
		ended string // "" = it was asked
	}{
		"asked":              {asked{report: yes}, work.HookCommand, ""},
		"nobody asks":        {nil, work.HookCommand, "nobody here asks hooks"},
		"an unknown type":    {asked{report: yes}, "swarm", `its type "swarm" is unknown`},
		"without a type":     {asked{report: yes}, "", "is unknown"},
		"an error":           {asked{report: yes, err: errors.New("no such folder")}, work.HookCommand, "no such folder"},
		"a model's error":    {asked{report: yes, err: errors.New("no such blob")}, work.HookPrompt, "no such blob"},
		"a model that hangs": {asked{report: yes, hangs: true}, work.HookPrompt, "no answer within 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &Machine{Hooks: tt.hooks}
			fact := m.Do(t.Context(), orchestrator.HookEffect{Request: work.HookRequest{Run: "r", Hook: work.Hook{Kind: tt.kind, TimeoutSecs: 30}}}, Attending{})
			done, ok := fact.(orchestrator.HookDone)
			if !ok || (tt.ended == "") != (done.Report.Ended == "") || !strings.Contains(done.Report.Ended, tt.ended) {
				t.Errorf("%s: %+v", name, fact)
			}
		})
	}

	// A full disk is no answer of the hook's: the run stops, and asks it again.
	full := &Machine{Hooks: asked{err: syscall.ENOSPC}}
	if broke, ok := full.Do(t.Context(), orchestrator.HookEffect{Request: work.HookRequest{Hook: work.Hook{Kind: work.HookCommand}}}, Attending{}).(orchestrator.Broke); !ok || broke.Short == "" {
		t.Errorf("a full disk: %+v", broke)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if fact := full.Do(ctx, orchestrator.HookEffect{Request: work.HookRequest{Hook: work.Hook{Kind: work.HookCommand}}}, Attending{}); fact != nil {
		t.Errorf("ended on the way: %+v", fact)
	}
}
