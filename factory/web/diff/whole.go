package diff

import (
	"fmt"
	"strings"

	"forge/review"
)

// Whole is a file as it is, without a change: a view of one hunk whose rows
// have a new side only.
func Whole(path string, text []byte) View {
	v := View{Path: review.Name(path)}
	if len(text) == 0 {
		v.Note = "The file is empty."
		return v
	}
	coloured, ok := colour(path, text)
	v.Coloured = ok
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	h := Hunk{Number: 1}
	for i, l := range lines {
		if i == MaxRows {
			v.Note = fmt.Sprintf("The first %d of %d lines.", MaxRows, len(lines))
			break
		}
		h.Rows = append(h.Rows, Row{New: &Cell{Line: i + 1, HTML: markup(at(coloured, i+1, l), 0, 0)}})
	}
	v.Hunks = []Hunk{h}
	return v
}
