package tracker

import (
	"slices"
	"strings"

	"forge/internal/text"
)

// Call is one call by name in a comment: a command for the issue that it stands
// below.
type Call struct {
	Command string // of Commands, or any word after a slash
	Given   string // its argument, one line
}

// Command is one that people may call by name.
type Command struct {
	Name  string
	Takes string // what its argument is, "" = none
	Does  string
	Pull  bool // it is about a pull request
	act   func(c calling) calling
}

// CommandNamed finds a command of the table.
func CommandNamed(name string) (Command, bool) {
	all := Commands()
	at := slices.IndexFunc(all, func(c Command) bool { return c.Name == name })
	if at < 0 {
		return Command{}, false
	}
	return all[at], true
}

// What is read of one comment.
const (
	mostCalls = 5
	mostGiven = 200 // bytes
)

// Calls are the calls in a comment: lines that begin with /name or @name and a
// command, outside of quotations and code. A mention that no command follows is
// talk; after a slash any word is meant as one. name "" is nobody's.
func Calls(body, name string) []Call {
	if name == "" {
		return nil
	}
	var out []Call
	fence := ""
	for line := range strings.SplitSeq(text.Plain(body), "\n") {
		line = strings.TrimRight(line, "\r")
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		if mark := fenceOf(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && mark == line) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" || indented {
			continue
		}
		if c, ok := callIn(line, name); ok {
			if out = append(out, c); len(out) == mostCalls {
				break
			}
		}
	}
	return out
}

// fenceOf is the mark with which a line opens or closes a block of code, "" = it
// does not.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// callIn is the call that a line is.
func callIn(line, name string) (Call, bool) {
	words := strings.Fields(line)
	if len(words) == 0 || len(words[0]) < 2 {
		return Call{}, false
	}
	sign, called := words[0][0], strings.TrimRight(words[0][1:], ",:")
	if sign != '/' && sign != '@' || !strings.EqualFold(called, name) {
		return Call{}, false
	}
	command := ""
	if len(words) > 1 {
		command = strings.ToLower(text.Clip(words[1], 40))
	}
	if _, known := CommandNamed(command); !known && sign == '@' {
		return Call{}, false
	}
	return Call{Command: command, Given: text.Clip(strings.Join(words[min(len(words), 2):], " "), mostGiven)}, true
}

// onlyCalls says that a comment is nothing but calls, and so no part of the text
// of its issue.
func onlyCalls(body, name string) bool {
	lines := 0
	for line := range strings.SplitSeq(text.Plain(body), "\n") {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	n := len(Calls(body, name))
	return n > 0 && n == lines
}
