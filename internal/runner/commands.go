package runner

import (
	"encoding/json"
	"path"
	"strings"

	texts "forge/internal/text"
)

// Call is one simple command of a verify command, or of what it calls.
type Call struct {
	Dir   string   // below the tree
	Words []string // without redirections and leading assignments
}

// mostCalls bounds what wrappers of wrappers are followed to.
const mostCalls = 200

// unwrap returns commands and what they call: scripts of package.json, targets
// of a Makefile, shell scripts of the tree.
func (p *Project) unwrap(commands []string) []string {
	all := append([]string(nil), commands...)
	seen := map[string]bool{}
	for i := 0; i < len(all) && len(all) < mostCalls; i++ {
		for _, call := range splitCalls(".", all[i]) {
			for _, text := range p.called(call) {
				if !seen[text] {
					seen[text] = true
					all = append(all, text)
				}
			}
		}
	}
	return all
}

// Calls returns every simple command, of wrappers too.
func (p *Project) Calls() []Call {
	var all []Call
	for _, c := range p.Commands {
		all = append(all, splitCalls(".", c)...)
	}
	return all
}

// called returns what a call runs that is written in the tree, each text
// beginning with the change to its folder.
func (p *Project) called(c Call) []string {
	if len(c.Words) == 0 {
		return nil
	}
	in := func(text string) string {
		if c.Dir == "." {
			return text
		}
		return "cd " + quote(c.Dir) + "\n" + text
	}
	switch program := path.Base(c.Words[0]); program {
	case "npm", "yarn", "pnpm", "bun":
		if text := p.packageScript(c.Dir, "package.json", c.Words[1:]); text != "" {
			return []string{in(text)}
		}
	case "composer":
		if text := p.packageScript(c.Dir, "composer.json", c.Words[1:]); text != "" {
			return []string{in(text)}
		}
	case "make", "gmake":
		if text := p.recipes(c.Dir); text != "" {
			return []string{in(text)}
		}
	default:
		script := c.Words[0]
		if (program == "sh" || program == "bash" || program == "dash") && len(c.Words) > 1 {
			script = lastNonFlag(c.Words[1:])
		}
		file := path.Join(c.Dir, script)
		if strings.Contains(script, "/") || script != c.Words[0] {
			if text := p.Text(file); text != "" && isShell(file, text) {
				return []string{in(text)}
			}
		}
	}
	return nil
}

func isShell(file, text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(first, "#!") {
		return strings.Contains(first, "sh")
	}
	return path.Ext(file) == ".sh"
}

func lastNonFlag(words []string) string {
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return words[0]
}

// packageScript returns the script of a manifest that a package manager's
// arguments name, with those that run before and after it.
func (p *Project) packageScript(dir, manifest string, args []string) string {
	var pack struct{ Scripts map[string]any }
	if json.Unmarshal([]byte(p.Text(path.Join(dir, manifest))), &pack) != nil {
		return ""
	}
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "-") || a == "run" || a == "run-script":
			continue
		case a == "t" || a == "tst":
			a = "test"
		}
		var lines []string
		for _, name := range []string{"pre" + a, a, "post" + a} {
			lines = append(lines, scriptText(pack.Scripts[name]))
		}
		return strings.Trim(strings.Join(lines, "\n"), "\n")
	}
	return ""
}

// scriptText is a script, or a list of them, as lines.
func scriptText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var lines []string
		for _, one := range v {
			lines = append(lines, scriptText(one))
		}
		return strings.Join(lines, "\n")
	}
	return ""
}

// recipes returns the recipe lines of a folder's Makefile. All of them: which
// target leads where is make's own affair, and a runner found too many is asked
// once more than needed.
func (p *Project) recipes(dir string) string {
	var lines []string
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		for line := range strings.Lines(p.Text(path.Join(dir, name))) {
			if rest, ok := strings.CutPrefix(line, "\t"); ok {
				lines = append(lines, strings.TrimLeft(strings.TrimRight(rest, "\n"), "@-+ "))
			}
		}
	}
	return strings.Join(lines, "\n")
}

var assignment = texts.Lazy(`^[A-Za-z_][A-Za-z0-9_]*=`)

// splitCalls reads a command for sh far enough to see its simple commands and
// the folders they run in. It knows quotes, lists and cd, and passes over what
// else there is.
func splitCalls(dir, text string) []Call {
	var calls []Call
	var words []string
	end := func() {
		for len(words) > 0 && (assignment().MatchString(words[0]) || isPrefix(words[0])) {
			words = words[1:]
		}
		switch {
		case len(words) == 0:
		case words[0] == "cd" && len(words) > 1:
			dir = path.Join(dir, words[1])
		default:
			calls = append(calls, Call{Dir: dir, Words: words})
		}
		words = nil
	}
	for _, token := range shellTokens(text) {
		switch {
		case token.operator:
			end()
		default:
			words = append(words, token.text)
		}
	}
	end()
	return calls
}

// isPrefix says whether a word stands before the program that it runs.
func isPrefix(word string) bool {
	switch word {
	case "exec", "env", "time", "nice", "command", "then", "do", "if", "!", "{", "(", "else", "npx", "set-e":
		return true
	}
	return false
}

type shellToken struct {
	text     string
	operator bool
}

func shellTokens(text string) []shellToken {
	var tokens []shellToken
	var word strings.Builder
	has := false
	flush := func() {
		if has {
			tokens = append(tokens, shellToken{text: word.String()})
		}
		word.Reset()
		has = false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				word.WriteByte(text[i])
				has = true
			}
		case c == '\'' || c == '"':
			has = true
			for i++; i < len(text) && text[i] != c; i++ {
				if c == '"' && text[i] == '\\' && i+1 < len(text) {
					i++
				}
				word.WriteByte(text[i])
			}
		case c == '#' && !has:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '<' || c == '>':
			if strings.Trim(word.String(), "0123456789") == "" {
				word.Reset()
				has = false
			}
			flush()
			i = skipRedirection(text, i)
		case strings.IndexByte(";&|\n()", c) >= 0:
			flush()
			tokens = append(tokens, shellToken{text: string(c), operator: true})
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		default:
			word.WriteByte(c)
			has = true
		}
	}
	flush()
	return tokens
}

// skipRedirection returns where the target of the redirection at i ends.
func skipRedirection(text string, i int) int {
	for i+1 < len(text) && strings.IndexByte("<>&| ", text[i+1]) >= 0 {
		i++
	}
	for i+1 < len(text) && strings.IndexByte(" \t\n;&|()", text[i+1]) < 0 {
		i++
	}
	return i
}
