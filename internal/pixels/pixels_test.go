package pixels

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"testing"
	"time"
)

// page is a white picture with black rectangles.
func page(wide, high int, black ...image.Rectangle) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, wide, high))
	draw.Draw(p, p.Bounds(), image.White, image.Point{}, draw.Src)
	for _, r := range black {
		draw.Draw(p, r, image.Black, image.Point{}, draw.Src)
	}
	return p
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		before, after *image.RGBA
		changed, of   int
	}{
		"the same":   {page(40, 30), page(40, 30), 0, 1200},
		"one part":   {page(40, 30), page(40, 30, image.Rect(2, 2, 6, 5)), 12, 1200},
		"gone":       {page(40, 30, image.Rect(0, 0, 1, 1)), page(40, 30), 1, 1200},
		"higher now": {page(40, 30), page(40, 40), 400, 1600},
		"wider then": {page(50, 30), page(40, 30), 300, 1500},
	} {
		d := Compare(c.before, c.after)
		if d.Changed != c.changed || d.Of != c.of || (d.Marked != nil) != (c.changed > 0) {
			t.Errorf("%s: %d of %d, marked %v; want %d of %d", name, d.Changed, d.Of, d.Marked != nil, c.changed, c.of)
		}
	}
}

// What an edge of a letter differs by is no change; one step more is.
func TestCompareTolerates(t *testing.T) {
	for _, by := range []uint8{0, Tolerance, Tolerance + 1} {
		a, b := page(1, 1), page(1, 1)
		b.SetRGBA(0, 0, color.RGBA{R: 255, G: 255 - by, B: 255, A: 255})
		if got, want := Compare(a, b).Changed, by > Tolerance; got == 1 != want {
			t.Errorf("differs by %d: %d changed", by, got)
		}
	}
}

// Where something differs is marked, and nothing else but the frames around it.
func TestMarked(t *testing.T) {
	before, after := page(200, 100), page(200, 100, image.Rect(3, 3, 5, 5), image.Rect(150, 70, 152, 72))
	d := Compare(before, after)
	if got := parts(d.Marked.Bounds(), differing(before, after)); len(got) != 2 {
		t.Errorf("%d parts, want two: %v", len(got), got)
	}
	for y := range 100 {
		for x := range 200 {
			at := image.Pt(x, y)
			if !alike(before, after, at) && d.Marked.RGBAAt(x, y) != mark {
				t.Fatalf("%v differs and is not marked", at)
			}
			framed := at.In(image.Rect(0, 0, 16, 16)) || at.In(image.Rect(144, 64, 160, 80))
			if d.Marked.RGBAAt(x, y) == mark && !framed {
				t.Fatalf("%v is marked and does not differ", at)
			}
		}
	}
}

func differing(a, b *image.RGBA) []bool {
	var out []bool
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			out = append(out, !alike(a, b, image.Pt(x, y)))
		}
	}
	return out
}

// Each place that differs lies in exactly one part, whatever the picture.
func TestPartsHoldAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		size := image.Rect(0, 0, 1+r.IntN(90), 1+r.IntN(90))
		differs := make([]bool, size.Dx()*size.Dy())
		for range r.IntN(8) {
			differs[r.IntN(len(differs))] = true
		}
		all := parts(size, differs)
		for i, d := range differs {
			in := 0
			for _, p := range all {
				if image.Pt(i%size.Dx(), i/size.Dx()).In(p) {
					in++
				}
			}
			if d && in == 0 {
				t.Fatalf("%v: place %d is in no part of %v", size, i, all)
			}
		}
	}
}

func TestReadHoldsToItsBounds(t *testing.T) {
	good, err := Write(page(8, 8))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Read(good); err != nil || p.Bounds().Dx() != 8 {
		t.Fatalf("%v, %v", p, err)
	}
	// A head that promises a picture of 40,000 by 40,000, in a file of few bytes.
	huge := bytes.Clone(good)
	binary.BigEndian.PutUint32(huge[16:], 40_000)
	binary.BigEndian.PutUint32(huge[20:], 40_000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	for name, data := range map[string][]byte{
		"too wide": huge, "cut": good[:len(good)-20], "none": nil, "no picture": []byte("<html>"), "too long": make([]byte, MostBytes+1),
	} {
		if _, err := Read(data); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	good, _ := Write(page(8, 8, image.Rect(1, 1, 3, 3)))
	f.Add(good)
	f.Add(good[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(data)
		if err != nil {
			return
		}
		again, err := Write(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Read(again)
		if err != nil || Compare(p, q).Changed > 0 {
			t.Fatalf("what was read does not come back: %v", err)
		}
	})
}

// A moving picture is a PNG whose first frame is the picture for whoever cannot
// move it, and in which the frames are told by their numbers, in order.
func TestMoving(t *testing.T) {
	frames := []*image.RGBA{page(20, 10), page(20, 10, image.Rect(0, 0, 5, 5)), page(9, 9)}
	data, err := Moving(frames, 800*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	still, err := png.Decode(bytes.NewReader(data))
	if err != nil || still.Bounds().Dx() != 20 {
		t.Fatalf("the first frame: %v", err)
	}
	next, controls := uint32(0), 0
	for rest := data[len(signature):]; len(rest) > 0; {
		n := int(binary.BigEndian.Uint32(rest))
		name, body := string(rest[4:8]), rest[8:8+n]
		if sum := binary.BigEndian.Uint32(rest[8+n:]); sum != crc32.ChecksumIEEE(rest[4:8+n]) {
			t.Fatalf("%s has a wrong sum", name)
		}
		switch name {
		case "acTL":
			if got := binary.BigEndian.Uint32(body); got != 3 {
				t.Errorf("it says that it has %d frames", got)
			}
		case "fcTL", "fdAT":
			if got := binary.BigEndian.Uint32(body); got != next {
				t.Errorf("%s is number %d, want %d", name, got, next)
			}
			next++
			if name == "fcTL" {
				controls++
			}
		}
		rest = rest[12+n:]
	}
	if controls != 3 {
		t.Errorf("%d frames, want 3", controls)
	}
	if _, err := Moving(nil, time.Second); err == nil {
		t.Error("a moving picture of nothing")
	}
}
