package work

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"forge/internal/text"
)

// What goes with a message stands in its event, beside its words: so it is small.
const (
	MaxAttached      = 8    // files and ranges of lines with one message
	MaxAttachedBytes = 7000 // of all of them together, in their event

	maxAttachedPath = 300
	maxAttachedLine = 9_999_999
	attachedKeys    = 160 // of one of them in its event, beside path and text
)

// Attached is what goes with a message to an agent: a file that the person
// brought, or a file or lines of one as they stood when it was said.
type Attached struct {
	Path string `json:"path" maxLength:"300" doc:"Path of the file below the project's folder, with slashes." jsonschema:"path of the file below the project's folder"`
	From int    `json:"from,omitempty" minimum:"0" doc:"The first line that is meant; absent = the whole file." jsonschema:"first line that is meant; absent = the whole file"`
	To   int    `json:"to,omitempty" minimum:"0" doc:"The last line that is meant; absent = only the first." jsonschema:"last line that is meant; absent = only the first"`
	Text string `json:"text,omitempty" maxLength:"7000" doc:"A file of your own. Absent = as it stands in the phase's last snapshot, where lines are always taken from." jsonschema:"a file of your own; absent = as it stands in the phase's last snapshot, where lines are always taken from"`
	// Commit is the snapshot that Text was read from; "" = whoever said it brought it.
	Commit string `json:"commit,omitempty" maxLength:"64" doc:"The snapshot that it was read from; Forge writes it." jsonschema:"leave it out"`
}

// String is what a person writes to name it: a path, and behind it the lines.
func (a Attached) String() string {
	switch {
	case a.From == 0:
		return a.Path
	case a.To == a.From || a.To == 0:
		return fmt.Sprintf("%s:%d", a.Path, a.From)
	}
	return fmt.Sprintf("%s:%d-%d", a.Path, a.From, a.To)
}

// ParseAttached reads PATH, PATH:LINE or PATH:LINE-LINE. A file whose own name ends
// like one of them is named by the API alone.
func ParseAttached(s string) (Attached, error) {
	a := Attached{Path: strings.TrimSpace(s)}
	if at := strings.LastIndexByte(a.Path, ':'); at >= 0 {
		from, to, several := strings.Cut(a.Path[at+1:], "-")
		first, bad := strconv.ParseUint(from, 10, 32)
		last, worse := first, bad
		if several {
			last, worse = strconv.ParseUint(to, 10, 32)
		}
		if bad == nil && worse == nil {
			if first == 0 {
				return a, errors.New("lines are counted from 1")
			}
			a.Path, a.From, a.To = a.Path[:at], int(first), int(last)
		}
	}
	return a, a.Check()
}

// Check says what is wrong with its path and its lines.
func (a Attached) Check() error {
	switch {
	case a.Path == "":
		return errors.New("it names no file")
	case len(a.Path) > maxAttachedPath:
		return fmt.Errorf("a path has at most %d bytes", maxAttachedPath)
	case !fs.ValidPath(a.Path), a.Path == ".", strings.ContainsFunc(a.Path, text.Control), strings.Contains(a.Path, `\`):
		return errors.New("it is no path of a file below the project's folder")
	case strings.Contains("/"+strings.ToLower(a.Path)+"/", "/.git/"):
		return errors.New("what lies in .git is git's own")
	case a.From < 0, a.To < 0, a.From == 0 && a.To > 0, a.To > 0 && a.To < a.From, max(a.From, a.To) > maxAttachedLine:
		return errors.New("its lines are PATH:FIRST-LAST, counted from 1")
	}
	return nil
}

// CheckAttached says what is wrong with all that goes with one message, once its text
// was read. A part of a file would be another file: what is too long is no part of it.
func CheckAttached(all []Attached) error {
	if len(all) > MaxAttached {
		return fmt.Errorf("%d files and ranges of lines are named, at most %d are taken", len(all), MaxAttached)
	}
	size := 0
	for _, a := range all {
		if err := a.Check(); err != nil {
			return fmt.Errorf("%s: %w", text.OneLine(a.Path, 80), err)
		}
		if strings.ContainsRune(a.Text, 0) || !utf8.ValidString(a.Text) {
			return fmt.Errorf("%s: it is no text", a)
		}
		if text.Blank(a.Text) {
			return fmt.Errorf("%s: there is nothing in it", a)
		}
		size += text.JSONSize(a.Path) + text.JSONSize(a.Text) + attachedKeys
	}
	if size > MaxAttachedBytes {
		return fmt.Errorf("they have about %d bytes together, at most %d are taken", size, MaxAttachedBytes)
	}
	return nil
}
