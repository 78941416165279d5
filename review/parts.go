package review

import (
	"bytes"
	"strconv"

	"forge/internal/text"
)

const (
	// DefaultPartTokens is how much of a change one question shows, by
	// estimate: it fits the context of any model in use with room for the
	// rest, and more at once makes reviewers worse.
	DefaultPartTokens = 24_000
	// DefaultMaxParts is how many questions one review may take; a change of
	// 100,000 lines takes about a hundred.
	DefaultMaxParts = 200
	// maxLineBytes of one line are shown; who writes longer ones has made
	// them by a program.
	maxLineBytes = 4000
	// minPartBytes holds one line and its heads whatever limit is set.
	minPartBytes = 3 * maxLineBytes
)

// part is what one question shows of a change.
type part struct {
	text  []byte
	files []int // of the change
}

// left is a file that is not shown, or not whole.
type left struct {
	file int
	why  string
}

// parts splits a change by file, and a file that is too large for one part by
// line, in the order of the change: the same change gives the same parts. What
// is not in them is in the second list; nothing is in neither.
func parts(c Change, tokens, most int) ([]part, []left) {
	if tokens <= 0 {
		tokens = DefaultPartTokens
	}
	if most <= 0 {
		most = DefaultMaxParts
	}
	p := packer{limit: max(tokens*bytesPerToken, minPartBytes)}
	for i := range c.Files {
		p.ahead += shownSize(&c.Files[i])
	}
	var out []left
	for i := range c.Files {
		f := &c.Files[i]
		switch {
		case f.Cut:
			out = append(out, left{i, "the change is too large"})
			continue
		case f.Binary && f.Status != Deleted:
			out = append(out, left{i, "binary"})
			continue
		}
		if p.add(i, f) {
			out = append(out, left{i, "a line of more than " + strconv.Itoa(maxLineBytes) + " bytes"})
		}
	}
	p.close()
	if len(p.parts) > most {
		over := map[int]bool{}
		for _, rest := range p.parts[most:] {
			for _, i := range rest.files {
				over[i] = true
			}
		}
		kept := out[:0]
		for _, l := range out {
			if !over[l.file] {
				kept = append(kept, l)
			}
		}
		out = kept
		for i := range c.Files {
			if over[i] {
				out = append(out, left{i, "the change is too large"})
			}
		}
		p.parts = p.parts[:most]
	}
	return p.parts, out
}

// packer fills one part after the other.
type packer struct {
	limit int
	parts []part
	at    part
	ahead int    // bytes to come, by estimate
	line  []byte // scratch
}

// shownSize is a little more than a file has when it is shown: numbers and
// heads are added. What cannot be seen may take more.
func shownSize(f *File) int {
	size := 200 + len(f.Path) + len(f.OldPath)
	for i := range f.Hunks {
		size += len(f.Hunks[i].Body)*5/4 + 40
	}
	return size
}

func (p *packer) close() {
	if len(p.at.files) > 0 {
		p.parts = append(p.parts, p.at)
	}
	p.at = part{}
}

func (p *packer) begin(file int) {
	if n := len(p.at.files); n == 0 || p.at.files[n-1] != file {
		p.at.files = append(p.at.files, file)
	}
}

// add shows a file and says whether a line of it had to be cut.
func (p *packer) add(index int, f *File) (cut bool) {
	head := fileHead(f)
	old := f.oldSide()
	start := len(p.at.text)
	text := p.at.text
	if text == nil {
		text = make([]byte, 0, min(p.ahead, p.limit))
	}
	p.ahead -= shownSize(f)
	text = append(text, head...)
	for i := range f.Hunks {
		text = hunkHead(text, &f.Hunks[i], old)
		walk(&f.Hunks[i], old, func(number int, line []byte) bool {
			var c bool
			text, c = showLine(text, number, line)
			cut = cut || c
			return true
		})
	}
	shown := text[start:]
	if len(text) > p.limit && start > 0 {
		p.at.text = text[:start:start]
		p.close()
		text = shown
	}
	if len(shown) <= p.limit {
		p.begin(index)
		p.at.text = text
		return cut
	}
	p.split(index, f, head, old)
	return cut
}

