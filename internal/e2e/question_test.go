package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/slack/slacktest"
	"forge/internal/work"
	"forge/orchestrator"
)

// questionAgent asks for a colour, and takes the first that anybody tells it.
const questionAgent = `
prompt=$(cat)
echo "$prompt" >>"$HALL/prompts"
colour=$(echo "$prompt" | grep -o 'colour-[a-z]*' | head -n 1)
if [ -z "$colour" ]; then
	echo '<question>{"text":"Which hue is it to have?"}</question>'
	exit
fi
echo "$colour" >"$FORGE_PHASE_NAME.txt"
echo "<promise>ISSUE ${FORGE_PHASE_NAME#thing} DONE</promise>"
`

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestAQuestionFromEveryDoor: an agent asks. The factory is killed while that waits,
// and once more as soon as Slack, page, terminal and another program have answered at
// once: one answer counts, and is the one that the agent goes by.
func TestAQuestionFromEveryDoor(t *testing.T) {
	pace.Slow(t, "a factory is killed twice, and works on an issue to its end")
	t.Parallel()
	c := newChannel(t)
	c.write("repo/agent.sh", questionAgent)
	c.must("git", "commit", "--quiet", "--all", "--message", "an agent that asks")
	c.serve()
	id, told := c.killedAround("Which hue is it to have?")

	final := c.message("Approve")
	c.acknowledged("approve", askedBy(t, final))
	c.eventually("the result lands", func() bool { return c.command("git", "show", "forge/landed:thing1.txt").Run() == nil })
	c.kill()

	c.heardOnce(id, strings.TrimSpace(c.must("git", "show", "forge/landed:thing1.txt")), told)
}

// killedAround waits until a question is asked, and kills the factory while it waits,
// and once more as soon as every door has answered it at once. Another one works then.
func (c *channel) killedAround(question string) (id string, told map[string]string) {
	c.t.Helper()
	m, id := c.asks(question)
	c.kill()
	c.serve()
	c.eventually("Slack is connected", func() bool { return c.slack.Connected() == 1 })
	token := strings.TrimSpace(c.acknowledged("token", "new", "--name", "editor", "--tier", "answer"))
	told = c.allDoors(m, id, token)
	c.kill()
	c.serve()
	return id, told
}

// asks waits for the message of a question, and is that with the question's id.
func (c *channel) asks(question string) (m slacktest.Message, id string) {
	c.t.Helper()
	c.eventually("it is asked: "+question, func() bool {
		for _, m = range c.slack.Messages() {
			if strings.Contains(m.Shows(), question) && strings.Contains(string(m.Blocks), `"forge question `) {
				return true
			}
		}
		return false
	})
	return m, strings.Fields(regexp.MustCompile(`forge question ([^"]+)`).FindStringSubmatch(string(m.Blocks))[1])[0]
}

// heardOnce fails unless one answer to a question counts, the door that it came from
// alone said so, and the agent heard that one and no other; made is what it went by.
func (c *channel) heardOnce(id, made string, told map[string]string) {
	c.t.Helper()
	for door, yes := range map[string]string{"web": "303 ", "cli": "0 ", "mcp": "an error: false "} {
		if said := strings.HasPrefix(told[door], yes); said != (made == "colour-"+door) {
			c.t.Errorf("the agent went by %q, and %s was told: %s", made, door, told[door])
		}
	}
	if counts := c.answersTo(id); len(counts) != 1 || counts[0] != made {
		c.t.Errorf("counted %q, and the agent went by %q; at the doors: %v", counts, made, told)
	}
	prompts, err := os.ReadFile(c.at("prompts"))
	heard := regexp.MustCompile(`colour-[a-z]+`).FindAllString(string(prompts), -1)
	slices.Sort(heard)
	if heard = slices.Compact(heard); err != nil || len(heard) != 1 {
		c.t.Errorf("the agent heard %q: %v", heard, err)
	}
}

// answersTo are the words of the answers that count to a question.
func (c *channel) answersTo(id string) (words []string) {
	c.t.Helper()
	store, err := journal.Open(c.t.Context(), c.at("state"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	run, _, _ := strings.Cut(id, ".")
	events, err := store.Events(c.t.Context(), run, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range events {
		var d orchestrator.CheckpointAnsweredData
		if e.Kind == work.CheckpointAnswered && work.Decode(e, &d) == nil && d.ID == id && d.Refused == "" {
			words = append(words, d.Reason)
		}
	}
	return words
}

// allDoors answers a question in words at every door at the same time, and returns
// what each was told.
func (c *channel) allDoors(m slacktest.Message, id, token string) map[string]string {
	c.t.Helper()
	server := c.address()
	session := c.speaks(server, token)
	defer func() { _ = session.Close() }()
	return atOnce(map[string]func() string{
		"slack": func() string {
			for _, said := range c.slack.Write("U1", m.TS, "colour-slack", 1) {
				c.heard(said)
			}
			return "heard"
		},
		"web": func() string { return c.posts(server, id, "colour-web") },
		"cli": func() string {
			_, stderr, code := c.quick("approve", id, "--message", "colour-cli")
			return fmt.Sprint(code, " ", stderr)
		},
		"mcp": func() string {
			return calls(c.t, session, &sdk.CallToolParams{Name: "answer", Arguments: map[string]any{"id": id, "revision": 1, "answer": "approve", "comment": "colour-mcp"}})
		},
	})
}

// speaks is a session with a server by MCP, to be closed before that is killed.
func (c *channel) speaks(server, token string) *sdk.ClientSession {
	c.t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(c.t.Context(),
		&sdk.StreamableClientTransport{Endpoint: server + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return session
}

// calls calls a tool, and is what came of it in words.
func calls(t testing.TB, session *sdk.ClientSession, tool *sdk.CallToolParams) string {
	res, err := session.CallTool(t.Context(), tool)
	if err != nil {
		return err.Error()
	}
	said, err := json.Marshal(res.Content)
	return fmt.Sprint("an error: ", res.IsError, " ", string(said), err)
}
