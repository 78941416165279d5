// Package diff shows a change to a person: line by line with syntax colours,
// one side beside the other or one below the other, Markdown as it reads, and
// which files to look at first. It renders values; it reads nothing.
package diff

import "forge/review"

// Stat is how much of a file changed.
type Stat struct{ Added, Removed int }

// StatOf counts the lines of a file's change.
func StatOf(f *review.File) Stat {
	var s Stat
	for i := range f.Hunks {
		for _, l := range linesOf(f.Hunks[i].Body) {
			switch l.mark {
			case '+':
				s.Added++
			case '-':
				s.Removed++
			}
		}
	}
	return s
}

// line is a line of a hunk without its mark and line end.
type line struct {
	mark byte // ' ', '+', '-'; '\\' = what git says about the line before
	text string
}

func linesOf(body []byte) []line {
	var out []line
	for len(body) > 0 {
		end := len(body)
		for i, c := range body {
			if c == '\n' {
				end = i + 1
				break
			}
		}
		l := body[:end]
		body = body[end:]
		if l[len(l)-1] == '\n' {
			l = l[:len(l)-1]
		}
		if len(l) == 0 {
			out = append(out, line{mark: ' '})
			continue
		}
		out = append(out, line{mark: l[0], text: string(l[1:])})
	}
	return out
}
