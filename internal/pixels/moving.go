package pixels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/draw"
	"time"
)

// signature begins every PNG.
const signature = "\x89PNG\r\n\x1a\n"

// Moving is frames one after the other, over and over, as an animated PNG: what
// cannot move it shows the first. All have the size of the first one.
func Moving(frames []*image.RGBA, each time.Duration) ([]byte, error) {
	if len(frames) == 0 {
		return nil, errors.New("make a moving picture: there is none to move")
	}
	size, number := frames[0].Bounds(), uint32(0)
	out := bytes.NewBufferString(signature)
	for i, frame := range frames {
		if frame.Bounds() != size { // the head of the first one counts for all, also that nothing can be seen through
			whole := image.NewRGBA(size)
			draw.Draw(whole, size, image.White, image.Point{}, draw.Src)
			draw.Draw(whole, frame.Bounds(), frame, image.Point{}, draw.Src)
			frame = whole
		}
		still, err := Write(frame)
		if err != nil {
			return nil, err
		}
		head, body, err := pieces(still)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			piece(out, "IHDR", head)
			piece(out, "acTL", words(len(frames), 0))
		}
		control := words(int(number), size.Dx(), size.Dy(), 0, 0)
		control = binary.BigEndian.AppendUint16(control, uint16(min(each.Milliseconds(), 60_000))) //nolint:gosec // a minute at most
		control = append(binary.BigEndian.AppendUint16(control, 1000), 0, 0)
		piece(out, "fcTL", control)
		number++
		for _, data := range body {
			if i == 0 {
				piece(out, "IDAT", data)
				continue
			}
			piece(out, "fdAT", append(words(int(number)), data...))
			number++
		}
		if out.Len() > MostBytes {
			return nil, fmt.Errorf("make a moving picture: %d of %d are too large to be kept", i+1, len(frames))
		}
	}
	piece(out, "IEND", nil)
	return out.Bytes(), nil
}

// pieces are the head and the content of a PNG that this package wrote.
func pieces(still []byte) (head []byte, body [][]byte, err error) {
	for rest := still[len(signature):]; len(rest) >= 12; {
		n := int(binary.BigEndian.Uint32(rest))
		if len(rest) < n+12 {
			break
		}
		switch name, data := string(rest[4:8]), rest[8:8+n]; name {
		case "IHDR":
			head = data
		case "IDAT":
			body = append(body, data)
		case "IEND":
			return head, body, nil
		}
		rest = rest[n+12:]
	}
	return nil, nil, errors.New("make a moving picture: one of its pictures has no end")
}

// piece writes a chunk with its sum.
func piece(out *bytes.Buffer, name string, data []byte) {
	out.Write(words(len(data)))
	all := append([]byte(name), data...)
	out.Write(all)
	out.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(all)))
}

// words are numbers of four bytes each.
func words(numbers ...int) []byte {
	var out []byte
	for _, n := range numbers {
		out = binary.BigEndian.AppendUint32(out, uint32(n)) //nolint:gosec // counts and sides, which are bounded
	}
	return out
}
