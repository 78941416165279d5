// Package agent runs coding agents: one file per kind turns a request into a
// command line and what the program prints into a report. Outside this package
// no agent is known by its name.
package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/egress"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/shortage"
	"forge/internal/work"
)

// Config is what all iterations have in common.
type Config struct {
	Environ []string          // Forge's own environment, from which agents get what their kind lists
	Caps    proc.Capabilities // what the machine can do for a sandbox
	Redact  *redact.Redactor  // takes secrets out of everything kept; nil takes out nothing
	Home    string            // home folder of the agents; "" = HOME of Environ
	// Executable is Forge's own program, which plays the scripted agent and is
	// started by agents for their tools; "" = the running one.
	Executable string
	// Tools is what agents are given that are to have it; nil = nothing.
	Tools Tools
}

// Agents runs iterations. Its methods may be called from several goroutines.
type Agents struct {
	config Config
	environ
	running running
}

// New returns agents that run with c.
func New(c Config) *Agents {
	if c.Redact == nil {
		c.Redact = redact.New(nil)
	}
	return &Agents{config: c, environ: newEnviron(c.Environ, c.Home)}
}

// postResultDefault stands in for a missing limit: an agent that has given its
// result is never waited for without one.
const postResultDefault = 30 * time.Second

// Iterate runs one iteration in req.Dir and says what came of it. An agent
// that fails, hangs or is refused gives a report; an error means that it could
// not be run at all. watch, unless nil, is told of signs of life, one call at
// a time, and must not block. When ctx ends, so does the agent with everything
// it started, and the outcome is "interrupted".
func (a *Agents) Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error) {
	k, ok := kinds()[req.Agent.Kind]
	if !ok {
		return work.IterationReport{}, fmt.Errorf("agent %q is of the unknown kind %q", req.Agent.Name, req.Agent.Kind)
	}
	level, err := proc.Choose(req.Sandbox.How(), req.Sandbox.OnlyHosts, a.config.Caps)
	if err != nil {
		return work.IterationReport{}, fmt.Errorf("choose the sandbox of agent %q: %w", req.Agent.Name, err)
	}
	tools, err := a.offer(ctx, req, k.facts)
	if err != nil {
		return work.IterationReport{}, err
	}
	defer tools.close()
	told := newHearing()
	s := setting{
		tools: tools,
		req:   req, live: newLive(req, a.config.Redact, watch), told: told, environ: a.environ, red: a.config.Redact,
		sandboxed: level != proc.LevelNone, executable: a.config.Executable,
	}
	l, err := k.launch(s)
	if err != nil {
		return work.IterationReport{}, fmt.Errorf("prepare agent %q: %w", req.Agent.Name, err)
	}
	log, err := openLog(req.LogPath, logHeadBytes, logTailBytes)
	if err != nil {
		return work.IterationReport{}, err
	}
	log.keepTimes(req.TimesPath)
	told.hand = l.hand
	of := try{req.Run, req.Phase, req.Iteration, req.Attempt}
	a.running.begin(of, told)
	report, err := a.run(ctx, s, level, l, log)
	if l.instead != nil && err == nil && report.Outcome == work.OutcomeAgentFailed {
		s.live = newLive(req, a.config.Redact, watch)
		if next, ok, lerr := l.instead(s); lerr != nil {
			err = fmt.Errorf("prepare agent %q: %w", req.Agent.Name, lerr)
		} else if ok {
			report, err = a.run(ctx, s, level, next, log)
		}
	}
	a.running.end(of, told)
	tools.report(&report)
	report.Heard = told.end()
	if cerr := log.close(); cerr != nil && err == nil {
		report.Short = oneLine(shortage.Of(cerr), a.config.Redact)
		if report.Detail == "" {
			report.Detail = oneLine(cerr.Error(), a.config.Redact)
		}
	}
	return report, err
}

