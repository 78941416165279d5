package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/text"
	"forge/internal/work"
)

// hookBytes is how much is kept of each of a hook's two outputs.
const hookBytes = 64 << 10

// Hook runs a hook's command by sh -c in req.Dir, which is made anew with the
// files of req.Commit and dropped afterwards: what an agent did to the program
// that is run is not in it. The facts are on its stdin. How it ended is in the
// report, and judged by nobody here; an error means that it was not run.
func (b *Bench) Hook(ctx context.Context, req work.HookRequest) (work.HookReport, error) {
	rep, err := b.hook(ctx, req)
	if err != nil {
		return rep, orCancelled(ctx, fmt.Errorf("run the hook %s: %w", req.Hook.Label(), err))
	}
	return rep, nil
}

func (b *Bench) hook(ctx context.Context, req work.HookRequest) (work.HookReport, error) {
	var none work.HookReport
	level, err := proc.Choose(req.Sandbox.How(), req.Sandbox.OnlyHosts, b.caps)
	if req.Hook.Outside {
		level, err = proc.LevelNone, nil
	}
	if err != nil {
		return none, err
	}
	input, err := json.Marshal(req.Input)
	if err != nil {
		return none, fmt.Errorf("write what it is told: %w", err)
	}

	home := homeOf(req.Dir)
	defer dropHome(home)
	defer func() { _ = filetree.RemoveAll(req.Dir) }() // what stays is removed by the next call
	if err := filetree.RemoveAll(req.Dir); err != nil {
		return none, err
	}
	if err := b.checkout.Materialize(ctx, req.Dir, req.Commit); err != nil {
		return none, err
	}
	if err := b.makeHome(home, req.Sandbox); err != nil {
		return none, err
	}
	in := filepath.Join(req.Dir, filepath.FromSlash(req.Hook.Dir))
	if info, err := os.Stat(in); err != nil || !info.IsDir() {
		return work.HookReport{Ended: fmt.Sprintf("its folder %s is not in the base of the run", text.Clip(req.Hook.Dir, 200))}, nil
	}
	return b.askCommand(ctx, req, level, in, home, append(input, '\n'))
}

func (b *Bench) askCommand(ctx context.Context, req work.HookRequest, level proc.Level, in, home string, input []byte) (work.HookReport, error) {
	at := seatsOf(level, req.Dir, home)
	env := inImage(level, b.environment(at.home, nil))
	if req.Hook.Outside {
		env = slices.Clone(b.environ) // the owner's own hook, in the owner's own world
	}
	for name, value := range map[string]string{
		"FORGE_EVENT": string(req.Input.Event), "FORGE_RUN": req.Run, "FORGE_PHASE": req.Phase, "FORGE_ITERATION": fmt.Sprint(req.Input.Iteration),
	} {
		env = append(env, name+"="+value)
	}

	box := b.sandbox(level, at, req.Sandbox, slices.Concat(req.Hide, req.Sandbox.Hide), req.Read)
	bound(box, req.Sandbox)
	if box != nil {
		box.Write = append(box.Write, req.Write...)
	}
	out, said := &kept{most: hookBytes}, &kept{most: hookBytes}
	limit := time.Duration(req.Hook.TimeoutSecs) * time.Second
	began := time.Now()
	res, err := proc.Run(ctx, proc.Spec{
		Path: "sh", Args: []string{"-c", req.Hook.Command}, Dir: in, Env: env, Mark: req.Mark,
		Stdin: bytes.NewReader(input), Stdout: out, Stderr: said, Sandbox: box, Limits: proc.Limits{Total: limit},
	})
	if err != nil {
		return work.HookReport{}, err
	}

	rep := work.HookReport{
		Out: b.plain(out.String()), Err: b.plain(said.String()), Cut: out.cut, Sandbox: string(level), Millis: time.Since(began).Milliseconds(),
	}
	switch {
	case ctx.Err() != nil:
		return rep, ctx.Err()
	case res.End == proc.EndTotal:
		rep.Ended = fmt.Sprintf("it took longer than %s and was ended", limit)
	case res.End != proc.EndExited:
		rep.Ended = fmt.Sprintf("it was ended: %v", res.End)
	case res.ExitCode == nil:
		rep.Ended = "it was ended by the signal " + res.Signal
	default:
		rep.Exit = res.ExitCode
	}
	return rep, b.logHook(req, rep)
}

// logHook keeps what a hook printed.
func (b *Bench) logHook(req work.HookRequest, rep work.HookReport) error {
	log, err := openTranscript(req.LogPath, b.red)
	if err != nil {
		return err
	}
	ended := rep.Ended
	if rep.Exit != nil {
		ended = fmt.Sprintf("exit code %d", *rep.Exit)
	}
	for _, part := range []string{"$ hook " + req.Hook.Label() + ": " + req.Hook.Command, rep.Out, rep.Err, "# " + ended} {
		if part != "" {
			_, _ = io.WriteString(log, strings.TrimSuffix(b.plain(part), "\n")+"\n") // Close tells
		}
	}
	if err := log.Close(); err != nil {
		return errors.Join(errors.New("keep its output"), err)
	}
	return nil
}

// plain is text that a program printed, valid and without known secrets.
func (b *Bench) plain(s string) string { return b.red.String(strings.ToValidUTF8(s, "\uFFFD")) }

// kept holds the beginning of an output, and whether there was more.
type kept struct {
	bytes.Buffer
	most int
	cut  bool
}

func (k *kept) Write(p []byte) (int, error) {
	room := k.most - k.Len()
	if len(p) > room {
		k.cut = true
	}
	k.Buffer.Write(p[:min(len(p), max(room, 0))])
	return len(p), nil
}
