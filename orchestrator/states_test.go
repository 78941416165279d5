package orchestrator

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

var update = flag.Bool("update", false, "write the generated blocks of docs/states.md and testdata/foundby.json anew")

// order is the order of the states of each machine on its diagram.
func order(machine string) []string {
	switch machine {
	case ofPhases:
		out := []string{"[*]"}
		for _, s := range Stages() {
			out = append(out, string(s))
		}
		return out
	case ofRuns:
		out := []string{"[*]", "baseline_due", "baseline_red", "baseline_asked", "phases", "final_asked", "final_deliver", "final_over", "stopping", backWhereItWas}
		for _, o := range []work.RunOutcome{work.RunCompleted, work.RunFailed, work.RunCancelled, work.RunFrozen, work.RunLimit, work.RunInterrupted} {
			out = append(out, string(o))
		}
		return out
	}
	out := []string{"[*]"}
	for _, s := range []work.CheckpointStatus{
		work.CheckpointPending, work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected, work.CheckpointExpired,
	} {
		out = append(out, string(s))
	}
	return out
}

// onlyFrom says which stages may come directly before a stage: what is not
// proven cannot land, however a phase gets there. From its folder goes on what
// people pushed to an issue's result and approved as it is.
func onlyFrom() map[Stage][]Stage {
	return map[Stage][]Stage{
		StageIterate:  {StageGate, StageJudge},
		StageVerify:   {StageJudge, StageFolder},
		StageEvidence: {StageVerify, StageReverify, StageTrain},
		StageControl:  {StageVerify, StageReverify, StageEvidence, StageTrain},
		StageReview:   {StageJudge, StageVerify, StageEvidence, StageControl, StageMerged, StageReverify, StageFolder},
		StageArbiter:  {StageReview, StageJudge},
		StageProven:   {StageJudge, StageVerify, StageEvidence, StageControl, StageReview, StageArbiter, StageAsked, StageFolder},
		StageTurn:     {StageProven, StageAsked, StageTrain, StageEvidence, StageControl, StageLand},
		StageTrain:    {StageTurn},
		StageMerged:   {StageTurn},
		StageReverify: {StageMerged, StageJudge},
		StageLand:     {StageMerged, StageReverify, StageEvidence, StageControl, StageJudge, StageReview, StageTrain},
		StageLanded:   {StageLand},
		StageCouncil:  {StageTries},
	}
}

// onlyFromToo says which stages may come directly before a stage of a phase that
// has a pull request, beside those of onlyFrom: people may have pushed, and the
// host may have refused.
func onlyFromToo() map[Stage][]Stage {
	return map[Stage][]Stage{
		StageVerify: {StagePull, StageLand},
		StageReview: {StagePull, StageLand},
		StageProven: {StageReverify, StageLand, StagePull},
		StageTurn:   {StagePull},
		StagePull:   {StageAsked, StageProven},
	}
}

// diagram draws a machine's transitions.
func (es edges) diagram(machine string) string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, e := range es.sorted(machine) {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", e.from, e.to, strings.Join(es.labels(e), ", "))
	}
	b.WriteString("```\n")
	return b.String()
}

func (es edges) sorted(machine string) []edge {
	var out []edge
	for e := range es {
		if e.machine == machine {
			out = append(out, e)
		}
	}
	states := order(machine)
	slices.SortFunc(out, func(a, b edge) int {
		if d := slices.Index(states, a.from) - slices.Index(states, b.from); d != 0 {
			return d
		}
		return slices.Index(states, a.to) - slices.Index(states, b.to)
	})
	return out
}

// readDiagram is the reverse of diagram.
func readDiagram(machine, text string) edges {
	es := edges{}
	for line := range strings.Lines(text) {
		from, rest, ok := strings.Cut(strings.TrimSpace(line), " --> ")
		to, labels, named := strings.Cut(rest, ": ")
		if !ok || !named {
			continue
		}
		for _, l := range strings.Split(labels, ", ") {
			es.add(edge{machine, from, to}, l)
		}
	}
	return es
}

