package proof

import "strings"

// splitShell splits a shell text into simple commands of words, quotes taken
// away. It is tolerant: what it does not understand are words.
func splitShell(shell string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	begun := false
	endWord := func() {
		if begun || word.Len() > 0 {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	for i := 0; i < len(shell); i++ {
		switch c := shell[i]; c {
		case ' ', '\t', '\r':
			endWord()
		case '\n', ';', '&', '|', '(', ')', '`', '{', '}':
			if (c == '{' || c == '}') && (word.Len() > 0 || i+1 < len(shell) && shell[i+1] != ' ' && shell[i+1] != '\n') && c == '{' || c == '}' && word.Len() > 0 {
				word.WriteByte(c) // ${name}, {a,b}
				continue
			}
			if c == '(' && strings.HasSuffix(word.String(), "$") {
				word.Reset()
			}
			endCommand()
		case '<', '>':
			endWord()
		case '#':
			if word.Len() > 0 || begun {
				word.WriteByte(c)
				continue
			}
			for i+1 < len(shell) && shell[i+1] != '\n' {
				i++
			}
		case '\\':
			if i+1 < len(shell) {
				if i++; shell[i] != '\n' {
					word.WriteByte(shell[i])
				}
			}
		case '\'', '"':
			begun = true
			end := i + 1
			for end < len(shell) && shell[end] != c {
				if c == '"' && shell[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(shell))
			inner := shell[i+1 : end]
			word.WriteString(inner)
			if c == '"' {
				// A command in the string runs as well.
				if at := strings.Index(inner, "$("); at >= 0 {
					out = append(out, splitShell(inner[at+2:])...)
				}
			}
			i = end
		default:
			word.WriteByte(c)
		}
	}
	endCommand()
	return out
}
