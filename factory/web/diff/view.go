package diff

import (
	"fmt"
	"html"
	"html/template"
	"unicode/utf8"

	"forge/internal/text"
	"forge/review"
)

// MaxRows is how many lines of one file are shown; the rest is said.
const MaxRows = 4000

// View is one file of a change, ready to be shown.
type View struct {
	Path    string
	OldPath string // of a renamed or copied file
	What    string // new, deleted, renamed, …, and the mode where it changed
	Note    string // why lines are missing; "" = they are all there
	Stat
	Hunks    []Hunk
	Coloured bool // syntax colours are there
}

// OneSided says that there is nothing on one of the sides.
func (v View) OneSided() bool { return v.Added == 0 || v.Removed == 0 && v.What == "new file" }

// Hunk is a run of lines that changed, with those around it.
type Hunk struct {
	Number int // from 1
	Head   string
	Rows   []Row
}

// Row is one line of both sides. Old is nil for a line that is new, New for one
// that is gone.
type Row struct{ Old, New *Cell }

// Changed says that the two sides are not the same.
func (r Row) Changed() bool { return r.Old == nil || r.New == nil || r.Old.Changed }

// Cell is a line of one side.
type Cell struct {
	Line    int
	HTML    template.HTML
	Changed bool
	NoEnd   bool // the file ends here without a line end
}

// Flat are the rows of a hunk one below the other: what is gone before what is
// new, a line that stayed once.
func (h Hunk) Flat() []Row {
	var out, fresh []Row
	flush := func() { out, fresh = append(out, fresh...), nil }
	for _, r := range h.Rows {
		if !r.Changed() {
			flush()
			out = append(out, r)
			continue
		}
		if r.Old != nil {
			out = append(out, Row{Old: r.Old})
		}
		if r.New != nil {
			fresh = append(fresh, Row{New: r.New})
		}
	}
	flush()
	return out
}

// Render makes a view of f. before and after are the whole files for syntax
// colours, nil where they are not known: the lines are then shown without.
func Render(f *review.File, before, after []byte) View {
	v := View{Path: review.Name(f.Path), Stat: StatOf(f), What: what(f)}
	if f.OldPath != "" {
		v.OldPath = review.Name(f.OldPath)
	}
	switch {
	case f.Cut:
		v.Note = "This change is too large to be shown whole; what follows is its beginning."
	case f.Binary:
		v.Note = "A binary file: there are no lines to show."
	case len(f.Hunks) == 0:
		v.Note = "No line changed."
	}
	old, okOld := colour(oldName(f), before)
	fresh, okNew := colour(f.Path, after)
	v.Coloured = okOld || okNew
	rows := 0
	for i := range f.Hunks {
		h := hunk(&f.Hunks[i], old, fresh)
		h.Number = i + 1
		if rows += len(h.Rows); rows > MaxRows {
			h.Rows = h.Rows[:max(0, len(h.Rows)-(rows-MaxRows))]
			v.Hunks = append(v.Hunks, h)
			v.Note = fmt.Sprintf("The first %d lines are shown: the change goes on for %s.", MaxRows, text.Number(len(f.Hunks)-i, "more hunk"))
			break
		}
		v.Hunks = append(v.Hunks, h)
	}
	return v
}

func oldName(f *review.File) string {
	if f.OldPath != "" {
		return f.OldPath
	}
	return f.Path
}

func what(f *review.File) string {
	word := map[review.Status]string{
		review.Added: "new file", review.Deleted: "deleted", review.Modified: "changed",
		review.Renamed: "renamed", review.Copied: "copied", review.Retyped: "changed its kind",
	}[f.Status]
	switch {
	case f.Status == review.Added && f.NewMode != "100644":
		word += ", mode " + f.NewMode
	case f.Status != review.Added && f.Status != review.Deleted && f.OldMode != f.NewMode:
		word += ", mode " + f.OldMode + " to " + f.NewMode
	}
	return word
}

// hunk puts removed lines beside the added ones that take their place.
func hunk(h *review.Hunk, old, fresh [][]piece) Hunk {
	out := Hunk{Head: fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)}
	was, is := h.OldStart, h.NewStart
	var gone, come []*side
	flush := func() {
		for i := range max(len(gone), len(come)) {
			var r Row
			var a, b *side
			if i < len(gone) {
				a = gone[i]
			}
			if i < len(come) {
				b = come[i]
			}
			var from, toA, toB int
			if a != nil && b != nil {
				from, toA, toB = middle(a.text, b.text)
			}
			if a != nil {
				r.Old = a.cell(from, toA)
			}
			if b != nil {
				r.New = b.cell(from, toB)
			}
			out.Rows = append(out.Rows, r)
		}
		gone, come = nil, nil
	}
	var last *side
	for _, l := range linesOf(h.Body) {
		switch l.mark {
		case '-':
			last = &side{number: was, text: l.text, pieces: at(old, was, l.text), changed: true}
			gone = append(gone, last)
			was++
		case '+':
			last = &side{number: is, text: l.text, pieces: at(fresh, is, l.text), changed: true}
			come = append(come, last)
			is++
		case '\\':
			if last != nil {
				last.noEnd = true
			}
			if n := len(out.Rows); last == nil && n > 0 && out.Rows[n-1].New != nil {
				out.Rows[n-1].New.NoEnd = true
			}
		default:
			flush()
			a := side{number: was, text: l.text, pieces: at(old, was, l.text)}
			b := side{number: is, text: l.text, pieces: at(fresh, is, l.text)}
			out.Rows = append(out.Rows, Row{Old: a.cell(0, 0), New: b.cell(0, 0)})
			last = nil
			was, is = was+1, is+1
		}
	}
	flush()
	return out
}

// side is a line of one side before it is rendered.
type side struct {
	number  int
	text    string
	pieces  []piece
	changed bool
	noEnd   bool
}

// cell marks the bytes from..to as what differs within the line.
func (s *side) cell(from, to int) *Cell {
	return &Cell{Line: s.number, HTML: markup(s.pieces, from, to), Changed: s.changed, NoEnd: s.noEnd}
}

// at are the coloured pieces of a line, where they are that very line: a
// content that does not fit the patch colours nothing.
func at(coloured [][]piece, number int, text string) []piece {
	if i := number - 1; i >= 0 && i < len(coloured) {
		var have int
		for _, p := range coloured[i] {
			have += len(p.text)
		}
		if have == len(text) && join(coloured[i]) == text {
			return coloured[i]
		}
	}
	return []piece{{text: text}}
}

// middle is what differs between two lines: from is where, toA and toB up to
// which byte of each. Nothing is marked in lines that have little in common.
func middle(a, b string) (from, toA, toB int) {
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	for from > 0 && from < len(a) && !utf8.RuneStart(a[from]) {
		from--
	}
	toA, toB = len(a), len(b)
	for toA > from && toB > from && a[toA-1] == b[toB-1] {
		toA, toB = toA-1, toB-1
	}
	for toA < len(a) && !utf8.RuneStart(a[toA]) {
		toA, toB = toA+1, toB+1
	}
	same := from + len(a) - toA
	if same*3 < max(len(a), len(b)) {
		return 0, 0, 0
	}
	return from, toA, toB
}

// Text is what a person reads in a cell.
func Text(c *Cell) string { return html.UnescapeString(tags().ReplaceAllString(string(c.HTML), "")) }

// tags are those that markup writes; the texts between them have none.
var tags = text.Lazy(`<[^>]*>`)
