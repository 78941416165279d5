package proof

import (
	"fmt"
	"regexp"
	"strings"

	texts "forge/internal/text"
)

// suppressMark is a mark that silences a tool in product. Those in comments
// are looked for in comments alone, all others in code.
type suppressMark struct {
	langs     string
	inComment bool
	form      func() *regexp.Regexp
}

var suppressMarks = []suppressMark{
	{"python", true, expr(`(?i)#\s*(noqa|type:\s*ignore|pyright:\s*ignore|pylint:\s*(disable|skip)|mypy:\s*ignore|pragma:\s*no\s*(cover|branch)|nosec|ruff:\s*noqa|flake8:\s*noqa|fmt:\s*off|isort:\s*skip)`)},
	{"script", true, expr(`(?i)(@ts-nocheck|@ts-ignore|@ts-expect-error|eslint-disable|tslint:disable|biome-ignore|prettier-ignore|istanbul ignore|c8 ignore|v8 ignore|node:coverage|stylelint-disable|@vite-ignore|deno-lint-ignore|jshint ignore)`)},
	{"go", true, expr(`(//\s*nolint|//lint:ignore|//\s*#nosec|//\s*exhaustive:ignore|//\s*revive:disable|//go:nocheckptr|//\s*coverage:ignore)`)},
	{"rust", false, expr(`#!?\[\s*(allow|expect|cfg_attr\s*\([^,]*,\s*allow|rustfmt\s*::\s*skip|coverage\s*\(\s*off)[^\]]*\]`)},
	{"c", false, expr(`#\s*pragma\s+(GCC|clang)\s+diagnostic\s+(ignored|push)|#\s*pragma\s+warning\s*\(\s*disable`)},
	{"c", true, expr(`(?i)(NOLINT|LCOV_EXCL|GCOVR_EXCL|cppcheck-suppress|coverity\[)`)},
	{"ruby", true, expr(`(?i)(rubocop:disable|rubocop:todo|:nocov:|steep:ignore|typed:\s*(false|ignore)|reek:)`)},
	{"php", true, expr(`(?i)(@phpstan-ignore|@psalm-suppress|phpcs:(ignore|disable)|@codeCoverageIgnore|@phan-suppress|@noinspection)`)},
	{"java", false, expr(`@(file:)?\s*(SuppressWarnings|SuppressFBWarnings|Suppress|SuppressLint|ExcludeFromCodeCoverage|Generated)\b|#pragma\s+warning\s+disable|\[\s*(assembly:\s*)?SuppressMessage`)},
	{"java", true, expr(`(?i)(NOSONAR|CHECKSTYLE[: ]OFF|noinspection|swiftlint:disable|ktlint-disable|ReSharper disable|ignore_for_file|ignore:|detekt:)`)},
	{"shell", true, expr(`(?i)shellcheck\s+disable`)},
}

// Suppressions finds the marks that silence a linter, a type checker or a
// coverage tool, in lines that a change adds to product.
func Suppressions(file string, was, now []byte) []Weakness {
	lang := languageOf(file, now)
	if lang == "" || now == nil {
		return nil
	}
	fresh := addedLines(was, now)
	comments, code := masks(lang, now)
	before := string(was)
	var out []Weakness
	for _, mark := range suppressMarks {
		if mark.langs != lang {
			continue
		}
		where := code
		if mark.inComment {
			where = comments
		}
		// One that is only moved silences no more than it did.
		left := len(mark.form().FindAllStringIndex(string(where), -1)) - len(mark.form().FindAllStringIndex(before, -1))
		for _, at := range mark.form().FindAllIndex(where, -1) {
			line := lineAt(now, at[0])
			if !fresh[line] || left <= 0 {
				continue
			}
			left--
			out = append(out, Weakness{KindSuppression, file, line, fmt.Sprintf("%q silences a tool", texts.OneLine(strings.TrimSpace(string(where[at[0]:at[1]])), mostQuoted))})
		}
	}
	return out
}

// masks are the file with everything but comments, and with everything but
// code, as blanks: places stay.
func masks(lang string, src []byte) (comments, code []byte) {
	blank := func() []byte {
		out := make([]byte, len(src))
		for i, c := range src {
			if out[i] = ' '; c == '\n' {
				out[i] = c
			}
		}
		return out
	}
	comments, code = blank(), blank()
	s := lex(lang, src)
	for _, t := range s.tokens {
		switch t.kind {
		case comment:
			copy(comments[t.from:], s.bytes(t))
		case word, punct:
			copy(code[t.from:], s.bytes(t))
		}
	}
	return comments, code
}

// addedLines are those of now, from 1, that was does not have as often. Blank
// space at their ends says nothing.
func addedLines(was, now []byte) map[int]bool {
	counts := map[string]int{}
	for line := range strings.Lines(string(was)) {
		counts[strings.TrimSpace(line)]++
	}
	out := map[int]bool{}
	n := 0
	for line := range strings.Lines(string(now)) {
		n++
		line = strings.TrimSpace(line)
		if counts[line] > 0 {
			counts[line]--
			continue
		}
		out[n] = true
	}
	return out
}
