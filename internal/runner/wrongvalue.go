package runner

import (
	"strconv"
	"strings"

	texts "forge/internal/text"
)

var (
	number  = texts.Lazy(`(?:^|[^\w.])(\d+(?:\.\d+)?)(?:[^\w.]|$|\.[^\w.])`)
	truth   = texts.Lazy(`\b(True|False|true|false)\b`)
	asserts = texts.Lazy(`\b(?:assert\w*|expect|refute\w*|should|must_\w+|wont_\w+|EXPECT_\w+|ASSERT_\w+|CHECK|REQUIRE|ck_assert\w*|TEST_ASSERT\w*|isEqualTo|deepEqual|strictEqual|equal|is|is_deeply|cmp_ok)\b`)
)

// values returns the literals of tests, each as another value: numbers
// anywhere, texts and truth only in assertions.
func (l language) values(src []byte, masked string, tests [][]int) []Wrong {
	if len(tests) == 0 {
		return nil
	}
	asserted := l.assertions(masked)
	var all []Wrong
	add := func(from, to int, text string, everywhere bool) {
		w := Wrong{Test: around(src, tests, from), From: from, To: to, Text: text, Sort: WrongNumber}
		if w.Test == "" { // a table before the first test
			w.Test = around(src, tests, tests[0][0])
		}
		if asserted(from) {
			w.Sort = WrongValue
		} else if !everywhere {
			return
		}
		all = append(all, w)
	}
	for _, m := range number().FindAllStringSubmatchIndex(masked, -1) {
		if text := another(masked[m[2]:m[3]]); text != "" {
			add(m[2], m[3], text, true)
		}
	}
	for _, m := range truth().FindAllStringIndex(masked, -1) {
		add(m[0], m[1], opposites("True", "False", "true", "false")(masked[m[0]:m[1]]), false)
	}
	sorts := l.read(src)
	for i := 1; i < len(src); i++ {
		// The end of a text: one character more before its last quote.
		last := sorts[i] == text && (i+1 == len(src) || sorts[i+1] != text)
		if last && strings.IndexByte("\"'`", src[i]) >= 0 && i > 0 && sorts[i-1] == text {
			add(i, i, "q", false)
		}
	}
	return all
}

// assertions returns whether an offset lies in an assertion: from its word to
// the end of its line, or of its brackets where they go over lines.
func (l language) assertions(masked string) func(int) bool {
	inside := make([]bool, len(masked)+1)
	for _, m := range asserts().FindAllStringIndex(masked, -1) {
		end := m[1] + lineLength([]byte(masked[m[1]:]))
		if open := strings.IndexByte(masked[m[1]:end], '('); open >= 0 {
			if close := closing(masked, m[1]+open); close > end {
				end = close
			}
		}
		for i := m[0]; i < end; i++ {
			inside[i] = true
		}
	}
	if l.name == "shell" { // all but the titles, which begin the tests
		for i := range inside {
			inside[i] = true
		}
		for _, title := range beginnings[l.name]().FindAllStringIndex(masked, -1) {
			for i := title[0]; i < title[1]; i++ {
				inside[i] = false
			}
		}
	}
	return func(at int) bool { return inside[at] }
}

// another returns a number that is not this one: one more, or one less where a
// type may end. "" where it is not read.
func another(number string) string {
	if whole, rest, ok := strings.Cut(number, "."); ok {
		n, err := strconv.ParseUint(whole, 10, 62)
		if err != nil {
			return ""
		}
		return strconv.FormatUint(n+1, 10) + "." + rest
	}
	n, err := strconv.ParseUint(number, 10, 62)
	if err != nil || strconv.FormatUint(n, 10) != number {
		return "" // of another base, or too long
	}
	switch n {
	case 127, 255, 32767, 65535, 1<<31 - 1, 1<<32 - 1:
		return strconv.FormatUint(n-1, 10)
	}
	return strconv.FormatUint(n+1, 10)
}
