package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"forge/internal/agent/agenttest"
	"forge/internal/text"
	"forge/internal/work"
)

// acpScript is what the server of these tests does; it is played by the test
// binary itself.
type acpScript struct {
	Greeting string // raw, before anything else
	Version  int    // of the protocol, 0 = 1
	Name     string // of the server
	Loads    bool   // sessions can be loaded, which tells them again
	Resumes  bool   // sessions can be resumed
	Modes    []string
	Models   []string
	NoNew    bool   // sessions cannot be opened for want of a login
	State    string // file that keeps the sessions, and what the server was told
	Do       []acpAct
	Then     []acpAct // in the place of Do, in every turn but the first
	Queues   bool     // says that it takes a prompt during a turn
	Stop     string   // reason of the turn's end, "" = end_turn
	Stays    bool     // does not exit when its input ends
	Quits    bool     // exits as soon as it has answered
	Deaf     bool     // ignores SIGTERM
}

// acpAct is one thing that it does in a turn; one field is set.
type acpAct struct {
	Say, ID  string // a part of a message, and the message's id
	Think    string
	Echo     bool
	Raw      string // a line
	Write    string // a file; asks first
	Content  string
	Tool     string // a command; asks first
	Kind     string // of the call
	Input    any    // of the call
	Ask      string // a method that the client is asked for
	Cost     float64
	Hang     bool
	Hear     bool   // waits for a prompt, and goes on with it as another turn
	Until    string // waits for a file, without a word
	Queue    bool   // waits for a prompt, and leaves it for later
	Fail     string
	Code     int
	Data     any
	Exit     int
	Requests int // of permission, without reading the answers
}

const acpServerArg = "__acp-server"

func acpServerChild() {
	if len(os.Args) != 3 || os.Args[1] != acpServerArg {
		return
	}
	s := &acpFake{in: bufio.NewReaderSize(os.Stdin, 1<<20)}
	b, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = json.Unmarshal(b, &s.acpScript)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s.serve()
	os.Exit(0)
}

type acpFake struct {
	acpScript
	in      *bufio.Reader
	asked   int
	session string
	prompt  json.RawMessage // id of the one that is worked on
	later   []acpMessage
}

type acpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (s *acpFake) say(m map[string]any) {
	m["jsonrpc"] = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(append(b, '\n'))
}

func (s *acpFake) update(kind string, more map[string]any) {
	more["sessionUpdate"] = kind
	s.say(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": s.session, "update": more}})
}

func (s *acpFake) chunk(kind, text, id string) {
	u := map[string]any{"content": map[string]string{"type": "text", "text": text}}
	if id != "" {
		u["messageId"] = id
	}
	s.update(kind, u)
}

// note keeps what the server was told, for the test to read.
func (s *acpFake) note(line string) {
	f, err := os.OpenFile(s.State, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, line)
		f.Close()
	}
}

func (s *acpFake) next() (m acpMessage) {
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			if s.Stays {
				signal.Ignore(syscall.SIGTERM)
				time.Sleep(time.Hour)
			}
			os.Exit(0)
		}
		if json.Unmarshal(line, &m) == nil {
			return m
		}
	}
}

func (s *acpFake) serve() {
	if s.Deaf {
		signal.Ignore(syscall.SIGTERM)
	}
	if s.Greeting != "" {
		fmt.Println(s.Greeting)
	}
	for {
		var m acpMessage
		if len(s.later) > 0 {
			m, s.later = s.later[0], s.later[1:]
		} else if m = s.next(); m.Method == "" {
			continue
		}
		if m.Method != "session/prompt" {
			s.note(m.Method + " " + string(m.Params))
		}
		if m.Method == "session/prompt" {
			s.prompt = m.ID
		}
		result, failed := s.handle(m)
		if m.Method == "session/prompt" {
			m.ID = s.prompt
		}
		if len(m.ID) == 0 {
			continue
		}
		if failed != nil {
			s.say(map[string]any{"id": m.ID, "error": failed})
		} else {
			s.say(map[string]any{"id": m.ID, "result": result})
		}
		if m.Method == "session/prompt" && s.Quits {
			os.Exit(0)
		}
	}
}

