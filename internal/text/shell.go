package text

import "strings"

// ShellWord makes words one word for a shell; what needs no quotes has none.
func ShellWord(words string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("@%+=:,./-_", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if words != "" && strings.IndexFunc(words, func(r rune) bool { return !plain(r) }) < 0 {
		return words
	}
	return "'" + strings.ReplaceAll(words, "'", `'\''`) + "'"
}
