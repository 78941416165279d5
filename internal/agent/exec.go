package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"forge/internal/redact"
	"forge/internal/work"
)

// The kind "exec" is any command: the prompt comes on its standard input, and
// all of its standard output is one message.

// execTools names the file with mcpServers of an agent that is to have Forge's tools.
const execTools = "FORGE_MCP"

func launchExec(s setting) (launch, error) {
	path, args, err := execCommand(s.req.Agent, s.environ)
	if err != nil {
		return launch{}, err
	}
	var set []string
	if s.tools != nil {
		set = []string{execTools + "=" + s.tools.settings()}
	}
	return launch{
		path: path, args: args, stdin: s.req.Prompt, set: set,
		readFiles:    shown(path),
		startsAtOnce: true,
		stream:       &execStream{live: s.live, red: s.red},
	}, nil
}

// execCommand resolves a relative program against the user's checkout, never
// against the phase folder, where the agent could replace it.
func execCommand(a work.AgentSettings, e environ) (path string, args []string, err error) {
	if len(a.Command) == 0 || a.Command[0] == "" {
		return "", nil, errors.New("no command is set")
	}
	path, ok := e.look(a.Command[0], a.Checkout)
	if !ok {
		return "", nil, fmt.Errorf("command %q is not an executable file in %s", a.Command[0], lookedIn(a.Command[0], a.Checkout))
	}
	return path, append(append([]string(nil), a.Command[1:]...), a.Args...), nil
}

func lookedIn(name, checkout string) string {
	if bytes.ContainsRune([]byte(name), '/') {
		if checkout != "" {
			return checkout
		}
		return "the checkout"
	}
	return "PATH"
}

func detectExec(_ context.Context, a work.AgentSettings, e environ) Detection {
	path, _, err := execCommand(a, e)
	if err != nil {
		return Detection{LoggedIn: LoginUnknown, Why: err.Error()}
	}
	return Detection{Found: true, Path: path, LoggedIn: LoginUnknown}
}

// execStream reads the text of an exec agent.
type execStream struct {
	live  *live
	red   *redact.Redactor
	words words
}

func (s *execStream) Write(p []byte) (int, error) {
	s.live.touch()
	if line := lastWhole(p); len(line) > 0 {
		s.live.show("text", string(line))
	}
	return s.words.Write(p)
}

// lastWhole is the last line of p that has an end, at most as long as is shown.
func lastWhole(p []byte) []byte {
	i := bytes.LastIndexByte(p, '\n')
	if i < 0 {
		return nil
	}
	p = bytes.TrimRight(p[:i], "\r\n ")
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		p = p[i+1:]
	}
	return p[:min(len(p), tailBytes)]
}

func (s *execStream) finish(e ending) work.IterationReport {
	r := work.IterationReport{Outcome: work.OutcomeOK, Usage: execUsage(s.words.part.lastLine())}
	s.words.keep()
	s.words.take("all")
	r.Total = r.Usage
	s.words.report(&r, s.red)
	if why := e.failed(); why != "" {
		r.Outcome, r.Detail = work.OutcomeAgentFailed, why
	}
	return r
}

// execUsage reads a last line of the form <usage>{…}</usage>. Anything else is
// unknown usage.
func execUsage(line []byte) work.Usage {
	line, ok := bytes.CutPrefix(line, []byte("<usage>"))
	line, closed := bytes.CutSuffix(line, []byte("</usage>"))
	if !ok || !closed {
		return work.Usage{}
	}
	var u work.Usage
	if err := json.Unmarshal(line, &u); err != nil {
		return work.Usage{}
	}
	return u.Clean()
}
