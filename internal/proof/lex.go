package proof

import (
	"bytes"
	"path"
	"strings"
)

// kind is what a token is.
type kind byte

const (
	word    kind = iota // a name, a keyword or a number
	text                // a string, with its quotes and prefix
	comment             // with its marks
	punct               // one byte
)

// token is a piece of a source file. Blank space is no token.
type token struct {
	kind     kind
	from, to int32
	line     int32 // of its first byte, from 1
}

// source is a file as tokens. Broken says that a string or a comment does not
// end: what follows it cannot be trusted.
type source struct {
	lang   string
	src    []byte
	tokens []token
	broken bool
}

// language is the family of languages that a file's ending stands for, ""
// for none that is read here.
func language(file string) string {
	return languages[strings.ToLower(path.Ext(file))]
}

// languageOf is the language of a file, of one without an ending that of the
// interpreter which its first line names.
func languageOf(file string, content []byte) string {
	if lang := language(file); lang != "" || path.Ext(file) != "" || !bytes.HasPrefix(content, []byte("#!")) {
		return lang
	}
	words := strings.Fields(strings.TrimPrefix(firstLine(content), "#!"))
	for i, w := range words {
		name := strings.TrimRight(path.Base(w), "0123456789.")
		if i == 0 && name == "env" || strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		return interpreters[name]
	}
	return ""
}

var interpreters = map[string]string{
	"sh": "shell", "bash": "shell", "dash": "shell", "ash": "shell", "ksh": "shell", "zsh": "shell", "busybox": "shell",
	"python": "python", "pypy": "python", "uv": "python",
	"node": "script", "bun": "script", "deno": "script", "tsx": "script", "ts-node": "script",
	"ruby": "ruby", "php": "php",
}

var languages = map[string]string{
	".go": "go",
	".py": "python", ".pyi": "python", ".pyx": "python",
	".js": "script", ".jsx": "script", ".mjs": "script", ".cjs": "script", ".ts": "script", ".tsx": "script", ".mts": "script", ".cts": "script",
	".vue": "script", ".svelte": "script", ".astro": "script",
	".rs": "rust",
	".c":  "c", ".h": "c", ".cc": "c", ".cpp": "c", ".cxx": "c", ".c++": "c", ".hh": "c", ".hpp": "c", ".hxx": "c", ".inl": "c", ".ipp": "c", ".m": "c", ".mm": "c",
	".rb":  "ruby",
	".php": "php", ".phtml": "php",
	".java": "java", ".kt": "java", ".scala": "java", ".cs": "java", ".fs": "java", ".vb": "java", ".swift": "java", ".dart": "java", ".groovy": "java",
	".sh": "shell", ".bash": "shell", ".zsh": "shell", ".bats": "shell",
}

// lexer walks over a source file.
type lexer struct {
	source
	at, line int
	// heredocs are the ends of those that begin on this line.
	heredocs []heredoc
}

type heredoc struct {
	end    string
	indent bool // the end may be indented
}

// lex reads a file of a language. It never fails: see source.broken.
func lex(lang string, src []byte) source {
	l := lexer{source: source{lang: lang, src: src, tokens: make([]token, 0, len(src)/5+8)}, line: 1}
	if lang == "php" {
		l.page()
	}
	for l.at < len(src) {
		l.next()
	}
	return l.source
}

func (l *lexer) next() {
	c := l.src[l.at]
	switch {
	case c == '\n':
		l.at++
		l.line++
		l.bodies()
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		l.at++
	case l.comment() || l.text():
	case isWordByte(c):
		from := l.at
		for l.at < len(l.src) && isWordByte(l.src[l.at]) {
			l.at++
		}
		l.add(word, from)
	default:
		l.at++
		l.add(punct, l.at-1)
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// add ends a token that began at from, and counts the lines in it.
func (l *lexer) add(k kind, from int) {
	l.tokens = append(l.tokens, token{k, int32(from), int32(l.at), int32(l.line)})
	if k == text || k == comment {
		l.line += bytes.Count(l.src[from:l.at], []byte{'\n'})
	}
}

func (l *lexer) has(s string) bool { return bytes.HasPrefix(l.src[l.at:], []byte(s)) }

// peek is the byte n further, 0 past the end.
func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.src) && l.at+n >= 0 {
		return l.src[l.at+n]
	}
	return 0
}

