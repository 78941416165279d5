package gates

import (
	"strings"
	"unicode"
)

// SameQuestion names a question, or what an agent says that it lacks, so that
// the same one has the same name however it is punctuated: its letters and
// digits in lower case.
func SameQuestion(words string) string {
	plain := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
	})
	if len(plain) == 0 {
		return strings.Join(strings.Fields(words), " ")
	}
	return strings.Join(plain, " ")
}
