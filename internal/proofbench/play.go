package proofbench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Forge is what the forge program made of a case.
type Forge struct {
	Outcome   string   // of the last run or issue
	Delivered bool     // the result reached the user, or nothing stands between it and them
	Wrong     bool     // what the oracle says of what was delivered
	Reasons   []string // words for a hold that stand in the journal
	Wall      time.Duration
	Verify    time.Duration // one verify, on the base
	Proof     time.Duration // from an iteration's end to its merge
	Proofs    int           // how many verifies that were
	Why       string        // the end of the last run's journal, for people
}

// reasons are the words with which Forge says why it holds something, or what
// a person should look at.
var reasons = []string{
	"evidence_changed", "evidence_weakened", "unproven", "test_aware", "flaky", "proof_disturbed",
	"not_accounted", "evidence_unknown", "red_control", "setup_replaced",
}

// Prove plays a case with the forge program.
func (m *Machine) Prove(ctx context.Context, c *Case, keep bool) (f Forge, err error) {
	w, err := m.newWorld(ctx, c)
	if w != nil && !keep {
		defer w.remove()
	}
	if err != nil {
		return f, err
	}
	began := time.Now()
	defer func() { f.Wall = time.Since(began) }()
	if err := w.configure(); err != nil {
		return f, err
	}

	issues := 0
	for i, step := range c.Steps {
		var tip string
		switch step.Kind {
		case "person":
			err = w.commit(ctx, w.steps[i][0].do)
			tip, f.Delivered = "HEAD", true
		case "issue":
			issues++
			tip, err = w.issue(ctx, issues, w.steps[i][0], &f)
		default:
			tip, err = w.plan(ctx, w.steps[i], &f)
		}
		if err != nil {
			return f, err
		}
		if tip == "" {
			f.Delivered = false
			return f, nil
		}
		if f.Wrong, err = w.wrong(ctx, tip); err != nil {
			return f, fmt.Errorf("%w\n%s", err, f.Why)
		}
		if f.Wrong || !f.Delivered {
			f.Delivered = f.Delivered || f.Wrong
			return f, nil
		}
	}
	return f, nil
}