func (s *acpFake) handle(m acpMessage) (result, failed map[string]any) {
	var p struct {
		Session string `json:"sessionId"`
		Mode    string `json:"modeId"`
		Prompt  []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &p)
	opened := map[string]any{"sessionId": p.Session}
	if len(s.Modes) > 0 {
		var modes []map[string]string
		for _, id := range s.Modes {
			modes = append(modes, map[string]string{"id": id, "name": id})
		}
		opened["modes"] = map[string]any{"currentModeId": s.Modes[0], "availableModes": modes}
	}
	if len(s.Models) > 0 {
		var choices []map[string]string
		for _, id := range s.Models {
			choices = append(choices, map[string]string{"value": id, "name": id})
		}
		opened["configOptions"] = []map[string]any{{"id": "m", "category": "model", "type": "select", "currentValue": s.Models[0], "options": choices}}
	}
	switch m.Method {
	case "initialize":
		capabilities := map[string]any{"loadSession": s.Loads}
		if s.Queues {
			capabilities["_meta"] = map[string]any{"x": 1, "vendor": map[string]any{"promptQueueing": true}}
		}
		if s.Resumes {
			capabilities["sessionCapabilities"] = map[string]any{"resume": map[string]any{}}
		}
		return map[string]any{"protocolVersion": max(s.Version, 1), "agentCapabilities": capabilities,
			"agentInfo": map[string]string{"name": s.Name, "version": "1.2.3"}, "authMethods": []any{}}, nil
	case "session/new":
		if s.NoNew {
			return nil, map[string]any{"code": -32000, "message": "Authentication required"}
		}
		s.session = fmt.Sprintf("session-%d", os.Getpid())
		s.note("opened " + s.session)
		opened["sessionId"] = s.session
		return opened, nil
	case "session/load", "session/resume":
		state, _ := os.ReadFile(s.State)
		if !strings.Contains(string(state), "opened "+p.Session+"\n") {
			return nil, map[string]any{"code": -32002, "message": "Resource not found: " + p.Session}
		}
		if s.session = p.Session; m.Method == "session/load" {
			s.chunk("user_message_chunk", "the prompt", "")
			s.chunk("agent_message_chunk", "<promise>THE WORK IS DONE</promise> <progress>90</progress>", "")
		}
		return opened, nil
	case "session/set_mode", "session/set_config_option":
		return map[string]any{}, nil
	case "session/prompt":
		return s.turn(p.Prompt[0].Text)
	}
	return nil, map[string]any{"code": -32601, "message": "Method not found"}
}

func (s *acpFake) turn(prompt string) (result, failed map[string]any) {
	do := s.Do
	if s.Do = s.Then; s.Then == nil {
		s.Do = do
	}
	s.note("asked " + strings.TrimSpace(text.FirstLine(prompt, 100)))
	for i, a := range do {
		call := fmt.Sprintf("call-%d", i)
		switch {
		case a.Say != "":
			half := len(a.Say) / 2
			s.chunk("agent_message_chunk", a.Say[:half], a.ID)
			s.chunk("agent_message_chunk", a.Say[half:], a.ID)
		case a.Think != "":
			s.chunk("agent_thought_chunk", a.Think, a.ID)
		case a.Echo:
			s.chunk("user_message_chunk", prompt, "")
			s.chunk("agent_message_chunk", prompt, "")
		case a.Raw != "":
			fmt.Println(strings.ReplaceAll(a.Raw, "SESSION", s.session))
		case a.Write != "":
			path, _ := filepath.Abs(a.Write)
			at := []map[string]string{{"path": path}}
			if s.permitted(call, map[string]any{"kind": "edit", "title": "Write " + path, "locations": at}) {
				_ = os.WriteFile(path, []byte(a.Content), 0o644)
			}
		case a.Tool != "":
			if s.permitted(call, map[string]any{"kind": "execute", "title": a.Tool, "rawInput": map[string]string{"command": a.Tool}}) {
				_ = exec.Command("sh", "-c", a.Tool).Run()
			}
		case a.Kind != "":
			s.permitted(call, map[string]any{"kind": a.Kind, "title": "Do " + a.Kind, "rawInput": a.Input})
		case a.Ask != "":
			s.note("answer " + string(s.ask(a.Ask, map[string]string{"sessionId": s.session, "path": "/etc/passwd"}).Error))
		case a.Cost > 0:
			s.update("usage_update", map[string]any{"used": 5, "size": 10, "cost": map[string]any{"amount": a.Cost, "currency": "USD"}})
		case a.Requests > 0:
			for i := range a.Requests {
				s.say(map[string]any{"id": 1000 + i, "method": "session/request_permission", "params": map[string]any{"sessionId": s.session,
					"options": []map[string]string{{"optionId": strings.Repeat("x", 2000), "kind": "reject_once", "name": "no"}}, "toolCall": map[string]any{"toolCallId": "c", "kind": "other"}}})
			}
			time.Sleep(time.Hour)
		case a.Hang:
			for {
				m := s.next()
				if s.note(m.Method); m.Method == "session/cancel" {
					return map[string]any{"stopReason": "cancelled"}, nil
				}
			}
		case a.Hear, a.Queue:
			m := s.prompted()
			if a.Queue {
				s.later = append(s.later, m)
				break
			}
			s.say(map[string]any{"id": s.prompt, "result": acpTurnOver("end_turn")})
			s.prompt = m.ID
		case a.Until != "":
			for _, err := os.Stat(a.Until); err != nil; _, err = os.Stat(a.Until) {
				time.Sleep(5 * time.Millisecond)
			}
		case a.Exit != 0:
			os.Exit(a.Exit)
		case a.Fail != "":
			failed = map[string]any{"code": a.Code, "message": a.Fail}
			if a.Data != nil {
				failed["data"] = a.Data
			}
			return nil, failed
		}
	}
	stop := s.Stop
	if stop == "" {
		stop = "end_turn"
	}
	return acpTurnOver(stop), nil
}