// comment reads one when one begins here.
func (l *lexer) comment() bool {
	from := l.at
	c := l.src[l.at]
	switch {
	case c == '#' && l.hashComments():
		l.toLineEnd()
	case c == '/' && l.slashComments() && l.peek(1) == '/':
		l.toLineEnd()
	case c == '/' && l.slashComments() && l.peek(1) == '*':
		l.block()
	case l.lang == "ruby" && c == '=' && l.has("=begin") && l.lineStart():
		l.to("\n=end")
		l.toLineEnd()
	case l.lang == "php" && c == '?' && l.peek(1) == '>':
		l.page()
	default:
		return false
	}
	l.add(comment, from)
	return true
}

func (l *lexer) hashComments() bool {
	switch l.lang {
	case "python", "ruby":
		return true
	case "php":
		return l.peek(1) != '['
	case "shell":
		return l.at == 0 || strings.IndexByte(" \t\n;", l.src[l.at-1]) >= 0
	}
	// A script that is started by its first line.
	return l.lang == "script" && l.at == 0 && l.peek(1) == '!'
}

func (l *lexer) slashComments() bool {
	switch l.lang {
	case "python", "ruby", "shell":
		return false
	}
	return true
}

func (l *lexer) lineStart() bool { return l.at == 0 || l.src[l.at-1] == '\n' }

func (l *lexer) toLineEnd() {
	if n := bytes.IndexByte(l.src[l.at:], '\n'); n >= 0 {
		l.at += n
	} else {
		l.at = len(l.src)
	}
}

// to goes behind the next end.
func (l *lexer) to(end string) {
	if n := bytes.Index(l.src[l.at:], []byte(end)); n >= 0 {
		l.at += n + len(end)
		return
	}
	l.at = len(l.src)
	l.broken = true
}

// block reads a block comment; some languages nest them.
func (l *lexer) block() {
	nests := l.lang == "rust"
	l.at += 2
	for depth := 1; l.at < len(l.src); {
		switch {
		case l.has("*/"):
			l.at += 2
			if depth--; depth == 0 {
				return
			}
		case nests && l.has("/*"):
			l.at += 2
			depth++
		default:
			l.at++
		}
	}
	l.broken = true
}

// page reads what stands outside of PHP's marks, as one comment would be.
func (l *lexer) page() {
	n := bytes.Index(l.src[l.at:], []byte("<?"))
	if n < 0 {
		l.at = len(l.src)
		return
	}
	if l.at == 0 {
		l.line += bytes.Count(l.src[:n], []byte{'\n'})
	}
	l.at += n + 2
	if l.has("php") {
		l.at += 3
	} else if l.has("=") {
		l.at++
	}
}

// bodies skips the heredocs that began on the line before.
func (l *lexer) bodies() {
	for _, h := range l.heredocs {
		from := l.at
		for l.at < len(l.src) {
			start := l.at
			l.toLineEnd()
			line := string(l.src[start:l.at])
			if h.indent {
				line = strings.TrimLeft(line, " \t")
			}
			done := strings.TrimRight(line, "\r") == h.end || l.lang == "php" && phpEnds(line, h.end)
			if l.at < len(l.src) && !done {
				l.at++
			}
			if done {
				break
			}
			l.broken = l.broken || l.at >= len(l.src)
		}
		l.add(text, from)
	}
	l.heredocs = nil
}

func phpEnds(line, end string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), end)
	return ok && (rest == "" || !isWordByte(rest[0]))
}
