package stuck

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"forge/internal/text"
)

// Bounds of a trace: what is beyond them is left out.
const (
	MaxCalls = 24 // the last ones
	MaxNames = 20 // of tests, of files
	maxName  = 60 // bytes
)

// Trace is what Forge saw of one iteration, as the journal keeps it. Of calls it
// holds digests, never what was said or answered. An iteration without one, of
// an older Forge or of an agent that does not tell what it does, is judged by
// whether it changed anything.
type Trace struct {
	Calls   []Call   `json:"calls,omitempty"`
	Tested  bool     `json:"tested,omitempty"` // the agent ran tests, of which Failing failed when they last ran
	Failing []string `json:"failing,omitempty"`
	// Shape is a digest of the change without blanks, comments and renames; Bare
	// says that nothing else changed.
	Shape string   `json:"shape,omitempty"`
	Bare  bool     `json:"bare,omitempty"`
	Files []string `json:"files,omitempty"` // that the change touches
	// SilenceSecs is the longest time in which the agent told nothing.
	SilenceSecs int   `json:"silence_secs,omitempty"`
	Wait        *Wait `json:"wait,omitempty"`
}

// Digest stands for a text wherever texts are only compared; "" for none.
func Digest(s string) string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// Called is the call of a tool as a trace keeps it. Only a command that is run
// again can measure something. What else is asked twice about the same thing,
// such as a file, is asked about another part of it: its arguments are never
// the same.
func Called(name, args, result string, failed bool) Call {
	if name = Clip(name); result == "" {
		result = "nothing"
	}
	c := Call{Name: name, Subject: Digest(Subject(args)), Args: Digest(args), Result: Digest(Steady(result)), Error: failed, Edit: EditTool(name)}
	if !commandTool(name) {
		c.Args = Digest(args + "\x00" + c.Result)
	}
	return c
}

// commandTool says that a tool of this name runs commands.
func commandTool(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"bash", "shell", "exec", "command", "terminal", "run"}, func(w string) bool { return strings.Contains(name, w) }) || name == "sh" || name == "tool"
}

// Clip bounds a name in its bytes within JSON. Two names stay two: a digest
// stands for what is left out.
func Clip(name string) string {
	if clipped := text.ClipJSON(name, maxName); clipped == name {
		return name
	}
	return text.ClipJSON(name, maxName-20) + Digest(name)
}

// Clipped is t within its bounds; nil stays.
func (t *Trace) Clipped() *Trace {
	if t == nil {
		return nil
	}
	out := *t
	out.Calls = slices.Clone(t.Calls[max(0, len(t.Calls)-MaxCalls):])
	out.Failing, out.Files = clipNames(t.Failing), clipNames(t.Files)
	return &out
}

// Others begins what stands for names that were left out.
const Others = "others: "

// clipNames keeps the first names in their order. Where some are left out, a
// digest of them stands for them, so that two lists stay different.
func clipNames(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > MaxNames+1 {
		others := Others + Digest(strings.Join(names[MaxNames:], "\n"))
		names = append(names[:MaxNames], others)
	}
	for i, n := range names {
		names[i] = Clip(n)
	}
	slices.Sort(names)
	return names
}

// Fill puts what t saw into it; nil puts nothing.
func (t *Trace) Fill(it *Iteration) {
	if t == nil {
		return
	}
	it.Calls, it.Tested, it.Failing = t.Calls, t.Tested, t.Failing
	it.Shape, it.Bare, it.Files, it.Wait = t.Shape, t.Bare, t.Files, t.Wait
}
