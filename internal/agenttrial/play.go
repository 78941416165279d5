package agenttrial

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forge/internal/agenteval"
	"forge/internal/config"
	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/proof"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/verify"
	"forge/internal/work"
)

// branch is what the repository of a try has out.
const branch = "main"

// grace is how long a forge that is told to stop may take to keep what it has.
const grace = 30 * time.Second

// place is where one try is made: a repository that ends where the author of the
// change began, and a state folder of its own.
type place struct {
	dir, repo, state string
	base             string // what the agent begins with
	environ          []string
}

// place makes the place of a task.
func (r *trial) place(ctx context.Context, task agenteval.Task) (*place, error) {
	dir, err := os.MkdirTemp(r.dir, "try-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a try: %w", err)
	}
	w := &place{dir: dir, repo: filepath.Join(dir, "work"), state: filepath.Join(dir, "state")}
	w.environ = append(slices.DeleteFunc(slices.Clone(r.p.Environ), func(kv string) bool { return strings.HasPrefix(kv, "FORGE_STATE_DIR=") }), "FORGE_STATE_DIR="+w.state)
	if w.base, err = r.asToday(ctx, task.Parent); err == nil {
		err = r.repo.Past(ctx, w.repo, branch, w.base)
	}
	if err != nil {
		return nil, errors.Join(err, w.drop())
	}
	return w, nil
}

func (w *place) drop() error { return os.RemoveAll(w.dir) }

// asToday is a commit of the past with the settings of today.
func (r *trial) asToday(ctx context.Context, commit string) (string, error) {
	today, err := os.ReadFile(filepath.Join(r.p.Base.RepoRoot, filepath.FromSlash(config.ProjectFile)))
	if errors.Is(err, os.ErrNotExist) {
		return commit, nil
	}
	if err != nil {
		return "", fmt.Errorf("read today's settings: %w", err)
	}
	return r.repo.Edited(ctx, commit, []git.FileEdit{{Path: config.ProjectFile, Content: today}})
}

// told is what a run of forge said of itself.
type told struct {
	code       int
	outcome    work.RunOutcome
	reasons    []work.Reason
	commit     string // what came of it, "" = nothing was merged
	usd        *float64
	tokens     *int64
	iterations int
	message    string // of the last iteration
	stderr     string
}

// drive has forge do what words say in a place.
func (r *trial) drive(ctx context.Context, w *place, words string, args ...string) (t told, err error) {
	if err := os.WriteFile(filepath.Join(w.dir, "wanted"), []byte(words), 0o600); err != nil {
		return t, fmt.Errorf("write what is wanted: %w", err)
	}
	cmd := exec.CommandContext(ctx, r.program, append([]string{"do", "-f", filepath.Join(w.dir, "wanted"), "--autonomous", "--no-merge", "--new", "--output", "json"}, args...)...)
	cmd.Dir, cmd.Env = w.repo, w.environ
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return t, fmt.Errorf("start forge: %w", err)
	}
	read := t.read(out)
	err = cmd.Wait()
	t.stderr = said.String()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return t, context.Cause(ctx)
	case read != nil:
		return t, fmt.Errorf("read what forge says: %w", read)
	case errors.As(err, &exit):
		t.code = exit.ExitCode()
	case err != nil:
		return t, fmt.Errorf("wait for forge: %w", err)
	}
	return t, nil
}

// read takes in the events that a forge prints, one on a line.
func (t *told) read(from io.Reader) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		var e work.Event
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &e) == nil {
			t.take(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *told) take(e work.Event) {
	switch e.Kind {
	case work.IterationFinished:
		var d work.IterationFinishedData
		if work.Decode(e, &d) != nil {
			return
		}
		t.iterations++
		t.message = d.Message
		if u := d.Usage; u.InputTokens != nil && u.OutputTokens != nil {
			sum := *u.InputTokens + *u.OutputTokens
			if t.tokens != nil {
				sum += *t.tokens
			}
			t.tokens = &sum
		}
	case work.PhaseMerged:
		var d struct{ Commit string }
		if json.Unmarshal(e.Data, &d) == nil && d.Commit != "" {
			t.commit = d.Commit
		}
	case work.PhaseFinished:
		var d work.PhaseFinishedData
		if work.Decode(e, &d) == nil && d.Reason != "" {
			t.reasons = append(t.reasons, d.Reason)
		}
	case work.RunFinished:
		var d work.RunFinishedData
		if work.Decode(e, &d) == nil {
			t.outcome, t.usd = d.Outcome, d.CostUSD
			if d.Commit != "" {
				t.commit = d.Commit
			}
		}
	}
}

// try has an agent do a task, and finds out what came of it.
func (r *trial) try(ctx context.Context, t agenteval.Try) (done agenteval.Try, err error) {
	done = t
	task := r.t.Task(t.Task)
	w, err := r.place(ctx, task)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, w.drop()) }()
	args := []string{"--agent", t.Agent, "--budget", strconv.Itoa(r.t.Budget), "--deadline", r.limit.String()}
	if r.o.TryUSD > 0 {
		args = append(args, "--usd", strconv.FormatFloat(r.o.TryUSD, 'f', -1, 64))
	}
	began := r.p.Now()
	said, err := r.drive(ctx, w, task.Text, args...)
	if err != nil {
		return done, err
	}
	took := r.p.Now().Sub(began)
	done.Seconds, done.USD, done.Tokens, done.Iterations = took.Seconds(), said.usd, said.tokens, said.iterations
	if said.code == exitUsage && said.iterations == 0 {
		return done, refusal.New("mend that, then go on with forge eval agents --resume "+r.t.ID, "forge does not begin a try of agent %q: %s", t.Agent, text.OneLine(lastLine(said.stderr), 400))
	}
	if done.Status, done.Why = said.without(took >= r.limit); done.Status != "" {
		done.Late = done.Why == agenteval.TimeUp
		return done, nil
	}
	done.Status, done.Why, err = r.prove(ctx, w, task, said.commit)
	done.Late = done.Why == proofTimeUp
	return done, err
}

