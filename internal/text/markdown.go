package text

import (
	"fmt"
	"net/url"
	"strings"
)

// Markdown is what is posted on a code host, or written where one shows it.
// Only this package makes it: from the program's own words, which are
// constants, and from words of others, which act nowhere.
type Markdown struct{ s string }

// String is the text to post.
func (m Markdown) String() string { return m.s }

// Empty says that there is nothing in it.
func (m Markdown) Empty() bool { return strings.TrimSpace(m.s) == "" }

// own cannot be named elsewhere: what becomes one is a constant of the program.
type own string

// Own is Markdown in the program's own words.
func Own(words own) Markdown { return Markdown{string(words)} }

// Format puts arguments into the program's own words. Markdown and numbers
// stand as they are, everything else as Inline. It knows the verbs %s, %d and
// %v.
func Format(words own, args ...any) Markdown {
	shown := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Markdown:
			shown[i] = a.s
		case int, int64, uint64:
			shown[i] = a
		default:
			shown[i] = Inline(fmt.Sprint(a)).s
		}
	}
	return Markdown{fmt.Sprintf(string(words), shown...)}
}

// Join puts words of the program's own between parts; empty ones are left out.
func Join(between own, parts ...Markdown) Markdown {
	var all []string
	for _, p := range parts {
		if p.s != "" {
			all = append(all, p.s)
		}
	}
	return Markdown{strings.Join(all, string(between))}
}

// Section is a part of a page below a heading, and nothing where it is empty.
func Section(title own, body Markdown) Markdown {
	if body.Empty() {
		return Markdown{}
	}
	return Markdown{"## " + string(title) + "\n\n" + strings.Trim(body.s, "\n") + "\n\n"}
}

// Item is one entry of a list, in one line.
func Item(m Markdown) Markdown {
	return Markdown{"- " + strings.Join(strings.Fields(m.s), " ") + "\n"}
}

// Code is words of others as code within a line, where hosts act on nothing:
// exactly what they are, but for what cannot be seen, for the sign that would
// end it, and for what looks like a mark of Forge's, which is looked for in the
// source.
func Code(words string) Markdown {
	words = PlainLine(words)
	if words == "" {
		return Markdown{}
	}
	return Markdown{"`" + strings.NewReplacer("`", "'", "|", "¦", "<!--", "<"+gap+"!--").Replace(words) + "`"}
}

// Link is an address of a page, as one that can be followed; code where it is no plain
// address of the web.
func Link(address string) Markdown {
	at, err := url.Parse(address)
	plain := !strings.ContainsFunc(address, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~:/?#=&%", r))
	})
	if err != nil || !plain || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return Code(address)
	}
	return Markdown{"<" + address + ">"}
}

// CodeBlock is words of others as code, line by line, behind a fence that is
// longer than any in it.
func CodeBlock(words string) Markdown {
	lines := splitLines(words)
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(strings.TrimRight(Plain(line), " "), "<!--", "<"+gap+"!--")
	}
	words = strings.Trim(strings.Join(lines, "\n"), "\n")
	if words == "" {
		return Markdown{}
	}
	fence := fenceFor(words)
	return Markdown{fence + "\n" + words + "\n" + fence}
}

// Suggestion is a block that a host offers to commit: lines of others, exactly as they
// are to stand in a file. kind is what the host wants
// behind the word, of the program's own. It is empty
// where they cannot stand in one as they are.
func Suggestion(kind, lines string) Markdown {
	lines = strings.TrimSuffix(lines, "\n")
	if strings.Contains(lines, "<!--") || strings.ContainsFunc(lines, func(r rune) bool { return r != '\n' && r != '\t' && Invisible(r) }) {
		return Markdown{}
	}
	fence := fenceFor(lines)
	if lines != "" {
		lines += "\n"
	}
	return Markdown{fence + "suggestion" + kind + "\n" + lines + fence}
}

// DiffBlock shows lines beside those that are to take their place.
func DiffBlock(was []string, now string) Markdown {
	var b strings.Builder
	for _, l := range was {
		b.WriteString("-" + l + "\n")
	}
	if now != "" {
		for l := range strings.SplitSeq(now, "\n") {
			b.WriteString("+" + l + "\n")
		}
	}
	block := CodeBlock(b.String()).s
	fence := block[:len(block)-len(strings.TrimLeft(block, "`"))]
	if fence == "" {
		return Markdown{}
	}
	return Markdown{fence + "diff" + block[len(fence):]}
}

// fenceFor is a fence that is longer than any in lines.
func fenceFor(lines string) string {
	run, longest := 0, 2
	for _, r := range lines {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// Hidden is a line of the program's own that hosts do not show. It holds one word of
// letters, digits, colons, dots and dashes; anything else makes it empty.
func Hidden(word string) Markdown {
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789:.-") != "" || strings.Contains(word, "--") {
		return Markdown{}
	}
	return Markdown{"<!-- " + word + " -->"}
}

// Quote is words of others in their own lines, apart from the program's: a
// quotation that holds nothing but text.
func Quote(words string) Markdown {
	var out []string
	for _, line := range splitLines(words) {
		line = Inline(line).s
		if line == "" && (len(out) == 0 || out[len(out)-1] == ">") {
			continue
		}
		out = append(out, strings.TrimRight("> "+line, " "))
	}
	return Markdown{strings.TrimRight(strings.Join(out, "\n"), "\n >")}
}

// splitLines knows every sign that anything takes for the end of a line.
func splitLines(words string) []string {
	words = strings.ToValidUTF8(words, "\uFFFD")
	words = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(words)
	return strings.Split(words, "\n")
}
