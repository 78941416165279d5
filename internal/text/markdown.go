package text

import (
	"fmt"
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

// CodeBlock is words of others as code, line by line, behind a fence that is
// longer than any in it.
func CodeBlock(words string) Markdown {
	lines := splitLines(words)
	run, longest := 0, 2
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(strings.TrimRight(Plain(line), " "), "<!--", "<"+gap+"!--")
		run = 0
		for _, r := range lines[i] {
			if run++; r != '`' {
				run = 0
			}
			longest = max(longest, run)
		}
	}
	words = strings.Trim(strings.Join(lines, "\n"), "\n")
	if words == "" {
		return Markdown{}
	}
	fence := strings.Repeat("`", longest+1)
	return Markdown{fence + "\n" + words + "\n" + fence}
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