// Exit codes of forge, as docs/cli.md has them.
const (
	exitFailed = 1
	exitUsage  = 2
)

// without is what came of a try that has nothing to be proven, "" = it has: late
// says that its time was up.
func (t told) without(late bool) (agenteval.Status, string) {
	why := string(t.outcome)
	for _, reason := range t.reasons {
		why += ", " + string(reason)
	}
	switch {
	case t.commit != "":
		return "", ""
	case late:
		return agenteval.Unknown, agenteval.TimeUp // with more of it, it may have solved it
	case t.code != exitFailed || len(t.reasons) == 0:
		return agenteval.Unknown, strings.TrimPrefix(fmt.Sprintf("%s, exit code %d: %s", why, t.code, text.OneLine(lastLine(t.stderr), 200)), ", ")
	case slices.ContainsFunc(t.reasons, func(r work.Reason) bool { return !slices.Contains(ofTheAgent(), r) }):
		return agenteval.Unknown, why
	}
	return agenteval.Unsolved, why
}

// ofTheAgent are the reasons for which a phase fails by what its agent did; the
// others are of the machine, a provider or a person.
func ofTheAgent() []work.Reason {
	return []work.Reason{
		work.ReasonBudgetExhausted, work.ReasonStale, work.ReasonBlocked, work.ReasonAgentHung, work.ReasonVerifyFailed, work.ReasonReviewFailed,
		work.ReasonEvidenceChanged, work.ReasonProofDisturbed, work.ReasonReadonlyViolation, work.ReasonCostLimit,
	}
}

// proofTimeUp is why nobody knows what a result is worth.
const proofTimeUp = "the tests of the change did not end in time"

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// prove holds what an agent made against the tests of the change's author: its
// product, with the evidence that it began with and those tests.
func (r *trial) prove(ctx context.Context, w *place, task agenteval.Task, commit string) (agenteval.Status, string, error) {
	state, err := config.StateDir(w.environ, w.repo)
	if err != nil {
		return "", "", err
	}
	store, err := git.Open(ctx, git.Config{StateDir: state, Root: w.repo, Environ: w.environ})
	if err != nil {
		return "", "", err
	}
	paths, err := store.Differ(ctx, w.base, commit)
	if err != nil {
		return "", "", err
	}
	seen, err := evidence.New(store, filepath.Join(w.dir, "evidence")).See(ctx, w.base, commit, r.rules(), paths)
	if err != nil {
		return "", "", err
	}
	var own []string // evidence of the agent's, which does not count
	for _, s := range seen {
		if s.Class == proof.Evidence && !slices.Contains(task.Hidden, s.Path) {
			own = append(own, s.Path)
		}
	}
	back, err := edits(ctx, store, w.base, own, store, commit)
	if err == nil {
		var hidden []git.FileEdit
		hidden, err = edits(ctx, r.repo, task.Commit, task.Hidden, store, commit)
		back = append(back, hidden...)
	}
	if err == nil {
		commit, err = store.Edited(ctx, commit, back)
	}
	if why, err := unfit(err); err != nil || why != "" {
		return agenteval.Unknown, "the tests cannot be laid over the result: " + why, err
	}
	bench := verify.New(store, r.caps, r.p.Environ, filepath.Join(r.dir, "cache"), r.hide)
	rep, err := r.judge(ctx, bench, commit, false)
	switch {
	case err != nil:
		return "", "", err
	case rep.OK:
		return agenteval.Solved, "the tests of the change pass", nil
	case slices.ContainsFunc(rep.Ran, func(c work.CommandReport) bool { return c.TimedOut }):
		return agenteval.Unknown, proofTimeUp, nil
	}
	return agenteval.Unsolved, "the tests of the change do not pass: " + text.OneLine(rep.Problem, 200), nil
}