func onlyFromTable() string {
	var b strings.Builder
	b.WriteString("| stage | is entered from | with a pull request also from |\n|---|---|---|\n")
	names := func(from []Stage) string {
		out := make([]string, len(from))
		for i, f := range from {
			out[i] = "`" + string(f) + "`"
		}
		return strings.Join(out, ", ")
	}
	rules, too := onlyFrom(), onlyFromToo()
	for _, s := range Stages() {
		if len(rules[s])+len(too[s]) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s, names(rules[s]), names(too[s]))
		}
	}
	return b.String()
}

// block is the text between the markers of a generated part of a page.
func block(page, name string) (before, text, after string, ok bool) {
	open, end := "<!-- generated: "+name+" -->\n", "<!-- end: "+name+" -->\n"
	before, rest, found := strings.Cut(page, open)
	text, after, closed := strings.Cut(rest, end)
	return before + open, text, end + after, found && closed
}

// checkStates holds the diagrams of docs/states.md against the transitions
// that were seen. all says that enough was played to have seen every one.
func checkStates(t *testing.T, seen edges, all bool) {
	t.Helper()
	path := filepath.Join("..", "docs", "states.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	replace := func(name, text string) (drawn string) {
		before, drawn, after, ok := block(page, name)
		if !ok {
			t.Fatalf("%s has no block %q", path, name)
		}
		page = before + text + after
		return drawn
	}
	for _, machine := range []string{ofPhases, ofRuns, ofCheckpoints} {
		states := order(machine)
		for e := range seen {
			if e.machine == machine && (!slices.Contains(states, e.from) || !slices.Contains(states, e.to)) {
				t.Errorf("%s went from %s to %s, which no list of states has", machine, e.from, e.to)
			}
		}
		drawn := readDiagram(machine, replace(machine, seen.diagram(machine)))
		if *update {
			continue
		}
		for _, e := range seen.sorted(machine) {
			for _, l := range seen.labels(e) {
				if !drawn[e][l] {
					t.Errorf("%s goes from %s to %s by %q, which %s does not show", machine, e.from, e.to, l, path)
				}
			}
		}
		for _, e := range drawn.sorted(machine) {
			if all && seen[e] == nil {
				t.Errorf("%s shows that a %s goes from %s to %s, which no schedule did", path, machine, e.from, e.to)
			}
		}
	}
	if was := replace("only from", onlyFromTable()); was != onlyFromTable() && !*update {
		t.Errorf("the table of %s is not the code's", path)
	}
	for to, from := range onlyFrom() {
		for e := range seen {
			if e.machine == ofPhases && e.to == string(to) && !slices.Contains(from, Stage(e.from)) {
				t.Errorf("a phase went from %s to %s", e.from, e.to)
			}
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if t.Failed() {
		t.Log("go test ./orchestrator -run TestSimulation -update draws the diagrams anew: look at what changed")
	}
}

// checkPullStates holds the diagram of what only a phase with a pull request
// does against the transitions that were seen. Few schedules add to what is
// drawn; all draws it anew.
func checkPullStates(t *testing.T, seen edges, all bool) {
	t.Helper()
	path := filepath.Join("..", "docs", "states.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _, one := block(string(raw), ofPhases)
	before, pulls, after, two := block(string(raw), "pull")
	if !one || !two {
		t.Fatalf("%s lacks a block", path)
	}
	plain, drawn, own := readDiagram(ofPhases, text), readDiagram(ofPhases, pulls), edges{}
	for _, e := range seen.sorted(ofPhases) {
		from := slices.Concat(onlyFrom()[Stage(e.to)], onlyFromToo()[Stage(e.to)])
		if len(from) > 0 && !slices.Contains(from, Stage(e.from)) {
			t.Errorf("a phase went from %s to %s", e.from, e.to)
		}
		for _, l := range seen.labels(e) {
			if plain[e][l] {
				continue
			}
			own.add(e, l)
			if !drawn[e][l] && !*update {
				t.Errorf("a phase with a pull request goes from %s to %s by %q, which %s does not show", e.from, e.to, l, path)
			}
		}
	}
	if !*update {
		for _, e := range drawn.sorted(ofPhases) {
			if all && own[e] == nil {
				t.Errorf("%s shows that a phase with a pull request goes from %s to %s, which no schedule did", path, e.from, e.to)
			}
		}
		return
	}
	if !all {
		own.merge(drawn)
	}
	if err := os.WriteFile(path, []byte(before+own.diagram(ofPhases)+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
