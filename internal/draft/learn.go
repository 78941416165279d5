package draft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/atomicfile"
	"forge/internal/lessons"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func learnedFile(p *project.Checkout, run string) string {
	return filepath.Join(p.State, "drafts", "lessons-"+run+".json")
}

// Learned is what an agent said when it was asked what a run taught; ok is false
// where none was asked yet.
func Learned(p *project.Checkout, run string) (all []work.Lesson, ok bool, err error) {
	body, err := os.ReadFile(learnedFile(p, run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &all)
	}
	if err != nil {
		return nil, false, refusal.New("--again asks anew", "what run %s taught cannot be read: %v", run, err)
	}
	return all, true, nil
}

// Learn asks the project's agent what a run taught, by its events, and keeps the
// answer until the next time it is asked: known is kept or proposed already, and
// left out.
func Learn(ctx context.Context, p *project.Checkout, s *orchestrator.State, evs []work.Event, known []work.Lesson, model string) ([]work.Lesson, error) {
	by, err := newAuthor(ctx, p, model, "lessons", lessons.ReplyFile)
	if err != nil {
		return nil, err
	}
	defer by.close()
	agent := by.set.Phases["0"].Agent
	p.Log.Info("asking what the run taught", "run", s.Run, "agent", agent)
	found, problems := []work.Lesson(nil), []string(nil)
	prompt := lessons.Prompt(record(s, evs), known)
	for try := 0; ; try++ {
		body, err := by.Draft(ctx, prompt)
		if err != nil {
			return nil, err
		}
		if found, problems = lessons.ParseReply(body); len(problems) == 0 {
			break
		}
		if try == 1 {
			return nil, refusal.New("ask again, or another agent with --agent", "what the agent wrote cannot be used after one repair:\n  %s", strings.Join(problems, "\n  "))
		}
		prompt = lessons.Repair(problems)
	}

	out := []work.Lesson{}
	for _, l := range found {
		same := func(other work.Lesson) bool { return other.ID() == l.ID() }
		if !slices.ContainsFunc(known, same) && !slices.ContainsFunc(out, same) {
			l.Run, l.Commit, l.Agent = s.Run, s.Head, agent
			out = append(out, l)
		}
	}
	body, err := json.MarshalIndent(out, "", "  ")
	if err == nil {
		err = atomicfile.Write(learnedFile(p, s.Run), append(body, '\n'), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("keep what run %s taught: %w", s.Run, err)
	}
	return out, nil
}

// record is what happened in a run, as far as it may teach something.
func record(s *orchestrator.State, evs []work.Event) string {
	var b strings.Builder
	for _, n := range s.Order {
		p := s.View(n)
		fmt.Fprintf(&b, "Phase %s, %s: %s %s %s\n", n, text.OneLine(p.Plan.Name, 100), p.Outcome, p.Reason, text.OneLine(p.Detail, 300))
		for _, line := range p.History {
			b.WriteString("  " + text.OneLine(line, 300) + "\n")
		}
	}
	for _, e := range evs {
		var d work.VerifyFinishedData
		if e.Kind != work.VerifyFinished || work.Decode(e, &d) != nil || d.OK {
			continue
		}
		fmt.Fprintf(&b, "Verify of phase %s failed: %s\n%s\n", e.Phase, text.OneLine(d.Command, 200), text.Indent(text.End(d.Output, 600)))
	}
	return b.String()
}
