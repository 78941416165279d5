package agent

import (
	"fmt"
	"os"
	"time"

	"forge/internal/work"
)

// maxScriptBytes bounds a script file, which is read whole.
const maxScriptBytes = 4 << 20

// script is a script file as docs/script-agent.md describes it.
type script struct {
	steps []scriptStep
}

// scriptStep says what the agent does in the iterations that it matches; zero
// values match any.
type scriptStep struct {
	Phase     string // number or name
	Iteration int
	Attempt   int
	Session   string // "new" or "continued"
	Do        []scriptAction
}

// scriptAction is one thing to do. It goes to the playing process as JSON.
type scriptAction struct {
	Verb  string        `json:"verb"`
	Text  string        `json:"text,omitempty"`  // words, path or command
	Count int64         `json:"count,omitempty"` // bytes or exit code
	Time  time.Duration `json:"time,omitempty"`

	Content    string               `json:"content,omitempty"`
	Append     bool                 `json:"append,omitempty"`
	Mode       os.FileMode          `json:"mode,omitempty"` // 0 = as it is, or 0644
	OneLine    bool                 `json:"one_line,omitempty"`
	IgnoreTerm bool                 `json:"ignore_term,omitempty"`
	HoldOutput bool                 `json:"hold_output,omitempty"`
	Usage      work.Usage           `json:"usage,omitzero"`
	SubPhase   work.SubPhaseRequest `json:"subphase,omitzero"`
}

// argument is the type of what stands beside a word in a script.
type argument string

const (
	argText     argument = "text"
	argPath     argument = "path in the folder"
	argTrue     argument = "true"
	argCount    argument = "number"
	argTime     argument = "duration"
	argMode     argument = "octal mode"
	argUsage    argument = "usage"
	argSubPhase argument = "sub-phase"
)

// scriptVerb is what an action may be, and the words that may go with it.
type scriptVerb struct {
	takes argument
	with  map[string]argument
}

func scriptVerbs() map[string]scriptVerb {
	return map[string]scriptVerb{
		"write":        {argPath, map[string]argument{"content": argText, "append": argTrue, "mode": argMode}},
		"delete":       {argPath, nil},
		"mkdir":        {argPath, nil},
		"record":       {argPath, nil},
		"print":        {argText, nil},
		"echo_prompt":  {argTrue, nil},
		"stderr":       {argText, nil},
		"flood":        {argCount, map[string]argument{"one_line": argTrue}},
		"garbage":      {argCount, nil},
		"subphase":     {argSubPhase, nil},
		"sleep":        {argTime, nil},
		"hang":         {argTrue, map[string]argument{"ignore_term": argTrue}},
		"run":          {argText, nil},
		"spawn":        {argTime, map[string]argument{"hold_output": argTrue}},
		"usage":        {argUsage, nil},
		"deny":         {argText, nil},
		"lose_session": {argTrue, nil},
		"rate_limit":   {argTime, nil},
		"fail":         {argText, nil},
		"result":       {argTrue, nil},
		"exit":         {argCount, nil},
	}
}

// step is the first step of the file that matches, or one that does nothing.
func (s script) step(req work.IterationRequest) scriptStep {
	session := "new"
	if req.Session != "" {
		session = "continued"
	}
	for _, st := range s.steps {
		if (st.Phase == "" || st.Phase == req.Phase || st.Phase == req.PhaseName) &&
			(st.Iteration == 0 || st.Iteration == req.Iteration) &&
			(st.Attempt == 0 || st.Attempt == req.Attempt) &&
			(st.Session == "" || st.Session == session) {
			return st
		}
	}
	return scriptStep{}
}

// readScript reads and checks a script file.
func readScript(path string) (script, error) {
	info, err := os.Stat(path)
	if err != nil {
		return script{}, fmt.Errorf("read the agent's script: %w", err)
	}
	if info.Size() > maxScriptBytes {
		return script{}, fmt.Errorf("%s has %d bytes; a script may have %d", path, info.Size(), maxScriptBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return script{}, fmt.Errorf("read the agent's script: %w", err)
	}
	return parseScript(path, string(text))
}