// configure writes the settings as a user has them, and commits them.
func (w *world) configure() error {
	conf := "[agent]\nuse = \"played\"\n[agents.played]\nkind = \"script\"\nfile = " + text(w.scriptFile()) +
		"\n[factory]\ntriage = \"off\"\nplan = \"single\"\ndefault_policy = \"end_to_end\"\n[verify]\ntimeout_secs = 120\ncommands = [\n"
	for _, v := range w.verify {
		conf += "  " + text(v) + ",\n"
	}
	conf += "]\n"
	if w.c.Ecosystem.Modules != "" && !strings.Contains(w.extra, "[worktree]") {
		conf += "[worktree]\nlink = [\"node_modules\"]\n"
	}
	user := "[sandbox]\nmode = \"auto\"\n"
	if w.c.Ecosystem.Cache != "" {
		user += "write = [" + text("~/"+w.c.Ecosystem.Cache) + "]\n"
	}
	for path, content := range map[string]string{
		filepath.Join(w.repo, ".forge/forge.toml"):         conf + w.extra,
		filepath.Join(w.home, ".config/forge/config.toml"): user,
	} {
		if err := place(path, content); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) scriptFile() string { return filepath.Join(w.dir, "agent", "script.toml") }

// plan writes a plan and what the agent does in it, and runs it. It returns the
// commit that stands as the result; "" when there is none.
func (w *world) plan(ctx context.Context, phases []played, f *Forge) (string, error) {
	var steps strings.Builder
	var plan []map[string]any
	for i, p := range phases {
		promise := "PHASE " + p.Number + " IS DONE"
		phase := map[string]any{"number": p.Number, "name": p.Name, "promise": promise, "budget": 1}
		if len(p.Needs) > 0 {
			phase["depends_on"] = p.Needs
		}
		if len(p.MayChange) > 0 {
			phase["may_change"] = p.MayChange
		}
		if p.HasSub {
			phase["budget"] = 4
		}
		plan = append(plan, phase)
		wait := ""
		if i > 0 && len(p.Needs) == 0 {
			wait = fmt.Sprintf("  { sleep = \"%ds\" },\n", i)
		}
		writeSteps(&steps, p, promise, wait)
	}
	doc, err := json.MarshalIndent(map[string]any{"phases": plan}, "", "  ")
	if err != nil {
		return "", err
	}
	if err := w.files(ctx, steps.String(), string(doc)+"\n"); err != nil {
		return "", err
	}
	return w.runPlan(ctx, f)
}

func writeSteps(b *strings.Builder, p played, promise, wait string) {
	promised := "  { print = " + text("<promise>"+promise+"</promise>") + " },\n]\n"
	if p.HasSub {
		sub := "SUB OF " + p.Number + " IS DONE"
		fmt.Fprintf(b, "[[step]]\nphase = %s\ndo = [\n%s  { print = %s },\n]\n", text("sub-"+p.Number), script(p.sub), text("<promise>"+sub+"</promise>"))
		fmt.Fprintf(b, "[[step]]\nphase = %s\niteration = 1\ndo = [\n%s  { subphase = { name = %s, promise = %s, budget = 1 } },\n]\n",
			text(p.Number), script(p.do), text("sub-"+p.Number), text(sub))
		fmt.Fprintf(b, "[[step]]\nphase = %s\ndo = [\n%s%s", text(p.Number), script(p.then), promised)
		return
	}
	if len(p.resolve) > 0 {
		fmt.Fprintf(b, "[[step]]\nphase = %s\niteration = 2\ndo = [\n%s  { print = \"resolved\" },\n]\n", text(p.Number), script(p.resolve))
	}
	fmt.Fprintf(b, "[[step]]\nphase = %s\ndo = [\n%s%s%s", text(p.Number), script(p.do), wait, promised)
}

// files writes script and plan, and commits what of it is the project's.
func (w *world) files(ctx context.Context, script, plan string) error {
	if err := os.MkdirAll(filepath.Dir(w.scriptFile()), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(w.scriptFile(), []byte(script), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.repo, ".forge/phases.json"), []byte(plan), 0o644); err != nil {
		return err
	}
	return w.git(ctx, w.repo, "add .forge", "commit -q --allow-empty -m plan")
}

func (w *world) runPlan(ctx context.Context, f *Forge) (string, error) {
	before, err := w.rev(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, w.m.Limit)
	defer cancel()
	out, code, err := run(ctx, w.repo, w.env, w.m.Forge, "run", "--autonomous", "--new", "--output", "json")
	if err != nil {
		return "", err
	}
	j := readJournal(out)
	f.take(j, out)
	if j.run == "" {
		return "", fmt.Errorf("forge did not begin (exit %d):\n%s", code, out)
	}
	if code == 2 || code == 5 {
		f.Outcome = fmt.Sprintf("exit %d", code)
	}

	after, err := w.rev(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	branch, err := w.rev(ctx, "forge/run-"+j.run)
	if err != nil {
		return "", err
	}
	switch {
	case after != before:
		f.Delivered = j.outcome == "completed"
		return after, nil
	case j.asked || j.outcome == "frozen" || branch == "" || branch == before:
		return "", nil
	case j.outcome == "completed" && j.proven:
		// Done and proven, but not merged for a reason of the checkout: the
		// user merges as Forge says.
		f.Delivered = true
		return branch, w.git(ctx, w.repo, "merge -q "+branch)
	}
	return branch, nil
}

// issue adds an issue to the board and lets the factory work on it.
func (w *world) issue(ctx context.Context, n int, p played, f *Forge) (string, error) {
	title := fmt.Sprintf("change %d", n)
	promise := fmt.Sprintf("ISSUE %d DONE", n)
	steps := fmt.Sprintf("[[step]]\ndo = [\n%s  { print = %s },\n]\n", script(p.do), text("<promise>"+promise+"</promise>"))
	if err := w.files(ctx, steps, "{\"phases\": []}\n"); err != nil {
		return "", err
	}
	before, err := w.rev(ctx, "forge/landed")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, w.m.Limit)
	defer cancel()
	if out, code, err := run(ctx, w.repo, w.env, w.m.Forge, "issue", "add", title, "--column", "ready"); err != nil || code != 0 {
		return "", fmt.Errorf("issue add: exit %d: %s %w", code, out, err)
	}
	out, _, err := run(ctx, w.repo, w.env, w.m.Forge, "factory", "--once")
	if err != nil {
		return "", err
	}
	show, code, err := run(ctx, w.repo, w.env, w.m.Forge, "issue", "show", fmt.Sprint(n), "--output", "json")
	if err != nil || code != 0 {
		return "", fmt.Errorf("issue show: exit %d: %s %w", code, show, err)
	}
	var issue struct {
		Issue struct {
			Column string `json:"column"`
		} `json:"issue"`
		Column string `json:"column"`
	}
	if err := json.Unmarshal([]byte(show), &issue); err != nil {
		return "", err
	}
	f.Outcome = "issue " + issue.Issue.Column + issue.Column
	why, _, err := run(ctx, w.repo, w.env, w.m.Forge, "why", "--output", "json")
	if err != nil {
		return "", err
	}
	f.Why = tail(out+why, 40)
	f.remember(append(found([]byte(show)), found([]byte(why))...))
	after, err := w.rev(ctx, "forge/landed")
	if err != nil || after == "" || after == before {
		return "", err
	}
	f.Delivered = true
	return after, nil
}

// journal is what the bench reads from the stream of a run.
type journal struct {
	run, outcome  string
	proven        bool
	asked         bool // a person is asked, whatever the run's end is called
	reasons       []string
	verify, proof time.Duration
	proofs        int
}

type event struct {
	Time  time.Time       `json:"time"`
	Run   string          `json:"run"`
	Kind  string          `json:"kind"`
	Phase string          `json:"phase"`
	Data  json.RawMessage `json:"data"`
}

// readJournal reads the events among the lines that forge printed.
func readJournal(out string) journal {
	j := journal{proven: true}
	var based time.Time
	ended := map[string]time.Time{} // last iteration of a phase
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if !strings.HasPrefix(lines.Text(), "{") || json.Unmarshal(lines.Bytes(), &e) != nil || e.Kind == "" {
			continue
		}
		var d struct {
			Outcome, Proof string
		}
		_ = json.Unmarshal(e.Data, &d) // other events have other fields
		j.run = e.Run
		// The settings name reasons, and an agent may say anything.
		if e.Kind != "run.started" && e.Kind != "iteration.finished" {
			j.reasons = append(j.reasons, found(e.Data)...)
		}
		switch e.Kind {
		case "checkpoint.opened":
			j.asked = true
		case "verify.started":
			if e.Phase == "" {
				based = e.Time
			} else {
				j.proofs++
			}
		case "verify.finished":
			if e.Phase == "" && !based.IsZero() {
				j.verify = e.Time.Sub(based)
			}
		case "iteration.finished":
			ended[e.Phase] = e.Time
		case "merge.started":
			if at, ok := ended[e.Phase]; ok {
				j.proof += e.Time.Sub(at)
				delete(ended, e.Phase)
			}
		case "phase.finished":
			if d.Outcome != "done" || d.Proof != "verified" {
				j.proven = false
			}
		case "run.finished":
			j.outcome = d.Outcome
		}
	}
	return j
}

