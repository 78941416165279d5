// Package pixels holds pictures of pages against each other: what is another
// colour, how much of it, and where, drawn so that a person sees it at once. It
// also makes one moving picture of several. A picture came from a program that is
// not trusted: it is read within bounds, and what goes on is drawn anew.
package pixels

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// Bounds of a picture: of its file, and of each of its sides.
const (
	MostBytes = 16 << 20
	MostSide  = 4096
)

// Read is a PNG within the bounds. Its size is known before any of it is unpacked:
// a small file can be a picture that fills the memory.
func Read(data []byte) (*image.RGBA, error) {
	if len(data) > MostBytes {
		return nil, fmt.Errorf("read picture: it has %d bytes, at most %d are read", len(data), MostBytes)
	}
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	if head.Width < 1 || head.Height < 1 || head.Width > MostSide || head.Height > MostSide {
		return nil, fmt.Errorf("read picture: it is %d × %d, and may have from 1 to %d on each side", head.Width, head.Height, MostSide)
	}
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}

	// On white, as paper: what can be seen through has no colour to compare.
	to := image.NewRGBA(image.Rect(0, 0, head.Width, head.Height))
	draw.Draw(to, to.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Over)
	return to, nil
}

// Write is p as a PNG: nothing but its pixels is in it.
func Write(p image.Image) ([]byte, error) {
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, p); err != nil {
		return nil, fmt.Errorf("write picture: %w", err)
	}
	if out.Len() > MostBytes {
		return nil, errors.New("write picture: it is too large to be kept")
	}
	return out.Bytes(), nil
}

// Difference is what two pictures do not have in common.
type Difference struct {
	Changed int // pixels
	Of      int
	// Marked is the later picture, pale, with what differs in one strong colour and
	// a frame around each part; nil = nothing differs.
	Marked *image.RGBA
}

// Tolerance is by how much each of red, green and blue may differ, of 255: the
// edges of letters are not drawn twice alike.
const Tolerance = 24

// mark is the colour of what differs: it is in no palette that pages like.
var mark = color.RGBA{R: 214, G: 0, B: 110, A: 255}

// Compare holds after against before. What one has and the other does not, since
// they are not of one size, differs.
func Compare(before, after *image.RGBA) Difference {
	size := before.Bounds().Union(after.Bounds())
	d := Difference{Of: size.Dx() * size.Dy()}
	differs := make([]bool, d.Of)
	for y := range size.Dy() {
		for x := range size.Dx() {
			if !alike(before, after, image.Pt(x, y)) {
				differs[y*size.Dx()+x] = true
				d.Changed++
			}
		}
	}
	if d.Changed > 0 {
		d.Marked = marked(after, size, differs)
	}
	return d
}

// alike says that a place has the same colour in both.
func alike(a, b *image.RGBA, at image.Point) bool {
	if !at.In(a.Bounds()) || !at.In(b.Bounds()) {
		return false
	}
	p, q := a.RGBAAt(at.X, at.Y), b.RGBAAt(at.X, at.Y)
	return near(p.R, q.R) && near(p.G, q.G) && near(p.B, q.B)
}

func near(a, b uint8) bool { return max(a, b)-min(a, b) <= Tolerance }

// block is the side of the squares by which parts are framed: what differs closer
// together than that is one part.
const block = 16

// marked draws what differs.
func marked(after *image.RGBA, size image.Rectangle, differs []bool) *image.RGBA {
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			c := mark
			if !differs[y*size.Dx()+x] {
				c = pale(after.RGBAAt(x, y))
			}
			out.SetRGBA(x, y, c)
		}
	}
	for _, part := range parts(size, differs) {
		frame(out, part)
	}
	return out
}

// pale is a colour as a background: three quarters of the way to white, and grey.
func pale(c color.RGBA) color.RGBA {
	grey := (int(c.R)*3 + int(c.G)*6 + int(c.B)) / 10
	p := uint8(255 - (255-grey)/4) //nolint:gosec // grey is at most 255
	return color.RGBA{R: p, G: p, B: p, A: 255}
}

// parts are the rectangles that hold what differs: squares that touch are one.
func parts(size image.Rectangle, differs []bool) []image.Rectangle {
	wide, high := (size.Dx()+block-1)/block, (size.Dy()+block-1)/block
	full := make([]bool, wide*high)
	for i, d := range differs {
		if d {
			full[i/size.Dx()/block*wide+i%size.Dx()/block] = true
		}
	}
	var out []image.Rectangle
	for i := range full {
		if !full[i] {
			continue
		}
		part, due := image.Rectangle{}, []int{i}
		full[i] = false
		for len(due) > 0 {
			at := image.Pt(due[0]%wide, due[0]/wide)
			due = due[1:]
			part = part.Union(image.Rectangle{Min: at, Max: at.Add(image.Pt(1, 1))})
			for y := max(at.Y-1, 0); y <= min(at.Y+1, high-1); y++ {
				for x := max(at.X-1, 0); x <= min(at.X+1, wide-1); x++ {
					if j := y*wide + x; full[j] {
						full[j] = false
						due = append(due, j)
					}
				}
			}
		}
		out = append(out, image.Rectangle{Min: part.Min.Mul(block), Max: part.Max.Mul(block)})
	}
	return out
}

// frame draws the two pixels around r that are inside of p.
func frame(p *image.RGBA, r image.Rectangle) {
	for _, edge := range []image.Rectangle{
		image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+2), image.Rect(r.Min.X, r.Max.Y-2, r.Max.X, r.Max.Y),
		image.Rect(r.Min.X, r.Min.Y, r.Min.X+2, r.Max.Y), image.Rect(r.Max.X-2, r.Min.Y, r.Max.X, r.Max.Y),
	} {
		edge = edge.Intersect(p.Bounds())
		for y := edge.Min.Y; y < edge.Max.Y; y++ {
			for x := edge.Min.X; x < edge.Max.X; x++ {
				p.SetRGBA(x, y, mark)
			}
		}
	}
}
