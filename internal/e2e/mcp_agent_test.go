package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"forge/internal/mcp"
	"forge/internal/pace"
)

// toolsAgent reads through Forge's tools without end, until Forge is gone; when it is
// started again, it asks a person by a tool, and goes by the answer.
const toolsAgent = `#!/bin/sh
prompt=$(cat)
conf=$(cat "$FORGE_MCP") || exit 9
exe=$(echo "$conf" | sed 's/.*"command":"\([^"]*\)".*/\1/')
socket=$(echo "$conf" | sed 's/.*"__agent-tools","\([^"]*\)".*/\1/')
hello() {
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}'
	echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
}
call() { echo '{"jsonrpc":"2.0","id":'"$1"',"method":"tools/call","params":{"name":"'"$2"'","arguments":'"$3"'}}'; }
if [ ! -e "$HALL/killed" ]; then
	{ hello; call 2 ask '{"text":"Lost?"}'; i=10; while [ $i -lt 9999 ]; do i=$((i+1)); call $i why '{}'; sleep 0.01; done; } | "$exe" __agent-tools "$socket" >"$HALL/calls"
	"$exe" __agent-tools "$socket" </dev/null 2>"$HALL/again.new"
	echo "exit $?" >>"$HALL/again.new"
	mv "$HALL/again.new" "$HALL/again"
	exec sleep 60
fi
case $prompt in
*azure*)
	echo azure >hue.txt
	echo "<promise>ALL DONE</promise>"
	;;
*)
	: >"$HALL/asked"
	{ hello; call 2 ask '{"text":"Which hue?","choices":["cobalt","azure"]}'; n=0; until grep -q '"id":2' "$HALL/asked" || [ $n -gt 1200 ]; do n=$((n+1)); sleep 0.05; done; } | "$exe" __agent-tools "$socket" >"$HALL/asked"
	echo '<question>{"text":"Which hue?"}</question>'
	;;
esac
`

// TestAToolsCallWhenForgeIsKilled: Forge dies while its agent calls its tools, which no
// sandbox ends with it. The agent's server is gone, nobody serves its token any more,
// and nothing of the run is lost: whoever resumes is asked, once, although the agent
// asks by the tool and in words.
func TestAToolsCallWhenForgeIsKilled(t *testing.T) {
	pace.Slow(t, "forge is started and killed as a process")
	t.Parallel()
	c := newCheckout(t, "off", map[string]string{
		".forge/forge.toml": `
[agent]
use = "asks"
[agents.asks]
kind = "exec"
command = ["./agent.sh"]
env = ["HALL"]
mcp = true
[verify]
commands = ["test ! -e bad.txt"]
[proof]
controls = false
`, ".forge/phases.json": `{"phases":[{"number":"01","name":"only","promise":"ALL DONE","budget":3}]}`, "agent.sh": toolsAgent, "a.txt": "a\n",
	})
	c.env = append(c.env, "HALL="+c.root)
	cmd := c.command(os.Args[0], "run", "--level", "review")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	c.untilFile("calls", `"id":12,`, over)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err == nil {
		t.Error("it ended well although it was killed")
	}
	if again := c.untilFile("again", "exit", nil); !strings.Contains(again, "exit 1") || !strings.Contains(again, "reach Forge") {
		t.Errorf("after Forge's death its server says %q", again)
	}
	before := len(c.toolCalls())
	if said, _ := os.ReadFile(c.at("calls")); !strings.Contains(string(said), "Your question is kept") || !strings.Contains(string(said), "phase.start") && !strings.Contains(string(said), "phase 01") {
		t.Errorf("the tools said %.2000s", said)
	}

	c.write("killed", "")
	if _, stderr, code := c.forge("resume"); code != 3 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	waits := c.checkpoints()
	if len(waits) != 1 || waits[0].Kind != "ckpt.question" || !strings.Contains(waits[0].Question, "Which hue?") {
		t.Fatalf("what waits is %+v", waits)
	}
	asked := c.toolCalls()[before:]
	if len(asked) != 1 || asked[0].Tool != "ask" || asked[0].Door != mcp.AgentDoor || asked[0].Token == c.toolCalls()[0].Token {
		t.Errorf("on record since are %+v", asked)
	}
	c.acknowledged("approve", waits[0].ID, "--choice", "2")
	if _, stderr, code := c.forge("resume"); code != 3 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	final := c.checkpoints()
	if len(final) != 2 {
		t.Fatalf("asked were %+v", final)
	}
	c.acknowledged("approve", final[1].ID)
	if _, stderr, code := c.forge("resume"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if made := c.must("git", "show", "HEAD:hue.txt"); made != "azure\n" {
		t.Errorf("the agent went by %q", made)
	}
}

// untilFile waits until a file holds a word, and fails when who writes it is over.
func (c *checkout) untilFile(name, word string, over <-chan error) string {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-over:
			c.t.Fatalf("it ended before %s held %q: %v", name, word, err)
		default:
		}
		if text, _ := os.ReadFile(c.at(name)); strings.Contains(string(text), word) {
			return string(text)
		}
	}
	c.t.Fatalf("%s never held %q", name, word)
	return ""
}

// toolCalls are the calls of tools that are on record.
func (c *checkout) toolCalls() []mcp.Call {
	c.t.Helper()
	records := &mcp.Records{Dir: c.at("state/server")}
	calls, err := records.Last(100_000)
	if err != nil {
		c.t.Fatal(err)
	}
	return calls
}
