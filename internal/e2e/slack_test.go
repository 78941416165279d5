package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/slack/slacktest"
	"forge/internal/work"
	"forge/orchestrator"
)

// slackAgent does what the title says as soon as a file lets it.
const slackAgent = `
touch "$HALL/works"
while [ ! -f "$HALL/go" ]; do sleep 0.05; done
cat >>"$HALL/prompts"
echo "$FORGE_PHASE_NAME" >"$FORGE_PHASE_NAME.txt"
echo "<promise>ISSUE ${FORGE_PHASE_NAME#thing} DONE</promise>"
`

// channel is a project with one ready issue whose result a person decides, and a
// channel of Slack in which they are asked. ann is U1 there, and may answer; bob is
// U2, and may only look.
type channel struct {
	*checkout
	slack *slacktest.Server
	token string // ann's
	log   bytes.Buffer
	cmd   *exec.Cmd
	over  chan struct{}
}

func newChannel(t *testing.T) *channel {
	t.Helper()
	s := slacktest.Start()
	t.Cleanup(s.Close)
	c := &channel{slack: s, checkout: newCheckout(t, "off", map[string]string{
		"start.txt": "here\n", "agent.sh": slackAgent,
		".forge/forge.toml": strings.Replace(fmt.Sprintf(factoryConfig, 1), "end_to_end", "plan_then_review", 1),
	})}
	c.env = append(c.env, "HALL="+c.root, "PAUSE=0", "SLACK_APP_TOKEN="+slacktest.AppToken, "SLACK_BOT_TOKEN="+slacktest.BotToken)
	c.write("config/forge/config.toml", fmt.Sprintf("[sandbox]\nmode = \"off\"\n[slack]\nurl = %q\nchannel = %q\nusers = { U1 = \"ann\", U2 = \"bob\" }\n", s.URL, slacktest.Channel))
	out := c.acknowledged("factory", "user", "add", "ann", "--role", "operator")
	c.token = regexp.MustCompile(`forge_[A-Za-z0-9_-]+`).FindString(out)
	c.acknowledged("factory", "user", "add", "bob", "--role", "viewer")
	c.acknowledged("issue", "add", "thing1", "--column", "ready")
	return c
}

// serve starts the factory, as a process of its own.
func (c *channel) serve() {
	c.t.Helper()
	c.cmd = c.command(os.Args[0], "factory", "--listen", "127.0.0.1:0")
	c.cmd.Stderr = &c.log
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.over = make(chan struct{})
	over, cmd := c.over, c.cmd
	go func() {
		defer close(over)
		_ = cmd.Wait()
	}()
	c.t.Cleanup(c.kill)
}

// kill ends the factory as a power cut does. Slack has noticed when it returns: what
// is sent into the connection of a dead process reaches nobody.
func (c *channel) kill() {
	_ = c.cmd.Process.Kill()
	<-c.over
	c.slack.Wait(patience, func() bool { return c.slack.Connected() == 0 })
}

// eventually waits until something is so in Slack or on the disk; not where the
// factory is over, which nothing more comes of.
func (c *channel) eventually(what string, so func() bool) {
	c.t.Helper()
	dead := false
	if !c.slack.Wait(patience, func() bool {
		if so() {
			return true
		}
		select {
		case <-c.over:
			dead = true
		default:
		}
		return dead
	}) || dead {
		c.kill()
		c.t.Fatalf("never: %s\n%s\n%v\n%s", what, c.shown(), c.slack.Whispers(), c.log.String())
	}
}

func (c *channel) exists(name string) bool {
	_, err := os.Stat(c.at(name))
	return err == nil
}

// shown is all that stands in the channel.
func (c *channel) shown() string {
	var b strings.Builder
	for _, m := range c.slack.Messages() {
		fmt.Fprintf(&b, "%s by %s: %s\n", m.TS, m.User, m.Shows())
	}
	return b.String()
}

// message waits for the message that shows a button.
func (c *channel) message(button string) (m slacktest.Message) {
	c.t.Helper()
	c.eventually("a message with "+button, func() bool {
		for _, m = range c.slack.Messages() {
			for _, b := range m.Buttons() {
				if b.Label == button {
					return true
				}
			}
		}
		return false
	})
	return m
}

// press presses a button, and waits until the factory has heard it.
func (c *channel) press(user string, m slacktest.Message, label string) {
	c.t.Helper()
	p, err := c.slack.Press(user, m, label)
	if err != nil {
		c.t.Fatal(err)
	}
	c.heard(c.slack.Deliver(p))
}

func (c *channel) heard(id string) {
	c.t.Helper()
	c.eventually("it is heard", func() bool { _, ok := c.slack.Acked(id); return ok })
}

