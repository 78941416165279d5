package review

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	texts "forge/internal/text"
)

// ParseChange reads what "git diff-tree -r -z --raw -p --full-index" prints:
// the list of files, which has their names byte by byte, and the patch. cut
// says that the end of the text is missing; what was lost by that is marked in
// the files. Anything that is not understood is an error.
//
// A hunk ends where its head says, never where a line looks like the head of
// something else: "-- x" removed and "++ x" added read like the names of a file.
// What the head promises has to be there, and the ids of the patch are those of
// the list: a reviewer is shown the change that is merged, or none.
func ParseChange(text []byte, cut bool) (Change, error) {
	entries, rest, err := parseList(text)
	if err != nil {
		return Change{}, err
	}
	c := Change{Files: make([]File, len(entries))}
	for i := range entries {
		e := &entries[i]
		f := &c.Files[i]
		*f = e.File
		ids := [][2]string{{e.oldID, e.newID}}
		if f.Status == Retyped { // git writes it as a deletion and a creation
			ids = [][2]string{{e.oldID, noID}, {noID, e.newID}}
		}
		for _, id := range ids {
			if !f.Cut {
				rest, err = parseSection(f, rest, id[0]+".."+id[1])
			}
			if cut && (errors.Is(err, errEnds) || err == nil && len(rest) == 0) {
				f.Cut, f.Hunks, rest, err = true, nil, nil, nil
			}
			if err != nil {
				return Change{}, fmt.Errorf("read the change of %s: %w", Name(f.Path), err)
			}
		}
	}
	if len(rest) > 0 {
		return Change{}, fmt.Errorf("read the change: %q belongs to no file of the list", texts.Clip(string(rest), 60))
	}
	return c, nil
}

var errEnds = errors.New("the text ends too early")

const noID = "0000000000000000000000000000000000000000"

// entry is one line of git's list.
type entry struct {
	File
	oldID, newID string
}

// parseList reads the list and returns the patch behind it.
func parseList(text []byte) (entries []entry, patch []byte, err error) {
	next := func() (string, error) {
		field, rest, ok := bytes.Cut(text, []byte{0})
		if !ok {
			return "", errEnds
		}
		text = rest
		return string(field), nil
	}
	for len(text) > 0 && text[0] == ':' {
		head, err := next()
		if err != nil {
			return nil, nil, fmt.Errorf("read the list of files: %w", err)
		}
		// ":<mode> <mode> <id> <id> <status>", the numbers of fixed length.
		if len(head) < 98 || head[7] != ' ' || head[14] != ' ' || head[55] != ' ' || head[96] != ' ' {
			return nil, nil, fmt.Errorf("read the list of files: %q is not understood", texts.Clip(head, 120))
		}
		e := entry{
			File:  File{OldMode: head[1:7], NewMode: head[8:14], Status: Status(head[97])},
			oldID: head[15:55], newID: head[56:96],
		}
		if e.Path, err = next(); err != nil {
			return nil, nil, fmt.Errorf("read the list of files: %w", err)
		}
		switch e.Status {
		case Added, Deleted, Modified, Retyped:
		case Renamed, Copied:
			e.OldPath = e.Path
			if e.Path, err = next(); err != nil {
				return nil, nil, fmt.Errorf("read the list of files: %w", err)
			}
		default:
			return nil, nil, fmt.Errorf("read the list of files: unknown status %q", head[97:])
		}
		if e.Path == "" {
			return nil, nil, errors.New("read the list of files: a name is empty")
		}
		entries = append(entries, e)
	}
	if len(entries) > 0 && len(text) > 0 {
		if text[0] != 0 {
			return nil, nil, errors.New("read the list of files: its end is missing")
		}
		text = text[1:]
	}
	return entries, text, nil
}

// headers are the lines that may stand before a file's hunks.
var headers = [...]string{
	"old mode ", "new mode ", "deleted file mode ", "new file mode ", "similarity index ", "dissimilarity index ",
	"rename from ", "rename to ", "copy from ", "copy to ", "--- ", "+++ ",
}

