package eval

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/review"
)

// newFile is a change that adds one file.
func newFile(name string, text []byte) review.Change {
	text = bytes.TrimSuffix(text, []byte{'\n'})
	list := bytes.Split(text, []byte{'\n'})
	var body []byte
	for _, line := range list {
		body = append(append(append(body, '+'), line...), '\n')
	}
	return review.Change{Files: []review.File{{
		Path: name, Status: review.Added, OldMode: "000000", NewMode: "100644",
		Hunks: []review.Hunk{{NewStart: 1, NewLines: len(list), Body: body}},
	}}}
}

// readPatch reads what git diff prints. It makes the list that git has for
// programs, and leaves the reading of the patch itself to the one reader of
// changes that there is.
func readPatch(text []byte) (review.Change, error) {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(bytes.Clone(text), '\n')
	}
	var list, patch bytes.Buffer
	for i, section := range sections(text) {
		if i == 0 {
			if len(bytes.TrimSpace(section)) > 0 {
				return review.Change{}, errors.New("does not begin with a line diff --git")
			}
			continue
		}
		entry, rest, err := readSection(section)
		if err != nil {
			return review.Change{}, err
		}
		list.WriteString(entry)
		patch.Write(rest)
	}
	if list.Len() == 0 {
		return review.Change{}, errors.New("has no line diff --git")
	}
	list.WriteByte(0)
	list.Write(patch.Bytes())
	c, err := review.ParseChange(list.Bytes(), false)
	if err != nil {
		return c, fmt.Errorf("is not understood: %w", err)
	}
	for _, f := range c.Files {
		if f.Binary {
			return c, fmt.Errorf("%s is binary", f.Path)
		}
	}
	return c, nil
}

// sections splits before each line that begins a file; no line of a hunk does.
func sections(text []byte) [][]byte {
	var out [][]byte
	start := 0
	for at := 0; at < len(text); {
		if bytes.HasPrefix(text[at:], []byte("diff --git ")) {
			out = append(out, text[start:at])
			start = at
		}
		next := bytes.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return append(out, text[start:])
}

// readSection is the entry of git's list for one file, and its patch without
// the line of ids, which the list would have to agree with.
func readSection(section []byte) (entry string, patch []byte, err error) {
	var out bytes.Buffer
	var oldName, newName string
	status, was, now := review.Modified, "100644", "100644"
	rest := section
	for len(rest) > 0 && !bytes.HasPrefix(rest, []byte("@@ ")) {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		rest = after
		text := string(line)
		for _, h := range []struct {
			prefix string
			do     func(string)
		}{
			{"new file mode ", func(v string) { status, was, now = review.Added, "000000", v }},
			{"deleted file mode ", func(v string) { status, was, now = review.Deleted, v, "000000" }},
			{"old mode ", func(v string) { was = v }},
			{"new mode ", func(v string) { now = v }},
			{"rename from ", func(v string) { status, oldName = review.Renamed, v }},
			{"rename to ", func(v string) { newName = v }},
			{"copy from ", func(v string) { status, oldName = review.Copied, v }},
			{"copy to ", func(v string) { newName = v }},
			{"--- a/", func(v string) { oldName = v }},
			{"+++ b/", func(v string) { newName = v }},
		} {
			if v, ok := strings.CutPrefix(text, h.prefix); ok {
				h.do(strings.TrimSuffix(v, "\t"))
			}
		}
		if !strings.HasPrefix(text, "index ") {
			out.WriteString(text + "\n")
		}
	}
	out.Write(rest)
	names := newName
	switch status {
	case review.Renamed, review.Copied:
		names = oldName + "\x00" + newName
	case review.Deleted:
		names = oldName
	}
	if names == "" || len(was) != 6 || len(now) != 6 {
		head, _, _ := strings.Cut(string(section), "\n")
		return "", nil, fmt.Errorf("%q is followed by no name or a mode that git does not write", text.Clip(head, 80))
	}
	id := strings.Repeat("1", 40)
	return fmt.Sprintf(":%s %s %s %s %c\x00%s\x00", was, now, id, id, status, names), out.Bytes(), nil
}

// placed says what is wrong with a place: "" when each of its ends is a line
// of the change that a finding may name.
func placed(c review.Change, at Place) string {
	file, line, end := at.File, at.Line, at.EndLine
	for _, f := range c.Files {
		if f.Path != file {
			continue
		}
		if len(f.Hunks) == 0 {
			if line == 1 && end == 1 {
				return ""
			}
			return fmt.Sprintf("is at line %d of %s, which has line 1 alone", line, file)
		}
		old := true
		for _, h := range f.Hunks {
			old = old && h.NewLines == 0
		}
		for _, h := range f.Hunks {
			first, last := h.NewStart, h.NewStart+h.NewLines-1
			if old {
				first, last = h.OldStart, h.OldStart+h.OldLines-1
			}
			if line >= first && line <= last && end >= line && end <= last {
				return ""
			}
		}
		return fmt.Sprintf("is at lines %d to %d of %s, which the change does not show in one piece", line, end, file)
	}
	return fmt.Sprintf("is in %s, which is not in the change", file)
}
