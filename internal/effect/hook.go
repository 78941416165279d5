package effect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// Hooks asks hooks. How one ended is a report; an error means that it was not
// asked. Both may be called for several phases at once.
type Hooks interface {
	Command(ctx context.Context, req work.HookRequest) (work.HookReport, error)
	Prompt(ctx context.Context, req work.HookRequest) (work.HookReport, error)
}

// hook asks one hook. Whatever keeps it from being asked is told as that, so that
// the core can hold what it was asked about.
func (m *Machine) hook(ctx context.Context, e orchestrator.HookEffect, a Attending) orchestrator.Fact {
	c, req := e.Command, m.hookHere(e.Request, a.Mark)
	rep, err := m.askHook(ctx, req)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && shortage.Of(err) != "":
		return broke(c, "ask a hook", err)
	case err != nil:
		rep = work.HookReport{Ended: fmt.Sprintf("it could not be asked: %v", err)}
	}
	return orchestrator.HookDone{Command: c, Report: rep}
}

func (m *Machine) askHook(ctx context.Context, req work.HookRequest) (work.HookReport, error) {
	if m.Hooks == nil {
		return work.HookReport{}, errors.New("nobody here asks hooks")
	}
	switch req.Hook.Kind {
	case work.HookCommand:
		return m.Hooks.Command(ctx, req)
	case work.HookPrompt:
		most := time.Duration(req.Hook.TimeoutSecs) * time.Second
		asked, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		rep, err := m.Hooks.Prompt(asked, req)
		if asked.Err() != nil {
			rep.Exit, rep.Ended = nil, fmt.Sprintf("no answer within %s", most)
			return rep, nil
		}
		return rep, err
	}
	return work.HookReport{}, fmt.Errorf("its type %q is unknown", req.Hook.Kind)
}

// hookHere is a request with what is this machine's. The files of the phase are
// shown to the hook, and are its own to change only where they are made and where
// they are removed.
func (m *Machine) hookHere(req work.HookRequest, mark string) work.HookRequest {
	of := req.Phase
	if of == "" {
		of = "run"
	}
	req.Mark, req.Hide = mark, m.hidden()
	req.Dir = filepath.Join(m.Layout.RunDir(req.Run), "hooks", of)
	req.LogPath = m.Layout.Log(req.Run, "hook-"+of)
	if req.Phase == "" {
		return req
	}

	folder := m.Layout.PhaseDir(req.Run, req.Phase)
	if !folderExists(folder) {
		return req
	}
	req.Input.Folder = folder
	switch req.Input.Event {
	case work.HookAfterCreate, work.HookBeforeRemove:
		req.Write = []string{folder}
	default:
		req.Read = []string{folder}
	}
	return req
}
