package proof

import (
	"fmt"
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// tableRow is a row of literals in a test file, in none of its tests:
// what tests loop over, and what providers return.
type tableRow struct {
	row  string
	line int
}

func tableRows(p string, content []byte) []tableRow {
	lang := language(p)
	if lang == "" || content == nil || len(content) >= maxSettings || !isTestName(path.Base(p)) && !IsTestFile(p) {
		return nil
	}
	s := lex(lang, content).code()
	var out []tableRow
	for i := 0; i < len(s.tokens); i++ {
		if _, _, ok := s.declares(i, lang); ok {
			i = max(i, s.bodyEnd(i, lang)-1)
			continue
		}
		if w := s.word(i); w != "[" && w != "(" && w != "{" {
			continue
		}
		if last, row := s.row(i, len(s.tokens)); last > 0 && row != "" {
			out = append(out, tableRow{row, int(s.tokens[i].line)})
			i = last
		}
	}
	return out
}

// lostRows compares the tables of a test file. A row that has more in it than
// before, or that stands in the evidence elsewhere, is not lost.
func lostRows(p string, was, now []byte, after []test) []Weakness {
	var old []tableRow
	fresh := tableRows(p, now)
	for _, one := range tableRows(p, was) {
		if at := slices.IndexFunc(fresh, func(t tableRow) bool { return t.row == one.row }); at >= 0 {
			fresh = slices.Delete(fresh, at, at+1)
			continue
		}
		if !slices.ContainsFunc(after, func(t test) bool { return slices.Contains(t.cases, one.row) }) {
			old = append(old, one)
		}
	}
	var out []Weakness
	for _, one := range old {
		if at := slices.IndexFunc(fresh, func(t tableRow) bool { return grew(one.row, t.row) }); at >= 0 {
			fresh = slices.Delete(fresh, at, at+1)
			continue
		}
		quoted := texts.OneLine(one.row, mostQuoted)
		if len(fresh) > 0 {
			out = append(out, Weakness{KindExpectation, p, fresh[0].line, fmt.Sprintf("a table had the row %q and now has %q", quoted, texts.OneLine(fresh[0].row, mostQuoted))})
			fresh = fresh[1:]
			continue
		}
		out = append(out, Weakness{KindCase, p, one.line, fmt.Sprintf("a table lost the row %q", quoted)})
	}
	return out
}

// grew is true for a row that holds all of another, in its order.
func grew(row, now string) bool {
	parts := strings.Split(now, " , ")
	for _, one := range strings.Split(row, " , ") {
		at := slices.Index(parts, one)
		if at < 0 {
			return false
		}
		parts = parts[at+1:]
	}
	return true
}
