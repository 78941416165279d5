package text

import "testing"

func TestShellWord(t *testing.T) {
	for words, want := range map[string]string{
		"": "''", "/a/b-c_1.2": "/a/b-c_1.2", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'", "~": "'~'",
	} {
		if got := ShellWord(words); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", words, got, want)
		}
	}
}