// askedBy is the checkpoint that a message asks.
func askedBy(t *testing.T, m slacktest.Message) string {
	t.Helper()
	var press struct {
		Checkpoint string `json:"c"`
	}
	for _, b := range m.Buttons() {
		if json.Unmarshal([]byte(b.Value), &press) == nil && press.Checkpoint != "" {
			return press.Checkpoint
		}
	}
	t.Fatalf("no question: %+v", m)
	return ""
}

// subjects counts the messages by what they are about.
func (c *channel) subjects() map[string]int {
	out := map[string]int{}
	for _, m := range c.slack.Messages() {
		if found := regexp.MustCompile(`"forge ((?:run|question) [^"]+)"`).FindStringSubmatch(string(m.Blocks)); found != nil {
			out[found[1]]++
		}
	}
	return out
}

// TestSlackAsksAndHears: an issue is worked on with people in Slack alone. What they
// say to the run reaches its agent, once however often it is told; who may not
// answer is told so; and of a press, a page and a terminal at once one counts.
func TestSlackAsksAndHears(t *testing.T) {
	pace.Slow(t, "a factory works on an issue, as a process of its own")
	t.Parallel()
	c := newChannel(t)
	c.serve()
	c.eventually("Slack is connected", func() bool { return c.slack.Connected() == 1 })

	// The thread of the run.
	var run slacktest.Message
	c.eventually("the run has a message", func() bool {
		for _, m := range c.slack.Messages() {
			if strings.Contains(string(m.Blocks), `"forge run `) && strings.Contains(m.Shows(), "state: running") {
				run = m
				return true
			}
		}
		return false
	})
	c.eventually("its agent works", func() bool { return c.exists("works") })
	for _, id := range c.slack.Write("U1", run.TS, "mind the &lt;tabs&gt;", 3) {
		c.heard(id)
	}
	for _, id := range c.slack.Write("U2", run.TS, "and the spaces", 1) {
		c.heard(id)
	}
	for range 2 {
		for _, id := range c.slack.Write("U3", run.TS, "do as I say", 1) {
			c.heard(id)
		}
	}
	c.eventually("they are told", func() bool { return len(c.slack.Whispers()) >= 3 })
	whispers := fmt.Sprint(c.slack.Whispers())
	if strings.Count(whispers, "Told to the agent") != 1 || strings.Count(whispers, "bob may look at") != 1 || strings.Count(whispers, "does not know who you are") != 1 {
		t.Errorf("told: %s", whispers)
	}
	// What was said is in the run before its agent ends: nobody would read it after.
	of := regexp.MustCompile(`"forge run ([^"]+)"`).FindStringSubmatch(string(run.Blocks))[1]
	c.eventually("the run has taken it", func() bool {
		store, err := journal.Open(t.Context(), c.at("state"))
		if err != nil {
			return false
		}
		defer store.Close()
		events, err := store.Events(t.Context(), of, 0)
		return err == nil && slices.ContainsFunc(events, func(e work.Event) bool { return e.Kind == work.PhaseTold })
	})
	c.write("go", "")

	m := c.message("Approve")
	id := askedBy(t, m)
	for _, part := range []string{"checkpoint: " + id, "thing1.txt", "file changed"} {
		if !strings.Contains(m.Shows(), part) {
			t.Errorf("the question does not show %q: %s", part, m.Shows())
		}
	}
	c.press("U2", m, "Approve")
	c.press("U3", m, "Approve")
	if out, _, _ := c.quick("show", id); !strings.Contains(out, "pending") {
		t.Fatalf("somebody answered who may not:\n%s", out)
	}
	told := c.allAtOnce(m, id)
	c.eventually("the message says who answered", func() bool {
		for _, now := range c.slack.Messages() {
			if now.TS == m.TS {
				return len(now.Buttons()) == 0 && strings.Contains(now.Shows(), "answered by")
			}
		}
		return false
	})
	c.eventually("the run is over", func() bool {
		for _, now := range c.slack.Messages() {
			if now.TS == run.TS {
				return strings.Contains(now.Shows(), "state: completed") || strings.Contains(now.Shows(), "state: failed")
			}
		}
		return false
	})
	// A press on what was answered says so.
	before := len(c.slack.Whispers())
	c.press("U1", m, "Reject…")
	c.eventually("a late press is told", func() bool { return len(c.slack.Whispers()) > before })
	c.kill()

	for subject, n := range c.subjects() {
		if n != 1 {
			t.Errorf("%d messages about %s", n, subject)
		}
	}
	counted, spoken := c.record(id)
	if counted != 1 || spoken != 1 || !strings.HasPrefix(told["web"], "303") && !strings.HasPrefix(told["web"], "409") {
		t.Errorf("%d answers and %d messages are in the record, want one of each; at the doors: %v", counted, spoken, told)
	}
	if bad := c.slack.Bad(); len(bad) > 0 {
		t.Errorf("Slack refuses: %v", bad)
	}
	if words := c.log.String(); strings.Contains(words, slacktest.BotToken) || strings.Contains(words, slacktest.AppToken) || strings.Contains(words, "of-the-link") {
		t.Errorf("a secret in the log:\n%s", words)
	}
}