// parseSection reads one file of the patch and returns what follows.
func parseSection(f *File, text []byte, ids string) ([]byte, error) {
	line, rest, err := cutLine(text)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(line, []byte("diff --git ")) {
		return nil, fmt.Errorf("want the head of a file, have %q", texts.Clip(string(line), 60))
	}
	for len(rest) > 0 && !bytes.HasPrefix(rest, []byte("diff --git ")) {
		if bytes.HasPrefix(rest, []byte("@@ ")) {
			if rest, err = parseHunk(f, rest); err != nil {
				return nil, err
			}
			continue
		}
		if line, rest, err = cutLine(rest); err != nil {
			return nil, err
		}
		if err := parseHeader(f, line, ids); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func parseHeader(f *File, line []byte, ids string) error {
	if index, ok := bytes.CutPrefix(line, []byte("index ")); ok {
		if !bytes.HasPrefix(index, []byte(ids)) {
			return fmt.Errorf("the patch is of %q, the list of %s", texts.Clip(string(index), 90), ids)
		}
		return nil
	}
	if bytes.HasPrefix(line, []byte("Binary files ")) {
		f.Binary = true
		return nil
	}
	for _, h := range headers {
		if bytes.HasPrefix(line, []byte(h)) {
			return nil
		}
	}
	return fmt.Errorf("%q is not understood", texts.Clip(string(line), 60))
}

// parseHunk reads exactly as many lines as the head of the hunk says.
func parseHunk(f *File, text []byte) ([]byte, error) {
	head, rest, err := cutLine(text)
	if err != nil {
		return nil, err
	}
	h, err := parseHunkHead(head)
	if err != nil {
		return nil, err
	}
	body := rest
	for was, now := h.OldLines, h.NewLines; was > 0 || now > 0; {
		var line []byte
		if line, rest, err = cutLine(rest); err != nil {
			return nil, err
		}
		switch {
		case len(line) == 0 || line[0] == ' ': // git can be told to leave the mark of empty lines out
			was, now = was-1, now-1
		case line[0] == '-':
			was--
		case line[0] == '+':
			now--
		case line[0] == '\\': // no line end at the end of the file
		default:
			return nil, fmt.Errorf("%q is no line of a hunk", texts.Clip(string(line), 60))
		}
		if was < 0 || now < 0 {
			return nil, errors.New("a hunk has other lines than its head says")
		}
	}
	for len(rest) > 0 && rest[0] == '\\' {
		if _, rest, err = cutLine(rest); err != nil {
			return nil, err
		}
	}
	h.Body = body[:len(body)-len(rest)]
	f.Hunks = append(f.Hunks, h)
	return rest, nil
}

// parseHunkHead reads "@@ -1,2 +3,4 @@ text"; a count that is left out is 1.
func parseHunkHead(line []byte) (h Hunk, err error) {
	rest, ok := bytes.CutPrefix(line, []byte("@@ -"))
	was, rest, ok1 := bytes.Cut(rest, []byte(" +"))
	now, _, ok2 := bytes.Cut(rest, []byte(" @@"))
	ok = ok && ok1 && ok2
	if ok {
		h.OldStart, h.OldLines, ok1 = parseRange(was)
		h.NewStart, h.NewLines, ok2 = parseRange(now)
		ok = ok1 && ok2 && h.OldLines+h.NewLines > 0
	}
	if !ok {
		return h, fmt.Errorf("%q is no head of a hunk", texts.Clip(string(line), 60))
	}
	return h, nil
}

func parseRange(text []byte) (start, lines int, ok bool) {
	first, count, two := bytes.Cut(text, []byte(","))
	start, ok = number(first)
	lines = 1
	if two && ok {
		lines, ok = number(count)
	}
	return start, lines, ok
}

// number is a line number: digits alone, and few enough to be added up.
func number(text []byte) (int, bool) {
	if len(text) == 0 || len(text) > 9 || text[0] == '-' || text[0] == '+' {
		return 0, false
	}
	n, err := strconv.Atoi(string(text))
	return n, err == nil
}

// cutLine returns the first line without its end, and what follows it.
func cutLine(text []byte) (line, rest []byte, err error) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return nil, nil, errEnds
	}
	return text[:i], text[i+1:], nil
}
