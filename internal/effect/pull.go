package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
	"forge/orchestrator"
)

var errNoHost = errors.New("this process knows no code host")

// CloseWait is how long a run that ends at once waits for its host.
const CloseWait = 5 * time.Second

func (m *Machine) publish(ctx context.Context, e orchestrator.PublishEffect) orchestrator.Fact {
	if m.Host == nil {
		return orchestrator.PublishDone{Command: e.Command, Result: orchestrator.PullPublished{Trouble: orchestrator.Unreached("publish", errNoHost)}}
	}
	out, err := m.Host.Publish(context.WithoutCancel(ctx), e.Request)
	if err != nil {
		out = orchestrator.PullPublished{Trouble: orchestrator.Unreached("publish", err)}
	}
	return orchestrator.PublishDone{Command: e.Command, Result: out}
}

func (m *Machine) read(ctx context.Context, e orchestrator.ReadEffect) orchestrator.Fact {
	if m.Host == nil {
		return orchestrator.ReadDone{Command: e.Command, Reading: orchestrator.PullReading{Trouble: orchestrator.Unreached("read the pull request", errNoHost)}}
	}
	out, err := m.Host.Read(context.WithoutCancel(ctx), e.Request)
	if err != nil {
		out = orchestrator.PullReading{Trouble: orchestrator.Unreached("read the pull request", err)}
	}
	if commit := out.Commit + out.Merged; commit != "" && e.Todos && m.Todos != nil {
		check, err := m.Todos.Todos(ctx, commit)
		if err != nil {
			return orchestrator.ReadDone{Command: e.Command, Reading: orchestrator.PullReading{Trouble: orchestrator.Unreached("read the todos", err)}}
		}
		out.Todos = &check
	}
	return orchestrator.ReadDone{Command: e.Command, Reading: out}
}

func (m *Machine) landPull(ctx context.Context, e orchestrator.LandPullEffect) orchestrator.Fact {
	ctx, c, req := context.WithoutCancel(ctx), e.Command, e.Request
	if m.Host == nil {
		return orchestrator.LandDone{Command: c, Refused: orchestrator.Unreached("merge", errNoHost)}
	}
	out, err := m.Host.Land(ctx, req)
	if err != nil {
		return orchestrator.LandDone{Command: c, Refused: orchestrator.Unreached("merge", err)}
	}
	if out.Trouble != nil {
		return orchestrator.LandDone{Command: c, Refused: out.Trouble, Commit: out.Commit, Tree: out.Tree}
	}
	if err := m.Repo.Anchor(ctx, req.Run, e.Journal.Count, e.Journal.Hash); err != nil {
		return broke(c, "anchor the journal", err)
	}
	return orchestrator.LandDone{Command: c, Commit: out.Commit, Tree: out.Tree, Empty: out.Commit == req.BaseHead}
}

func (m *Machine) close(ctx context.Context, e orchestrator.CloseEffect) orchestrator.Fact {
	if m.Host == nil {
		return orchestrator.CloseDone{Command: e.Command, Trouble: &work.PullTrouble{Kind: work.HostUnreachable, What: errNoHost.Error(), Fix: "close it there"}}
	}
	ctx, done := unhurried(ctx, e.Ending)
	defer done()
	trouble, err := m.Host.Close(ctx, e.Request)
	if err != nil {
		trouble = orchestrator.Unreached("close the pull request", err)
	}
	return orchestrator.CloseDone{Command: e.Command, Trouble: trouble}
}

// unhurried is a context for what is tried even when the run ends, though not
// for long then: where it ends already, or from the moment at which ctx is
// cancelled.
func unhurried(ctx context.Context, ending bool) (context.Context, func()) {
	own := context.WithoutCancel(ctx)
	cause := fmt.Errorf("no answer in %v", CloseWait)
	if ending {
		return context.WithTimeoutCause(own, CloseWait, cause)
	}
	own, cancel := context.WithCancelCause(own)
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(CloseWait)
		defer late.Stop()
		select {
		case <-late.C:
			cancel(cause)
		case <-own.Done():
		}
	})
	return own, func() {
		stop()
		cancel(nil)
	}
}
