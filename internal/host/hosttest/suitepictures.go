package hosttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"testing"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Dot is a picture of one colour.
func Dot(t testing.TB, shade uint8) work.PullPicture {
	t.Helper()
	dot := image.NewGray(image.Rect(0, 0, 4, 4))
	for i := range dot.Pix {
		dot.Pix[i] = shade
	}
	var data bytes.Buffer
	check(t, png.Encode(&data, dot))
	sum := sha256.Sum256(data.Bytes())
	return work.PullPicture{Sum: hex.EncodeToString(sum[:]), Data: data.Bytes()}
}

// pictures: each is put on a pull request once, in whatever order it is asked for, and
// those that are no longer shown have other addresses than those that are.
func pictures(f *fixture) {
	pull, _ := f.propose(branch, map[string]string{"b.txt": "b\n"})
	show := func(all ...work.PullPicture) []string {
		f.Helper()
		got, err := f.Host.Pictures(f.Context(), pull.Number, all)
		f.ok(err)
		if !f.Pictures && got != nil {
			f.Fatalf("a host without pictures shows %q", got)
		}
		if f.Pictures && len(got) != len(all) {
			f.Fatalf("%d pictures have the addresses %q", len(all), got)
		}
		return got
	}
	one, two, three := Dot(f, 1), Dot(f, 2), Dot(f, 3)
	first := show(one, two)
	if !f.Pictures {
		return
	}
	if first[0] == first[1] {
		f.Errorf("two pictures have one address: %q", first)
	}
	p := f.proposal(branch)
	p.Body = text.Join("\n", text.Picture("one", first[0]), text.Picture("two", first[1]))
	if body := f.open(p).Body; f.Uploads && len(host.Uploaded(body)) != 2 {
		f.Errorf("the text shows %q", body)
	}
	if again := show(two, one); again[0] != first[1] || again[1] != first[0] {
		f.Errorf("shown again as %q, were %q", again, first)
	}
	next := show(one, three)
	if next[0] != first[0] || next[1] == first[0] || next[1] == first[1] {
		f.Errorf("one of another beside it: %q, were %q", next, first)
	}
	if none, err := f.Host.Pictures(f.Context(), 9999, []work.PullPicture{one}); err == nil {
		f.Errorf("a pull request that there is not shows %q", none)
	}
}