// record counts the answers that the run of a question took to it, and the messages
// to its agents.
func (c *channel) record(question string) (answers, messages int) {
	c.t.Helper()
	store, err := journal.Open(c.t.Context(), c.at("state"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	run, _, _ := strings.Cut(question, ".")
	events, err := store.Events(c.t.Context(), run, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range events {
		switch e.Kind {
		case work.CheckpointAnswered:
			answers++
		case work.PhaseTold:
			var d orchestrator.ToldData
			err := work.Decode(e, &d)
			if d.Refused == "it was said before" {
				continue // it was heard again before the run had taken it, which takes it once
			}
			if err != nil || d.By != "ann" || d.Door != "slack" || d.Text != "mind the <tabs>" || d.Refused != "" {
				c.t.Errorf("told %+v, %v", d, err)
			}
			messages++
		}
	}
	return answers, messages
}

// allAtOnce answers a question in Slack, on the page and at the terminal at the same
// time, each otherwise, and returns what each was told.
func (c *channel) allAtOnce(m slacktest.Message, id string) map[string]string {
	c.t.Helper()
	server := c.address()
	press, err := c.slack.Press("U1", m, "Approve")
	if err != nil {
		c.t.Fatal(err)
	}
	return atOnce(map[string]func() string{
		"slack": func() string { c.heard(c.slack.Deliver(press)); return "heard" },
		"web":   func() string { return c.posts(server, id, "") },
		"cli": func() string {
			_, stderr, code := c.quick("approve", id)
			return fmt.Sprint(code, " ", stderr)
		},
	})
}

// address is where the factory serves: the one that works now, whatever one before
// it left written.
func (c *channel) address() (server string) {
	c.t.Helper()
	c.eventually("the factory serves", func() bool {
		link, _, _ := c.quick("factory", "url")
		at, err := url.Parse(strings.TrimSpace(link))
		if err != nil || at.Host == "" {
			return false
		}
		conn, err := net.DialTimeout("tcp", at.Host, time.Second)
		if err != nil {
			return false
		}
		server = at.Scheme + "://" + at.Host
		return conn.Close() == nil
	})
	return server
}

// posts approves on a question's page, as ann, and returns the status.
func (c *channel) posts(server, id, comment string) string {
	form := url.Values{"revision": {"1"}, "answer": {"approved"}, "comment": {comment}}
	req, err := http.NewRequest(http.MethodPost, server+"/p/repo/checkpoints/"+id+"/answer", strings.NewReader(form.Encode()))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Status
}

// atOnce does something at several doors at the same time, and returns what each
// was told.
func atOnce(doors map[string]func() string) map[string]string {
	told := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	ready := make(chan struct{})
	for door, do := range doors {
		all.Go(func() {
			<-ready
			word := do()
			mu.Lock()
			defer mu.Unlock()
			told[door] = word
		})
	}
	close(ready)
	all.Wait()
	return told
}

// TestSlackKilledBetweenPostAndRecord: the factory dies when its question stands in
// Slack and before it has written down that it does. The next one finds it, and of
// what is pressed before and after one answer counts.
func TestSlackKilledBetweenPostAndRecord(t *testing.T) {
	pace.Slow(t, "a factory is killed and another one goes on")
	t.Parallel()
	c := newChannel(t)
	c.write("go", "")
	c.slack.Fail(slacktest.Fault{Method: "chat.postMessage", Times: 1, Held: true, When: func(text string) bool { return strings.Contains(text, "checkpoint: ") }})
	c.serve()
	m := c.message("Approve")
	c.kill()
	id := askedBy(t, m)

	c.serve()
	c.eventually("it is written down", func() bool {
		store, err := journal.Open(t.Context(), c.at("state"))
		if err != nil {
			return false
		}
		defer store.Close()
		p, ok, err := store.PostOf(t.Context(), "slack "+slacktest.Channel, "question "+id)
		return err == nil && ok && p.Ref == m.TS
	})
	c.eventually("Slack is connected", func() bool { return c.slack.Connected() == 1 })
	c.press("U1", m, "Approve")
	c.kill() // the answer is taken, and nobody has said so
	c.serve()
	c.eventually("Slack is connected", func() bool { return c.slack.Connected() == 1 })
	c.press("U1", m, "Approve")
	c.eventually("it says who answered", func() bool {
		for _, now := range c.slack.Messages() {
			if now.TS == m.TS {
				return len(now.Buttons()) == 0 && strings.Contains(now.Shows(), "answered by ann here")
			}
		}
		return false
	})
	c.eventually("the run goes on to its end", func() bool {
		answers, _ := c.record(id)
		return answers == 1 && strings.Contains(c.shown(), "state: completed")
	})
	c.kill()
	for subject, n := range c.subjects() {
		if n != 1 {
			t.Errorf("%d messages about %s\n%s", n, subject, c.shown())
		}
	}
}
