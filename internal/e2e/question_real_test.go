//go:build real

package e2e

import (
	"os"
	"strings"
	"testing"

	"forge/internal/pace"
)

// stateAgent works until its phase is in the state of the file "asks-in", asks there,
// and goes by the first colour that anybody tells it.
const stateAgent = `
prompt=$(cat)
case "$prompt" in *"You are a "*" reviewer"*)
	if [ -e "$HALL/found" ]; then
		echo '{"verdict":"pass","confidence":0.9,"findings":[]}'
	else
		touch "$HALL/found"
		echo '{"verdict":"fail","confidence":0.9,"findings":[{"file":"thing1.txt","line":1,"severity":"critical","issue":"it has no colour","failure":"nobody sees it","suggestion":"give it one"}]}'
	fi
	exit ;;
esac
echo "$prompt" >>"$HALL/prompts"
state=$(cat "$HALL/asks-in")
holds() { case "$prompt" in *"$1"*) true ;; *) false ;; esac; }
asks() { echo '<question>{"text":"Which hue is it to have?"}</question>'; exit; }
done_with() {
	case "$state:$FORGE_PHASE_NAME" in
	job:*) echo "<promise>phase $FORGE_PHASE of job $FORGE_RUN is done</promise>" ;;
	*:part) echo "<promise>THE PART IS THERE</promise>" ;;
	*) echo "<promise>ISSUE ${FORGE_PHASE_NAME#thing} DONE</promise>" ;;
	esac
	exit
}
colour=$(echo "$prompt" | grep -o 'colour-[a-z]*' | head -n 1)
if [ -n "$colour" ]; then
	echo "$FORGE_PHASE $FORGE_ITERATION $colour" >>"$HALL/chosen"
	if [ "$state" = job ]; then
		echo "# $colour" >forge-job/plan.md
		printf 'todos:\n- title: First\n- title: Second\n- title: Third\n- title: Fourth\n- title: Fifth\n' >forge-job/todos.yaml
	else
		echo "$colour" >"$FORGE_PHASE_NAME.txt"
	fi
	done_with
fi
case $state in
later)
	[ "$FORGE_ITERATION" -eq 1 ] || asks
	echo draft >draft.txt ;;
pivot)
	if holds "fundamentally different approach"; then asks; fi
	echo "I am thinking." ;;
finding)
	if holds "## Fix what reviewers found"; then asks; fi
	echo draft >"$FORGE_PHASE_NAME.txt"
	done_with ;;
rewind)
	if holds "mix it anew"; then asks; fi
	echo '<question>{"text":"Which shape is it to have?"}</question>' ;;
part)
	[ "$FORGE_PHASE_NAME" != part ] || asks
	if [ -e part.txt ]; then
		cp part.txt thing1.txt
		done_with
	fi
	echo '<spawn-subphase>{"name":"part","promise":"THE PART IS THERE","budget":3,"reasoning":"it has a colour of its own"}</spawn-subphase>' ;;
try)
	case $FORGE_PHASE in *.1) asks ;; esac
	echo plain >"$FORGE_PHASE_NAME.txt"
	echo more >>"$FORGE_PHASE_NAME.txt"
	done_with ;;
job) asks ;;
esac
`

// questionStates are the states of a phase in which an agent may ask, beside its first
// iteration, which TestAQuestionFromEveryDoor has, with what they take of a
// configuration.
func questionStates() map[string]string {
	return map[string]string{
		"later":   "", // an iteration after one that changed something
		"pivot":   "[autonomy]\nstale_iterations_before_pivot = 1\n",
		"finding": "[reviews]\nenabled = true\nagent = \"mine\"\nask_again_secs = 0\n[autonomy.sensitive_patterns]\npatterns = [\"thing*\"]\n",
		"rewind":  "", // set back while another question waits
		"part":    "", // a sub-phase
		"try":     "[phases.overrides.\"thing*\"]\ntries = 2\n",
		"job":     "", // a phase of a job
	}
}

// In each state of a phase an agent asks; the factory is killed while that waits, and
// once more as soon as every door answered at once: one answer counts, the agent goes
// by that one, and the work goes on to the next question that is a person's.
func TestRealQuestionInEachState(t *testing.T) {
	pace.Slow(t, "a factory is killed twice in each state of a phase")
	for state, more := range questionStates() {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			c := newChannel(t)
			c.write("asks-in", state)
			c.write("repo/agent.sh", stateAgent)
			toml, err := os.ReadFile(c.at("repo/.forge/forge.toml"))
			if err != nil {
				t.Fatal(err)
			}
			c.write("repo/.forge/forge.toml", string(toml)+more)
			c.must("git", "commit", "--quiet", "--all", "--message", "an agent that asks in state "+state)
			if state == "job" {
				c.acknowledged("issue", "move", "1", "backlog")
				if out, stderr, code := c.forge("job", "start", "--description", "Paint it."); code != 3 {
					t.Fatalf("the job ended with %d: %s%s", code, out, stderr)
				}
			}
			c.serve()
			if state == "rewind" {
				_, id := c.asks("Which shape is it to have?")
				run, _, _ := strings.Cut(id, ".")
				c.acknowledged("rewind", run, "1", "0", "--message", "mix it anew")
			}
			id, told := c.killedAround("Which hue is it to have?")
			var chosen []string
			c.eventually("the agent goes by an answer", func() bool {
				data, err := os.ReadFile(c.at("chosen"))
				chosen = strings.Fields(string(data))
				return err == nil && len(chosen) >= 3
			})
			if state == "job" {
				c.asks("Go on after strategic phase 1?")
			} else {
				c.acknowledged("approve", askedBy(t, c.message("Approve")))
				c.eventually("the result lands", func() bool { return c.command("git", "show", "forge/landed:thing1.txt").Run() == nil })
				if made := strings.TrimSpace(c.must("git", "show", "forge/landed:thing1.txt")); made != chosen[2] {
					t.Errorf("%q landed, and the agent went by %q", made, chosen[2])
				}
			}
			c.kill()
			c.heardOnce(id, chosen[2], told)
			t.Logf("%s: asked as %s, gone by in phase %s, iteration %s; at the doors: %v", state, id, chosen[0], chosen[1], told)
			if (state == "part" || state == "try") && !strings.HasSuffix(chosen[0], ".1") {
				t.Errorf("the answer came to phase %s", chosen[0])
			}
			if bad := c.slack.Bad(); len(bad) > 0 {
				t.Errorf("Slack refuses: %v", bad)
			}
		})
	}
}
