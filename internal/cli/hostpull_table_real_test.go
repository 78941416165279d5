//go:build real

package cli

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// resumeTable is docs/jobs.md's table of resuming at the levels that stop there. A
// way is the places at which the job freezes in turn: the phase's number and
// kind, and what people say: + approve, - reject, and ~ to request changes,
// with the number of the phase that works on them where it is another.
var resumeTable = []struct {
	level string
	ends  string // phases that say that the job is complete
	way   string
	want  string // how the job ends
}{
	// Each row approved, and sent back: the first plan, what was done (which a
	// strategic phase is then about, on the unmerged work), a later plan, and
	// the end (likewise).
	{"dependent", "5 8", "1s~ 1s+ 2t~3 3s~ 3s+ 4t+ 5s~6 6s+ 7t+ 8s+", "completed"},
	{"hands_off", "5 6", "1s~ 1s+ 2t~3 3s~ 3s+ 4t+ 5s~6 6s+", "completed"},
	{"manual", "5 6", "1s~ 1s+ 2t~3 3s~ 3s+ 4t+ 5s~6 6s+", "completed"},
	{"guided", "5 6", "1s~ 1s+ 3s~ 3s+ 5s~6 6s+", "completed"},
	{"partial", "3 6", "1s~ 1s+ 3s~4 6s+", "completed"},
	{"review", "3 6", "3s~4 6s+", "completed"},
	{"semi_supervised", "3 6", "3s~4 6s+", "completed"},
	{"interactive", "3 6", "3s~4 6s+", "completed"},
	{"plan_then_review", "3 6", "3s~4 6s+", "completed"},
	{"full", "3", "", "completed"},
	{"autonomous", "3", "", "completed"},
	{"end_to_end", "3", "", "completed"},
	// Each row rejected.
	{"dependent", "", "1s-", "cancelled"},
	{"dependent", "", "1s+ 2t-", "cancelled"},
	{"dependent", "", "1s+ 2t+ 3s-", "cancelled"},
	{"dependent", "3", "1s+ 2t+ 3s-", "failed"},
	{"guided", "", "1s-", "cancelled"},
	{"guided", "", "1s+ 3s-", "cancelled"},
	{"guided", "3", "1s+ 3s-", "failed"},
	{"partial", "", "1s-", "cancelled"},
	{"partial", "3", "1s+ 3s-", "failed"},
	{"review", "3", "3s-", "failed"},
	{"semi_supervised", "3", "3s-", "failed"},
	{"interactive", "3", "3s-", "failed"},
	{"plan_then_review", "3", "3s-", "failed"},
	{"hands_off", "", "1s+ 2t-", "cancelled"},
	{"manual", "", "1s+ 2t-", "cancelled"},
}

func resumeRows(t *testing.T, g *hosttest.GiteaCrowd) {
	seen := map[string]bool{} // two steps of a way, one after the other, without their phases' numbers
	for _, row := range resumeTable {
		long := len(strings.Fields(row.way)) > 2
		news, before := false, ""
		for _, step := range append(strings.Fields(row.way), row.want) {
			step = strings.TrimLeft(step, "0123456789")
			if two := before + " " + step; !long && !seen[two] {
				seen[two], news = true, true
			}
			before = step
		}
		t.Run(row.level+" "+row.way, func(t *testing.T) {
			t.Parallel()
			if !news {
				pace.Soak(t, "it is long, or each two steps of its way are played by a row before it")
			}
			w := realPulls(t, g, countingScript(strings.Fields(row.ends))).hosted(g.URL, "forge")
			w.walk(row.level, strings.Fields(row.way), row.want)
		})
	}
}

// countingScript is an agent that plans five todos, does them, and says in some
// phases that the job is complete.
func countingScript(ends []string) string {
	var b strings.Builder
	for _, number := range ends {
		fmt.Fprintf(&b, "[[step]]\nphase = %q\ndo = [{write = \"forge-job/plan.md\", content = \"the end\\n\"}, "+
			"{print = '<job-complete>{\"summary\": \"Counted\", \"deliverables\": [], \"confidence\": 0.9, \"notes\": \"\"}</job-complete>'}]\n", number)
	}
	return b.String() + `[[step]]
do = [{run = '''case "$FORGE_PHASE_NAME" in
strategic*) for i in 1 2 3 4 5; do echo "- {title: number $i of phase $FORGE_PHASE, done: false}"; done >forge-job/todos.yaml
	echo "round $FORGE_ITERATION of phase $FORGE_PHASE" >forge-job/plan.md ;;
*) sed -i 's/done: false/done: true/' forge-job/todos.yaml
	echo "phase $FORGE_PHASE" >out-$FORGE_PHASE.txt ;;
esac'''}, {print = "I have done it. <promise>phase ${FORGE_PHASE} of job ${FORGE_RUN} is done</promise>"}]
`
}

// walk takes a job from one freeze to the next.
func (w *giteaWorld) walk(level string, way []string, want string) {
	t := w.t
	last := map[string]int{"completed": exitDone, "cancelled": exitFailed, "failed": exitFailed}[want]
	first := exitFrozen
	if len(way) == 0 {
		first = last
	}
	// Phase starts, which some levels ask about, are no matter of the host.
	begun := w.forge("job", "start", "-d", "Count to five.", "--level", level, "--yes").want(first)
	_, rest, _ := strings.Cut(begun.stdout, "Job ")
	job, _, _ := strings.Cut(rest, ":")
	rounds, number, branch := map[string]int{}, int64(0), ""
	for i, step := range way {
		next := exitFrozen
		if i == len(way)-1 {
			next = last
		}
		at, kind := step[:1], map[byte]string{'s': "strategic", 't': "tactical"}[step[1]]
		look, id := w.current()
		// What a strategic phase makes of a request is shown where it was made.
		same := i > 0 && strings.HasPrefix(way[i-1][2:], "~") && (len(way[i-1]) == 3 || way[i-1][3:] == at)
		if !same {
			branch = "forge/phases/" + job + "/phase-" + at + "-" + kind
		}
		if look.Branch != branch || look.Base != "forge/job-"+job || same != (look.Number == number) {
			t.Fatalf("%s: frozen with %+v, before it was %d; want %s", step, look.PullRequest, number, branch)
		}
		if i > 0 && !same && len(way[i-1]) > 3 {
			// The level stops at no later plan: what became of the request was
			// merged as the policy has it.
			w.auto = append(w.auto, number)
		}
		number = look.Number
		rounds[at]++
		switch step[2] {
		case '+':
			w.says("ann", look, work.PullApproved)
			w.forge("job", "resume").want(next)
			w.landed(look)
		case '~':
			path := "forge-job/plan.md"
			if kind == "tactical" {
				path = "out-" + at + ".txt"
			}
			w.says("ann", look, work.PullChangesRequested, hosttest.Line{Path: path, Line: 1, Body: "louder in " + step})
			w.forge("job", "resume").want(next)
			in, iteration := at, fmt.Sprint(rounds[at]+1)
			if len(step) > 3 {
				in, iteration = step[3:], "1"
			}
			w.forge("logs", in, "--prompt", "--iteration", iteration).want(exitDone).says("louder in "+step, path+":1")
		case '-':
			w.forge("reject", id, "-m", "no", "--resume").want(next)
			if after, err := w.host.Look(t.Context(), number); err != nil || after.State != work.PullClosed {
				t.Errorf("%s: rejected, and %+v, %v", step, after.PullRequest, err)
			}
		}
	}
	w.forge("job", "list").want(exitDone).says(job, want)
	w.sound()
}