// run starts what was prepared and waits for its end.
func (a *Agents) run(ctx context.Context, s setting, level proc.Level, l launch, log *rawLog) (work.IterationReport, error) {
	req, live := s.req, s.live
	outLog, errLog := log.writer(a.config.Redact), log.writer(a.config.Redact)
	var stderr tail
	seen := newTracer(req.Agent.Kind, a.config.Redact, time.Now)
	spec := proc.Spec{
		Path: l.path, Args: l.args, Dir: req.Dir, Mark: req.Mark,
		Env:   a.environ.of(req, l),
		Stdin: strings.NewReader(l.stdin),
		Stdout: &streams{first: outLog, then: func(p []byte) (int, error) {
			_, _ = seen.Write(p)
			return l.stream.Write(p)
		}},
		Stderr: &streams{first: errLog, then: func(p []byte) (int, error) {
			live.touch()
			stderr.write(p)
			if l.stderr != nil {
				_, _ = l.stderr.Write(p)
			}
			return len(p), nil
		}},
		Sandbox: sandboxOf(req, level, l),
		Limits:  limitsOf(req.Limits),
		Ending:  l.ending,
	}
	var hosts *egress.Proxy
	if req.Sandbox.OnlyHosts {
		hosts = egress.New(slices.Concat(req.Sandbox.Hosts, endpointsOf(req.Agent.Kind, spec.Env)))
		spec.Sandbox.Serve = hosts.Serve
	}
	s.tools.shown(spec.Sandbox)
	if l.input != nil {
		spec.Stdin = l.input
	}
	if l.postResult > 0 {
		spec.Limits.PostResult = min(spec.Limits.PostResult, l.postResult)
	}
	p, err := proc.Start(ctx, spec)
	live.started(p, l.startsAtOnce)
	s.tools.runs(p)
	if err != nil {
		if ctx.Err() != nil {
			return work.IterationReport{Outcome: work.OutcomeInterrupted, Detail: "cancelled before the agent started"}, nil
		}
		return work.IterationReport{}, fmt.Errorf("start agent %q: %w", req.Agent.Name, err)
	}
	if l.begin != nil {
		l.begin(ctx)
	}
	res := p.Wait()
	_ = errors.Join(outLog.Close(), errLog.Close()) // the log itself keeps its errors
	e := ending{code: res.ExitCode, signal: res.Signal, byItself: res.End == proc.EndExited, stderr: stderr.text(a.config.Redact)}
	report := l.stream.finish(e)
	if res.Err != nil {
		// Also when a process could not be ended: it may still write to the
		// folder, so that nobody knows what a snapshot would hold.
		return work.IterationReport{}, fmt.Errorf("run agent %q: %w", req.Agent.Name, res.Err)
	}
	report.ExitCode, report.LeftBehind, report.Sandbox = res.ExitCode, res.LeftBehind, string(res.Sandbox)
	if hosts != nil {
		report.Network = hosts.Uses()
	}
	live.judge(res.End, &report)
	report.Usage = live.priced(report.Usage.Clean())
	report.Total = report.Total.Clean()
	report.Trace = seen.trace()
	if !report.Outcome.KeepsClaim() {
		report.Claims = nil
	}
	report.Detail = oneLine(report.Detail, a.config.Redact)
	return report, nil
}

// streams writes to the log and then to the reader of the stream. Neither
// ever fails.
type streams struct {
	first *redact.Writer
	then  func([]byte) (int, error)
}

func (s *streams) Write(p []byte) (int, error) {
	_, _ = s.first.Write(p)
	return s.then(p)
}

func limitsOf(l work.Limits) proc.Limits {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	out := proc.Limits{
		Start: seconds(l.StartSecs), Idle: seconds(l.IdleSecs), Total: seconds(l.IterationSecs),
		PostResult: seconds(l.PostResultSecs), Drain: seconds(l.DrainSecs),
	}
	if out.PostResult <= 0 {
		out.PostResult = postResultDefault
	}
	return out
}

// sandboxOf is the view of the machine that the agent gets; nil = all of it.
func sandboxOf(req work.IterationRequest, level proc.Level, l launch) *proc.Sandbox {
	if level == proc.LevelNone {
		return nil
	}
	join := func(lists ...[]string) []string {
		var all []string
		for _, list := range lists {
			all = append(all, list...)
		}
		return all
	}
	dir, readOnlyDir := []string{req.Dir}, []string(nil)
	if l.readOnly {
		dir, readOnlyDir = nil, dir
	}
	return &proc.Sandbox{
		Level:     level,
		Write:     join(dir, req.Sandbox.Write, l.write),
		Read:      join(readOnlyDir, req.Sandbox.Read, req.ReadPaths, l.read),
		Hide:      join(req.HidePaths, req.Sandbox.Hide),
		ReadFiles: l.readFiles,
		Network:   req.Sandbox.Network,
		Container: proc.Container(req.Sandbox.Container),
	}
}
