package text

import (
	"regexp"
	"testing"

	"forge/internal/text/texttest"
)

// A picture is a picture, and nothing else, whatever it is called and wherever it is.
func TestPicture(t *testing.T) {
	t.Parallel()
	if got := Picture("Before: http://localhost:3000/a_b", "https://host.example/attachments/1-2").String(); got != "![Before http //localhost 3000/a b](https://host.example/attachments/1-2)" {
		t.Errorf("%q", got)
	}
	for _, address := range []string{
		"", "x.png", "//host.example/x.png", "javascript:alert(1)", "data:image/png;base64,AA", "ftp://host.example/x.png", "https://me:secret@host.example/x.png",
		"https://host.example/x.png) [a](b", "https://host.example/x.png \"t\"", "https://host.example/x|y.png", "https://host.example/x\n.png", "https://host.example/é.png", "https:///x.png", "https://host.example/<b>",
	} {
		if got := Picture("a", address); !got.Empty() {
			t.Errorf("%q gives %q", address, got)
		}
	}
	for _, words := range texttest.Pages() {
		onlyAPicture(t, words, "/uploads/0123456789abcdef0123456789abcdef/forge-1.png")
	}
}

// picture has nothing in it that ends its words, its address, or a cell of a table.
var picture = regexp.MustCompile("^!\\[[\\pL\\pN .,/%]*\\]\\([^\\s()<>\\[\\]|\"'`\\\\]+\\)$")

func onlyAPicture(t testing.TB, words, address string) {
	t.Helper()
	if got := Picture(words, address); !got.Empty() && !picture.MatchString(got.String()) {
		t.Fatalf("%q at %q is shown as %q", words, address, got)
	}
}

func FuzzPicture(f *testing.F) {
	f.Add("After: http://localhost:1/", "https://host.example/a.png?x=1#y")
	f.Add("](https://evil.example)", "/uploads/a/b.png")
	f.Fuzz(func(t *testing.T, words, address string) { onlyAPicture(t, words, address) })
}
