package text

import "testing"

// An address is a link only where nothing in it could act otherwise.
func TestLink(t *testing.T) {
	t.Parallel()
	for address, link := range map[string]bool{
		"https://git.example.com/o/r/pulls/3": true, "http://127.0.0.1:3000/o/r/pulls/3?a=b#c": true,
		"": false, "javascript:alert(1)": false, "https://": false, "/o/r": false, "https://a@b/c": false,
		"https://a/b>c": false, "https://a/b](c)": false, "https://a/b c": false, "https://a/b\n# c": false, "ftp://a/b": false,
	} {
		if got := Link(address).String(); (got == "<"+address+">") != link {
			t.Errorf("%q is %q", address, got)
		}
	}
}
