package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"forge/internal/work"
)

// player is the process of a scripted agent.
type player struct {
	out  io.Writer
	root *os.Root // the phase folder
	part scriptPart
	done bool // the result is out
}

func playScript(stdin io.Reader, stdout io.Writer) (code int) {
	p := player{out: stdout}
	err := json.NewDecoder(bufio.NewReader(stdin)).Decode(&p.part)
	if err == nil {
		p.root, err = os.OpenRoot(".")
	}
	if err != nil {
		p.say(map[string]any{"type": "failed", "text": err.Error()})
		return 1
	}
	defer p.root.Close()
	if slices.ContainsFunc(p.part.Do, func(a scriptAction) bool { return a.IgnoreTerm }) {
		// From the beginning: who sees what it did before it hangs may ask it to end at once.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	}
	p.say(map[string]any{"type": "session", "id": p.part.Session})
	for i, a := range p.part.Do {
		end, code, err := p.act(a)
		if err != nil {
			p.say(map[string]any{"type": "failed", "text": fmt.Sprintf("action %d, %s: %v", i+1, a.Verb, err)})
			return 1
		}
		if end {
			return code
		}
	}
	p.result()
	return 0
}

// say prints one event.
func (p *player) say(event map[string]any) {
	line, err := json.Marshal(event)
	if err != nil {
		line = []byte(`{"type":"failed","text":"an event cannot be written"}`)
	}
	_, _ = p.out.Write(append(line, '\n')) // the reader may be gone, which is no reason to behave
}

// filled puts the values of Forge's variables into a text: some promises hold
// the run's id, which no file can know.
func filled(text string) string {
	for _, name := range []string{"FORGE_RUN", "FORGE_PHASE", "FORGE_PHASE_NAME", "FORGE_ITERATION", "FORGE_ATTEMPT", "FORGE_LEVEL"} {
		text = strings.ReplaceAll(text, "${"+name+"}", os.Getenv(name))
	}
	return text
}

func (p *player) result() {
	if !p.done {
		p.done = true
		p.say(map[string]any{"type": "result"})
	}
}

// act does one action; end says that it was the last one.
func (p *player) act(a scriptAction) (end bool, code int, err error) {
	switch a.Verb {
	case "write":
		return false, 0, p.write(a)
	case "delete":
		return false, 0, p.root.RemoveAll(a.Text)
	case "mkdir":
		return false, 0, p.root.MkdirAll(a.Text, 0o755)
	case "record":
		how := "new"
		if p.part.Continued {
			how = "continued"
		}
		line := fmt.Sprintf("phase %s iteration %s attempt %s session %s %s\n",
			os.Getenv("FORGE_PHASE"), os.Getenv("FORGE_ITERATION"), os.Getenv("FORGE_ATTEMPT"), how, p.part.Session)
		return false, 0, p.write(scriptAction{Text: a.Text, Content: line, Append: true})
	case "print":
		p.say(map[string]any{"type": "text", "text": filled(a.Text)})
	case "echo_prompt":
		p.say(map[string]any{"type": "text", "text": p.part.Prompt})
	case "stderr":
		fmt.Fprintln(os.Stderr, a.Text)
	case "flood":
		p.flood(a.Count, a.OneLine)
	case "garbage":
		p.garbage(a.Count)
	case "subphase":
		return false, 0, p.subPhase(a.SubPhase)
	case "sleep":
		time.Sleep(a.Time)
	case "hang":
		for {
			time.Sleep(time.Hour)
		}
	case "run":
		return false, 0, p.run(a.Text)
	case "spawn":
		return false, 0, p.spawn(a)
	case "usage":
		p.usage(a.Usage)
	case "deny":
		p.say(map[string]any{"type": "denied", "text": a.Text})
	case "lose_session":
		p.say(map[string]any{"type": "lost"})
		return true, 1, nil
	case "rate_limit":
		// A second begun counts whole: a reset that has passed when it is read names none.
		p.say(map[string]any{"type": "outage", "reset_at": time.Now().Add(a.Time + time.Second - 1).Unix()})
		return true, 1, nil
	case "fail":
		p.say(map[string]any{"type": "failed", "text": a.Text})
		return true, 1, nil
	case "result":
		p.result()
	case "exit":
		if a.Count == 0 {
			p.result()
		}
		return true, int(a.Count), nil
	default:
		return false, 0, errors.New("unknown action")
	}
	return false, 0, nil
}

// write makes or changes a file. The root keeps it in the folder, also behind
// symlinks.
func (p *player) write(a scriptAction) error {
	if dir := path.Dir(filepath.ToSlash(a.Text)); dir != "." {
		if err := p.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if a.Append {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := p.root.OpenFile(a.Text, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(a.Content)
	if a.Mode != 0 {
		err = errors.Join(err, f.Chmod(a.Mode))
	}
	return errors.Join(err, f.Close())
}

const floodLine = "all work and no play makes a dull flood of words, again and again, "

// flood says n bytes: messages of 64 KiB, or a single one.
func (p *player) flood(n int64, oneLine bool) {
	words := strings.Repeat(floodLine, 1000)
	for left := n; left > 0; {
		size := left
		if !oneLine {
			size = min(left, 64<<10)
		}
		_, _ = io.WriteString(p.out, `{"type":"text","text":"`)
		for size > 0 {
			k := min(size, int64(len(words)))
			_, _ = io.WriteString(p.out, words[:k])
			size, left = size-k, left-k
		}
		_, _ = io.WriteString(p.out, "\"}\n")
	}
}

// garbage says n bytes that are not UTF-8.
func (p *player) garbage(n int64) {
	_, _ = io.WriteString(p.out, `{"type":"text","text":"`)
	junk := []byte{0xff, 0xc3, 0x28, 0x80, 0xed, 0xa0, 0x80, 0xf0, 0x9f}
	for i := int64(0); i < n; i += int64(len(junk)) {
		_, _ = p.out.Write(junk[:min(int64(len(junk)), n-i)])
	}
	_, _ = io.WriteString(p.out, "\"}\n")
}

func (p *player) subPhase(s work.SubPhaseRequest) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	p.say(map[string]any{"type": "text", "text": "<spawn-subphase>" + string(body) + "</spawn-subphase>"})
	return nil
}

// run executes a shell command as an agent's tool would: its output is not
// among the agent's words, and its failure is its own affair.
func (p *player) run(command string) error {
	p.say(map[string]any{"type": "tool", "text": command})
	defer p.say(map[string]any{"type": "tool_end"})
	c := exec.Command("sh", "-c", command)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// spawn leaves a process behind in a session of its own.
func (p *player) spawn(a scriptAction) error {
	c := exec.Command("sleep", strconv.FormatFloat(a.Time.Seconds(), 'f', 3, 64))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.HoldOutput {
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
	}
	return c.Start()
}

func (p *player) usage(u work.Usage) {
	event := map[string]any{"type": "usage"}
	if u.InputTokens != nil {
		event["input_tokens"] = *u.InputTokens
	}
	if u.OutputTokens != nil {
		event["output_tokens"] = *u.OutputTokens
	}
	if u.CostUSD != nil {
		event["cost_usd"] = *u.CostUSD
	}
	p.say(event)
}