// split spreads a file over as many parts as it takes; each names it anew.
func (p *packer) split(index int, f *File, head []byte, old bool) {
	p.begin(index)
	p.at.text = append(p.at.text, head...)
	for i := range f.Hunks {
		h := &f.Hunks[i]
		p.at.text = hunkHead(p.at.text, h, old)
		walk(h, old, func(number int, line []byte) bool {
			if p.line, _ = showLine(p.line[:0], number, line); len(p.at.text)+len(p.line) > p.limit {
				p.close()
				p.begin(index)
				p.at.text = append(append(p.at.text, head...), "(goes on)\n"...)
			}
			p.at.text = append(p.at.text, p.line...)
			return true
		})
	}
}

// fileHead names a file and what became of it.
func fileHead(f *File) []byte {
	var b bytes.Buffer
	b.WriteString("\n=== " + Name(f.Path) + "\n")
	switch f.Status {
	case Added:
		b.WriteString("new file")
	case Deleted:
		b.WriteString("deleted; line numbers are those it had")
	case Renamed:
		b.WriteString("renamed from " + Name(f.OldPath))
	case Copied:
		b.WriteString("copied from " + Name(f.OldPath))
	case Modified, Retyped:
		b.WriteString("changed")
	}
	if f.Status != Deleted && f.oldSide() {
		b.WriteString("; empty now, line numbers are those it had")
	}
	switch {
	case f.Status == Deleted:
	case f.Status == Added && f.NewMode != "100644":
		b.WriteString("; mode " + f.NewMode)
	case f.Status != Added && f.NewMode != f.OldMode:
		b.WriteString("; mode " + f.OldMode + " to " + f.NewMode)
	}
	switch {
	case f.Binary:
		b.WriteString("; binary")
	case len(f.Hunks) == 0:
		b.WriteString("; no line of it changed")
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func hunkHead(to []byte, h *Hunk, old bool) []byte {
	first, last := h.lines(old)
	if last < first {
		return append(to, "@@ removed lines\n"...)
	}
	to = append(to, "@@ lines "...)
	to = strconv.AppendInt(to, int64(first), 10)
	to = append(to, " to "...)
	to = strconv.AppendInt(to, int64(last), 10)
	return append(to, '\n')
}

// walk calls fn for each line of a hunk, with its mark, and with its number;
// 0 where it has none on the side that counts.
func walk(h *Hunk, old bool, fn func(number int, line []byte) bool) {
	was, now := h.OldStart, h.NewStart
	for body := h.Body; len(body) > 0; {
		line := body
		if i := bytes.IndexByte(body, '\n'); i >= 0 {
			line, body = body[:i], body[i+1:]
		} else {
			body = nil
		}
		number := 0
		mark := byte(' ')
		if len(line) > 0 {
			mark = line[0]
		}
		switch mark {
		case '-':
			if old {
				number = was
			}
			was++
		case '+':
			if !old {
				number = now
			}
			now++
		case ' ':
			number = now
			if old {
				number = was
			}
			was, now = was+1, now+1
		}
		if !fn(number, line) {
			return
		}
	}
}

// showLine appends one line: number, mark, text.
func showLine(to []byte, number int, line []byte) (out []byte, cut bool) {
	const width = 6
	head := [24]byte{}
	lead := strconv.AppendInt(head[:0], int64(number), 10)
	if number <= 0 {
		lead = head[:0]
	}
	for len(lead) < width {
		lead = append(lead, ' ')
	}
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) == 0 {
		return append(append(to, lead...), '\n'), false
	}
	size := len(line)
	to = append(to, append(lead, ' ', line[0], ' ')...)
	if cut = size > maxLineBytes; cut {
		line = line[:maxLineBytes/3] // spelled out, a byte can take up to six and more
	}
	from := len(to)
	to = text.AppendVisible(to, line[1:])
	if len(to)-from > 2*maxLineBytes {
		to, cut = append(to[:from], text.Cut(string(to[from:]), 2*maxLineBytes)...), true
	}
	if cut {
		to = append(to, " [… the line has "...)
		to = strconv.AppendInt(to, int64(size), 10)
		to = append(to, " bytes]"...)
	}
	return append(to, '\n'), cut
}