// found are the words for a hold that a JSON document has as a value, alone or
// before a colon. In the middle of a text they may be anybody's.
func found(document []byte) []string {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return nil
	}
	var all []string
	walk(value, func(s string) {
		for _, r := range reasons {
			if rest, ok := strings.CutPrefix(s, r); ok && (rest == "" || rest[0] == ':') {
				all = append(all, r)
			}
		}
	})
	return all
}

func walk(value any, see func(string)) {
	switch v := value.(type) {
	case string:
		see(v)
	case []any:
		for _, element := range v {
			walk(element, see)
		}
	case map[string]any:
		for _, element := range v {
			walk(element, see)
		}
	}
}

// remember adds reasons, each once.
func (f *Forge) remember(words []string) {
	f.Reasons = append(f.Reasons, words...)
	slices.Sort(f.Reasons)
	f.Reasons = slices.Compact(f.Reasons)
}

// take keeps what the journal of a run says; out is all that forge printed.
func (f *Forge) take(j journal, out string) {
	f.Outcome = j.outcome
	f.remember(j.reasons)
	f.Verify, f.Proof, f.Proofs = j.verify, j.proof, j.proofs
	var plain []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"kind":"run.started"`) {
			continue
		}
		if !strings.HasPrefix(line, "{\"v\"") || strings.Contains(line, "\"verify.finished\"") || strings.Contains(line, "checkpoint") || strings.Contains(line, "finding") {
			plain = append(plain, line)
		}
	}
	f.Why = tail(strings.Join(plain, ""), 40)
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
