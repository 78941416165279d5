package ignored

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"forge/internal/text"
	"forge/review"
)

// File is where a project keeps them, relative to the checkout.
const File = ".forge/ignored-findings.toml"

const (
	// MaxBytes is the size above which the file is refused instead of read.
	MaxBytes = 256 << 10
	// Days is for how long a finding is let stand where nobody says.
	Days     = 90
	day      = "2006-01-02"
	maxWords = 500 // bytes of a reason
)

// Entry is one finding that is let stand.
type Entry struct {
	ID     string `toml:"id" json:"id"`
	File   string `toml:"file" json:"file"`
	Reason string `toml:"reason" json:"reason"`
	By     string `toml:"by" json:"by"`
	Until  string `toml:"until" json:"until"` // the last day that it holds, as 2026-01-31
	Trace  string `toml:"trace" json:"-"`     // see review.Trace
}

// Problem is one thing wrong with the file.
type Problem struct {
	Line      int
	What, Fix string
}

// Parse reads the file. Where there are problems, no entry counts.
func Parse(body string) ([]Entry, []Problem) {
	if len(body) > MaxBytes {
		return nil, []Problem{{1, fmt.Sprintf("it has more than %d bytes", MaxBytes), "remove what has expired"}}
	}
	var file struct {
		Finding []Entry `toml:"finding"`
	}
	meta, err := toml.Decode(body, &file)
	if err != nil {
		line := 1
		var at toml.ParseError
		if errors.As(err, &at) {
			line = at.Position.Line
		}
		return nil, []Problem{{line, "it is no TOML: " + text.OneLine(err.Error(), 200), "correct it, or take it from an earlier commit"}}
	}
	var problems []Problem
	for _, key := range meta.Undecoded() {
		problems = append(problems, Problem{1, fmt.Sprintf("unknown key %q", text.OneLine(key.String(), 60)), "known are finding with id, file, reason, by, until, trace"})
	}
	lines := heads(body)
	seen := map[string]bool{}
	for i, e := range file.Finding {
		line := 1
		if i < len(lines) {
			line = lines[i]
		}
		wrong := func(fix, format string, args ...any) {
			problems = append(problems, Problem{line, fmt.Sprintf(format, args...), fix})
		}
		t, ok := review.ParseTrace(e.Trace)
		switch _, err := time.Parse(day, e.Until); {
		case !ok || t.ID != e.ID:
			wrong("have /forge ignore write it", "its trace is none of the finding %q", text.OneLine(e.ID, 20))
		case text.Blank(e.Reason):
			wrong("say why the finding may stand", "the finding %s has no reason", e.ID)
		case text.Blank(e.By):
			wrong("name who said so", "the finding %s is let stand by nobody", e.ID)
		case err != nil:
			wrong("write a day, such as 2026-01-31", "the finding %s is let stand until %q", e.ID, text.OneLine(e.Until, 40))
		case seen[e.ID]:
			wrong("remove one of them", "the finding %s is there twice", e.ID)
		}
		seen[e.ID] = true
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return file.Finding, nil
}

// heads are the lines at which entries begin.
func heads(body string) (out []int) {
	for i, line := range strings.Split(body, "\n") {
		if strings.HasPrefix(strings.ReplaceAll(line, " ", ""), "[[finding]]") {
			out = append(out, i+1)
		}
	}
	return out
}

// Expired says that an entry counts no more on a day.
func (e Entry) Expired(now time.Time) bool { return now.UTC().Format(day) > e.Until }

// Of is the entry that a finding is let stand by; expired says that it no longer is.
// One that holds is taken before one that does not.
func Of(all []Entry, t review.Trace, now time.Time) (e Entry, expired, found bool) {
	for _, one := range all {
		if of, ok := review.ParseTrace(one.Trace); ok && of.SameLine(t) {
			if e, expired, found = one, one.Expired(now), true; !expired {
				break
			}
		}
	}
	return e, expired, found
}

// New is an entry of a finding, from a day on. until "" is after Days.
func New(t review.Trace, file, reason, by, until string, now time.Time) Entry {
	if until == "" {
		until = now.UTC().AddDate(0, 0, Days).Format(day)
	}
	return Entry{ID: t.ID, File: text.OneLine(file, 500), Reason: text.Clip(text.PlainLine(reason), maxWords), By: text.OneLine(by, 100), Until: until, Trace: t.String()}
}

// head begins a new file.
const head = "# Findings of forge review that are let stand, each by whom, why and until when.\n# /forge ignore on a pull request proposes one; remove those that have expired.\n"

// Add is the file with one more entry, in place of one of the same finding; the
// problems are those of the file that would be.
func Add(body string, e Entry) (string, []Problem) {
	all, problems := Parse(body)
	if problems != nil {
		return body, problems
	}
	for _, old := range all {
		if old.ID == e.ID {
			body = without(body, old.ID)
		}
	}
	if text.Blank(body) {
		body = head
	}
	body = strings.TrimRight(body, "\n") + "\n\n[[finding]]\n"
	for _, f := range [][2]string{{"id", e.ID}, {"file", e.File}, {"reason", e.Reason}, {"by", e.By}, {"until", e.Until}, {"trace", e.Trace}} {
		body += f[0] + " = \"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text.PlainLine(f[1])) + "\"\n"
	}
	_, problems = Parse(body)
	return body, problems
}

// without is the file without the entry of an id.
func without(body, id string) string {
	all, _ := Parse(body)
	starts, lines := heads(body), strings.Split(body, "\n")
	for i, e := range all {
		if e.ID != id || i >= len(starts) {
			continue
		}
		end := len(lines)
		if i+1 < len(starts) {
			end = starts[i+1] - 1
		}
		return strings.Join(append(lines[:starts[i]-1:starts[i]-1], lines[end:]...), "\n")
	}
	return body
}
