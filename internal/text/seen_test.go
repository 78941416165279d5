package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forge/internal/text/texttest"
)

func TestInvisible(t *testing.T) {
	for _, r := range texttest.Hidden() {
		if !Invisible(r) || !Hides("a"+string(r)) || !Blank(" "+string(r)) {
			t.Errorf("%U counts as seen", r)
		}
	}
	for _, r := range " aé中✓👩🏽�~→…‹⟦ـ" {
		if Invisible(r) || r != '�' && Hides(string(r)) || r != ' ' && r != '�' && Blank(string(r)) {
			t.Errorf("%U counts as invisible", r)
		}
	}
}

func TestPartsOfAnEmojiAreSeen(t *testing.T) {
	for _, s := range []string{"👩\u200d👩", "❤\ufe0f", "❤\ufe0f\u200d🔥", "1\ufe0f⃣", "↔\ufe0f", "ℹ\ufe0f", "👩🏽\u200d🚀"} {
		if Hides(s) || Harmless(s) != s {
			t.Errorf("%+q is shown as %q", s, Harmless(s))
		}
		if seen, hidden := Reveal(s); hidden != 0 || Hides(seen) {
			t.Errorf("%+q is %+q for an agent, with %d hidden", s, seen, hidden)
		}
	}
	for _, s := range []string{"a\u200db", "a\ufe0f", "❤\ufe0f\ufe0f", "👩\u200d\u200d👩", "1\u200d", "❤\ufe0e", "\u200d", "1\ufe0f\ufe0f"} {
		if !Hides(s) || Harmless(s) == s {
			t.Errorf("%+q hides nothing", s)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mred\x1b[0m b\r\n":          "ared b\n",
		"x\x00y\u202ez":                      "xyz",
		"\x1b]8;;http://x\at\x1b]8;;\x1b\\.": "t.",
		"\x1b]0;x\ny":                        "\ny",
		"\x1b]0;x\x1b[1my":                   "y",
		"\u009b31mred\u009b0m":               "red",
		"\u009dtitle\u009cred":               "red",
		"\x1bPdevice\x1b\\red":               "red",
		"\x1b(Bred\x1b7\x1b":                 "red",
		"half \x1b[3":                        "half ",
		"half \x1b[3é":                       "half é",
		"10%\r20%\r\n":                       "10% 20%\n",
		"a\u2028b\u2029c\u0085d\ve":          "a b c d e",
		"fill\u3164er \u1160x":               "filler x",
		"bad \xff":                           "bad \uFFFD",
		"tab\tstays\n":                       "tab\tstays\n",
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestReveal(t *testing.T) {
	for in, want := range map[string]struct {
		seen   string
		hidden int
	}{
		"plain":                          {"plain", 0},
		"two\r\nlines\t":                 {"two\nlines\t", 0},
		"a<!-- b -->c":                   {"ac", 1},
		"a<!-- never closed":             {"a", 1},
		"a\u200bb\u202ec":                {"abc", 2},
		"tag\U000e0061\U000e0062":        {"tag", 2},
		"heart \u2764\ufe0f":             {"heart \u2764", 0},
		"bytes\ufe01\ufe0f":              {"bytes", 2},
		"bell\a and escape\x1b[0m":       {"bell and escape", 2},
		"broken\xff":                     {"broken\ufffd", 0},
		"private \ue000 use":             {"private  use", 1},
		"<!-- a --><!-- b -->both\u00ad": {"both", 3},
		"<!<!-- a -->-- b -->c":          {"c", 2},
		"<\u200b!-- a -->b":              {"b", 2},
		"a\u2028b":                       {"a b", 0},
		"<!---->a-->":                    {"a-->", 1},
	} {
		if seen, hidden := Reveal(in); seen != want.seen || hidden != want.hidden {
			t.Errorf("Reveal(%+q) = %+q, %d, want %+q, %d", in, seen, hidden, want.seen, want.hidden)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Cut("äöü", 3), "ä"}, {Cut("abc", 3), "abc"}, {Cut("abc", 0), ""}, {Cut("a\xffb", 4), "a\uFFFD"},
		{End("äöü", 3), "ü"}, {End("abc", 9), "abc"}, {End("abc", 0), ""}, {End("a\xff", 3), "\uFFFD"}, {ClipLine("a\n\u200bbcdef", 6), "a b…"}, {Clip("abcdef", 6), "abcdef"}, {Clip("abcdefg", 6), "abc…"}, {Clip("äöüä", 7), "äö…"}, {Clip("abcd", 2), "ab"}, {Clip("abcd", -1), ""},
		{OneLine(" a\n\tb ", 9), "a b"}, {OneLine("abcdef", 3), "ab…"}, {OneLine("abc", 0), ""}, {FirstLine("\nab\ncd", 9), "ab"}, {FirstLine("abcd", 3), "ab…"},
		{ClipJSON("a\n\n", 4), "a\n…"}, {ClipJSON("a\n", 3), "a\n"},
		{ClipMiddle("abcdefghi", 6), "ab\n[… 3 bytes left out …]\nfghi"},
		{PlainLine(" a\r\nb\u2028\u200bc\x1b[1m "), "a b c"},
		{Visible("a\u202e\xff\u3164\t✓"), "a⟦U+202E⟧⟦0xFF⟧⟦U+3164⟧\t✓"}, {WithoutMark("\ufeffa"), "a"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// What comes out of each function is UTF-8, holds nothing of the table, and is
// not changed by doing it again; what is clipped is a beginning within its
// limit.
func FuzzText(f *testing.F) {
	for _, words := range slices.Concat(texttest.Pages(), texttest.Terminal()) {
		f.Add(words, 7)
	}
	for _, r := range texttest.Hidden() {
		f.Add("a"+string(r)+"❤"+string(r), 5)
	}
	f.Add("<!<!-- a -->-- b -->\x1b\x1b[\u200d[31m", 3)
	f.Fuzz(func(t *testing.T, words string, most int) {
		if len(words) > 1000 {
			return
		}
		most = max(0, min(most, 200))
		valid := strings.ToValidUTF8(words, "\uFFFD")

		for name, show := range map[string]func(string) string{
			"Harmless": Harmless, "HarmlessLine": HarmlessLine, "Visible": Visible, "Plain": Plain, "PlainLine": PlainLine,
			"Reveal":    func(s string) string { seen, _ := Reveal(s); return seen },
			"OneLine":   func(s string) string { return OneLine(s, most) },
			"FirstLine": func(s string) string { return FirstLine(s, most) },
		} {
			got := show(words)
			if !utf8.ValidString(got) || Hides(strings.NewReplacer("\n", " ", "\t", " ", "\uFFFD", "").Replace(got)) {
				t.Fatalf("%s(%+q) = %+q", name, words, got)
			}
			if again := show(got); again != got {
				t.Fatalf("%s of %+q is %+q, and of that %+q", name, words, got, again)
			}
			if strings.HasSuffix(name, "Line") && strings.ContainsAny(got, "\n\t") && name != "FirstLine" || (name == "OneLine" || name == "FirstLine") && utf8.RuneCountInString(got) > most {
				t.Fatalf("%s(%+q, %d) = %+q", name, words, most, got)
			}
		}
		for _, r := range Plain(words) + Visible(words) {
			if Invisible(r) && r != '\n' && r != '\t' {
				t.Fatalf("%+q is %+q or %+q, with %U", words, Plain(words), Visible(words), r)
			}
		}

		for name, clip := range map[string]func(string, int) string{"Cut": Cut, "Clip": Clip, "ClipJSON": ClipJSON} {
			got := clip(words, most)
			begins := strings.HasPrefix(valid, got) || strings.HasPrefix(valid, strings.TrimSuffix(got, more))
			size := len(got)
			if name == "ClipJSON" {
				size = JSONSize(strings.TrimSuffix(got, more))
			}
			if !utf8.ValidString(got) || !begins || size > most || clip(got, most) != got {
				t.Fatalf("%s(%+q, %d) = %+q", name, words, most, got)
			}
		}
		if end := End(words, most); !utf8.ValidString(end) || !strings.HasSuffix(valid, end) || len(end) > most || End(end, most) != end {
			t.Fatalf("End(%+q, %d) = %+q", words, most, end)
		}
		if line := ClipLine(words, most); Hides(strings.ReplaceAll(line, "\uFFFD", "")) || len(line) > most || ClipLine(line, most) != line {
			t.Fatalf("ClipLine(%+q, %d) = %+q", words, most, line)
		}
		if middle := ClipMiddle(words, most); !utf8.ValidString(middle) || len(valid) <= most/6 && middle != valid {
			t.Fatalf("ClipMiddle(%+q, %d) = %+q", words, most, middle)
		}
	})
}

// On each way onto a terminal, into a prompt and onto a page of a host the same
// is hidden.
func TestHiddenIsHiddenEverywhere(t *testing.T) {
	for way, show := range map[string]func(string) string{
		"a terminal": Harmless, "a problem": HarmlessLine, "a table": func(s string) string { return OneLine(s, 1000) }, "a message": func(s string) string { return FirstLine(s, 1000) + texttest.Word },
		"a reviewer": Visible, "a log": Plain, "a record": PlainLine,
		"a prompt":  func(s string) string { seen, _ := Reveal(s); return seen },
		"a comment": func(s string) string { return strings.ReplaceAll(Inline(s).String(), gap, "") },
		"a title":   func(s string) string { return strings.ReplaceAll(Line(s), gap, "") },
		"code":      func(s string) string { return Code(s).String() },
		"a block":   func(s string) string { return CodeBlock(s).String() },
		"a quote":   func(s string) string { return strings.ReplaceAll(Quote(s).String(), gap, "") },
	} {
		texttest.Seen(t, way, show)
	}
}
