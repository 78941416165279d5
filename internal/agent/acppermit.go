package agent

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/text"
)

// acpPolicy is the permission mode as servers get to feel it.
type acpPolicy struct {
	readOnly bool
	all      bool // everything may be done: the sandbox holds the server, or nobody wants it held
	tools    bool // it was given Forge's own
	dir      string
	verify   []string // the commands that may be run in any case
}

// acpMode is the mode to choose of those offered, by what they are called in
// the servers that there are; "" leaves the current one. In most of them the
// server asks for permission, which the policy answers.
func acpMode(p acpPolicy, current string, offered []string) string {
	first := func(names ...string) string {
		for _, name := range names {
			for _, id := range offered {
				if plainWord(id) == name {
					return id
				}
			}
		}
		return ""
	}
	switch {
	case p.readOnly && (plainWord(current) == "build" || plainWord(current) == "code"):
		return first("readonly", "plan", "ask") // these modes ask nobody
	case p.readOnly:
		return first("readonly", "default", "ask", "plan")
	case p.all:
		return first("bypasspermissions", "yolo", "fullaccess", "agentfullaccess")
	}
	return first("acceptedits", "autoedit", "default", "ask", "auto")
}

// plainWord is s in small letters, without anything else.
func plainWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// acpAsk is a request for permission.
type acpAsk struct {
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
	Call struct {
		Title string          `json:"title"`
		Kind  string          `json:"kind"`
		Input json.RawMessage `json:"rawInput"`
		At    []struct {
			Path string `json:"path"`
		} `json:"locations"`
		Content []struct {
			Kind string `json:"type"`
			Path string `json:"path"` // of a diff
		} `json:"content"`
	} `json:"toolCall"`
}

// decide says whether what is asked for is allowed, and which of the options
// says so; "" when none does.
func (p acpPolicy) decide(a acpAsk) (allowed bool, option string) {
	allowed = p.allows(a)
	// Once before always: of the latter some servers make a mode, or a rule
	// that outlasts the session.
	kinds := []string{"reject_once", "reject_always"}
	if allowed {
		kinds = []string{"allow_once", "allow_always"}
	}
	for _, kind := range kinds {
		for _, o := range a.Options {
			if o.Kind == kind && o.ID != "" {
				return allowed, o.ID
			}
		}
	}
	return false, ""
}

func (p acpPolicy) allows(a acpAsk) bool {
	switch {
	case a.Call.Kind == "think":
		return true
	case (a.Call.Kind == "" || a.Call.Kind == "other") && ownTool().MatchString(a.Call.Title):
		return p.tools
	case a.Call.Kind == "read" || a.Call.Kind == "search":
		return p.all || len(a.paths()) == 0 || p.inside(a)
	case p.readOnly:
		return false
	case p.all:
		return true
	case a.Call.Kind == "edit" || a.Call.Kind == "delete" || a.Call.Kind == "move":
		return p.inside(a)
	case a.Call.Kind == "execute":
		command := acpCommandOf(a.Call.Input)
		return command != "" && slices.ContainsFunc(p.verify, func(v string) bool { return strings.TrimSpace(v) == command })
	}
	return false
}

// ownTool is a tool of Forge's own, as a server titles its call. A command would be
// of another kind.
var ownTool = text.Lazy(`^mcp__` + toolsName + `__[a-z_]+$`)

// paths are the files that a call names.
func (a acpAsk) paths() (paths []string) {
	for _, l := range a.Call.At {
		paths = append(paths, l.Path)
	}
	for _, c := range a.Call.Content {
		if c.Kind == "diff" {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// inside says that a call names the files it changes, and that all of them lie
// in the folder.
func (p acpPolicy) inside(a acpAsk) bool {
	paths := a.paths()
	dir := realPath(p.dir)
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.dir, path)
		}
		// The file may be new, and so may folders on the way to it.
		if rel, err := filepath.Rel(dir, realPath(path)); err != nil || !filepath.IsLocal(rel) {
			return false
		}
	}
	return len(paths) > 0
}

// realPath resolves symlinks in the part of path that exists.
func realPath(path string) string {
	path = filepath.Clean(path)
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}

// acpCommandOf is the command line in the input of a call, "" when there is
// none that is known to be the whole of it.
func acpCommandOf(input json.RawMessage) string {
	var words struct {
		Command []string `json:"command"`
	}
	var line struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(input, &line) == nil {
		return strings.TrimSpace(line.Command)
	}
	if json.Unmarshal(input, &words) != nil || len(words.Command) != 3 {
		return ""
	}
	shell, flag := filepath.Base(words.Command[0]), words.Command[1]
	if (shell == "sh" || shell == "bash" || shell == "zsh") && (flag == "-c" || flag == "-lc") {
		return strings.TrimSpace(words.Command[2])
	}
	return ""
}
