package orchestrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// How much is kept of what a hook says to an agent, and of what it printed.
const (
	maxHookTold   = 4 << 10
	maxHookOutput = 2 << 10
	maxHooksTold  = 10
)

// hookAnswer is what a hook came to.
type hookAnswer struct {
	action work.HookAction
	why    string
	tell   string
}

// hookCodes are what the exit codes of a hook say. 4 is approve or reject, which
// the output has to say.
var hookCodes = []work.HookAction{work.HookGo, work.HookBlock, work.HookSkip, work.HookModify, ""}

// hookSaid is an answer as an object.
type hookSaid struct {
	Action  work.HookAction `json:"action"`
	Message string          `json:"message"`
	Inject  string          `json:"inject"`
}

// readHook says what follows from what a hook came to. Whatever is not clearly
// one of the answers that are allowed at its point blocks, and says why.
func readHook(h work.Hook, r work.HookReport) hookAnswer {
	blocks := func(format string, args ...any) hookAnswer {
		return hookAnswer{action: work.HookBlock, why: fmt.Sprintf(format, args...)}
	}
	switch {
	case r.Ended != "":
		return blocks("%s", r.Ended)
	case r.Exit == nil:
		return blocks("it did not say how it ended")
	case *r.Exit < 0 || *r.Exit >= len(hookCodes):
		return blocks("exit code %d, which says nothing: %s", *r.Exit, hookWords(r))
	}

	said, object, err := parseHook(r.Out)
	switch {
	case err != nil:
		return blocks("its output cannot be understood: %v", err)
	case object && r.Cut:
		return blocks("its output is longer than what is kept")
	case h.Kind == work.HookPrompt && (!object || said.Action == ""):
		return blocks("the answer says no action")
	}

	code := hookCodes[*r.Exit]
	switch {
	case *r.Exit == 0 && said.Action != "":
		code = said.Action
	case code == "" && (said.Action == work.HookApprove || said.Action == work.HookReject):
		code = said.Action
	case code == "":
		return blocks("exit code 4, and its output says neither approve nor reject")
	case said.Action != "" && said.Action != code:
		return blocks("exit code %d says %s, and its output %s", *r.Exit, code, said.Action)
	}
	return allowHook(h, code, said, object, r)
}

// allowHook holds an answer against what a hook may say at its point.
func allowHook(h work.Hook, action work.HookAction, said hookSaid, object bool, r work.HookReport) hookAnswer {
	out := hookAnswer{action: action, why: text.ClipJSON(strings.TrimSpace(said.Message), 500), tell: strings.TrimSpace(said.Inject)}
	if !object {
		out.tell = strings.TrimSpace(r.Out)
	}
	if out.why == "" && !action.Passes() {
		if object {
			r.Out = "" // it is for programs
		}
		out.why = hookWords(r)
	}

	wrong := func(why string) hookAnswer { return hookAnswer{action: work.HookBlock, why: why} }
	switch {
	case action == work.HookSkip && !h.Event.Skips():
		return wrong("it says skip, and nothing may be left out at " + string(h.Event))
	case (action == work.HookApprove || action == work.HookReject) && h.Event != work.HookOnApproval:
		return wrong("it says " + string(action) + ", and nothing is asked at " + string(h.Event))
	case action == work.HookModify && out.tell == "":
		return wrong("it says modify, and not what")
	}

	out.tell = text.ClipMiddle(out.tell, maxHookTold)
	if !action.Passes() {
		out.tell = ""
	}
	return out
}

// hookWords is what a hook printed, in one line for people.
func hookWords(r work.HookReport) string {
	for _, from := range []string{r.Err, r.Out} {
		if line := text.FirstLine(text.Plain(strings.TrimSpace(from)), 300); line != "" {
			return line
		}
	}
	return "it says no reason"
}

// parseHook reads the object that a hook printed. What does not begin like one is
// text. One that is cut, says a thing twice, or something that nobody knows, is
// an error: nobody knows what it was to say.
func parseHook(out string) (said hookSaid, object bool, err error) {
	out = strings.TrimSpace(out)
	if !strings.HasPrefix(out, "{") {
		return said, false, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &fields); err != nil {
		return said, true, fmt.Errorf("it begins like an object, and is none")
	}
	if twice := doubled(out); twice != "" {
		return said, true, fmt.Errorf("it says %q twice", text.Clip(twice, 60))
	}
	// Facts of its own that a hook adds are its own.
	// In this order each time: what is said of the first that is wrong is an event.
	for _, field := range []struct {
		name string
		to   any
	}{{"action", &said.Action}, {"message", &said.Message}, {"inject", &said.Inject}} {
		name, to := field.name, field.to
		raw, there := fields[name]
		if !there || bytes.Equal(raw, []byte("null")) && name != "action" {
			continue
		}
		if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, to) != nil {
			return said, true, fmt.Errorf("its %s is no text", name)
		}
	}
	if _, there := fields["action"]; there && !slices.Contains(work.HookActions(), said.Action) {
		return said, true, fmt.Errorf("its action is %q", text.Clip(string(said.Action), 60))
	}
	return said, true, nil
}

// doubled is a key that stands twice in an object, as far as its first level
// goes; "" = none does.
func doubled(object string) string {
	dec := json.NewDecoder(strings.NewReader(object))
	seen, depth, key := map[string]bool{}, 0, true
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			key = true
			continue
		case string:
			if depth == 1 && key {
				// Names are compared as the decoder compares them.
				if name := strings.ToLower(t); seen[name] {
					return t
				} else {
					seen[name] = true
				}
				key = false
				continue
			}
		}
		if depth == 1 {
			key = true
		}
	}
}