func acpTurnOver(stop string) map[string]any {
	return map[string]any{"stopReason": stop, "usage": map[string]int{"inputTokens": 100, "outputTokens": 10, "cachedReadTokens": 5, "totalTokens": 115}}
}

// prompted waits for another prompt, and for what stands behind it.
func (s *acpFake) prompted() (prompt acpMessage) {
	for {
		switch m := s.next(); {
		case m.Method == "session/prompt":
			prompt = m
		case m.Method != "" && len(m.ID) > 0:
			s.say(map[string]any{"id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}})
			if len(prompt.ID) > 0 {
				return prompt
			}
		}
	}
}

// ask asks the client and waits for its answer.
func (s *acpFake) ask(method string, params any) acpMessage {
	s.asked++
	id := fmt.Sprintf(`"ask-%d"`, s.asked)
	s.say(map[string]any{"id": json.RawMessage(id), "method": method, "params": params})
	for {
		if m := s.next(); string(m.ID) == id {
			return m
		}
	}
}

func (s *acpFake) permitted(id string, call map[string]any) bool {
	begun := map[string]any{"status": "pending"}
	for k, v := range call {
		begun[k] = v
	}
	begun["toolCallId"], call["toolCallId"] = id, id
	s.update("tool_call", begun)
	m := s.ask("session/request_permission", map[string]any{"sessionId": s.session, "toolCall": call, "options": []map[string]string{
		{"optionId": "always", "kind": "allow_always", "name": "Always"}, {"optionId": "once", "kind": "allow_once", "name": "Once"},
		{"optionId": "never", "kind": "reject_always", "name": "Never"}, {"optionId": "no", "kind": "reject_once", "name": "No"}}})
	s.note("permission " + string(m.Result))
	status := "failed"
	if strings.Contains(string(m.Result), `"once"`) {
		status = "completed"
	}
	s.update("tool_call_update", map[string]any{"toolCallId": id, "status": status})
	return status == "completed"
}

// serving are settings of an agent that plays the script.
func serving(t *testing.T, s acpScript) work.AgentSettings {
	t.Helper()
	if s.State == "" {
		s.State = filepath.Join(t.TempDir(), "state")
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "server.json")
	write(t, file, string(b), 0o644)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return work.AgentSettings{Name: "served", Kind: "acp", Command: []string{program, acpServerArg, file}}
}

func acpHarness(a *Agents) agenttest.Harness {
	return agenttest.Harness{
		Agent: a, Soon: 1, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
			script := acpScript{Loads: true, State: dir + ".state"}
			t.Cleanup(func() { _ = os.Remove(script.State) }) // beside the folder: not every test has one
			skip := true
			for _, s := range steps {
				switch {
				case s.Say != "":
					script.Do = append(script.Do, acpAct{Say: s.Say})
				case s.Echo:
					script.Do = append(script.Do, acpAct{Echo: true})
				case s.Write != "":
					script.Do = append(script.Do, acpAct{Write: s.Write, Content: s.Content})
				case s.Tool != "":
					script.Do = append(script.Do, acpAct{Tool: s.Tool})
				case s.Hang:
					script.Do = append(script.Do, acpAct{Hang: true})
				case s.Fail:
					script.Do = append(script.Do, acpAct{Fail: "it does not work", Code: -32603})
				case s.Outage > 0:
					script.Do = append(script.Do, acpAct{Code: 429, Fail: fmt.Sprintf("usage limit reached|%d", time.Now().Unix()+int64(s.Outage))})
				case s.Refused:
					skip = false
					script.Do = append(script.Do, acpAct{Write: "/etc/forge-refused", Content: "x"})
				}
			}
			settings := serving(t, script)
			settings.SkipPermission = skip
			return settings
		},
	}
}
