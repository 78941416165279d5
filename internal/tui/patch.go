package tui

import (
	"fmt"
	"strconv"
	"strings"

	"forge/internal/text"
)

// patchLine says what a line of a patch is.
type patchLine int

const (
	lineHeader patchLine = iota
	lineHunk
	lineAdded
	lineRemoved
	lineContext
)

// patchReader tells the lines of a patch apart: within a hunk, whose length its
// header gives, no line is a header, whatever it looks like.
type patchReader struct{ old, new int }

func (r *patchReader) read(line string) patchLine {
	if r.old > 0 || r.new > 0 {
		switch {
		case strings.HasPrefix(line, "+"):
			r.new--
			return lineAdded
		case strings.HasPrefix(line, "-"):
			r.old--
			return lineRemoved
		case strings.HasPrefix(line, `\`):
			return lineContext
		default:
			r.old--
			r.new--
			return lineContext
		}
	}
	if rest, ok := strings.CutPrefix(line, "@@ -"); ok {
		if old, rest, ok := strings.Cut(rest, " +"); ok {
			fresh, _, _ := strings.Cut(rest, " @@")
			r.old, r.new = hunkLength(old), hunkLength(fresh)
		}
		return lineHunk
	}
	if strings.HasPrefix(line, `\`) {
		return lineContext
	}
	return lineHeader
}

// hunkLength is the length in "start,length"; without one it is 1.
func hunkLength(text string) int {
	_, length, ok := strings.Cut(text, ",")
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(length)
	if err != nil {
		return 0
	}
	return n
}

// ColourPatch is a patch in the colours that people know from git.
func ColourPatch(patch string) string {
	colours := map[patchLine]string{lineHeader: "1", lineHunk: "36", lineAdded: "32", lineRemoved: "31"}
	var b strings.Builder
	var r patchReader
	for line := range strings.Lines(patch) {
		text := strings.TrimSuffix(line, "\n")
		if c := colours[r.read(text)]; c != "" {
			text = "\x1b[" + c + "m" + text + "\x1b[0m"
		}
		b.WriteString(text)
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// patchFile is what a patch does to one file.
type patchFile struct {
	name           string
	added, removed int
	binary         bool
}

// PatchStat lists the files of a patch with the lines added and removed.
func PatchStat(patch string) string {
	var rows [][]string
	for _, f := range patchFiles(patch) {
		change := fmt.Sprintf("+%d -%d", f.added, f.removed)
		if f.binary {
			change = "binary"
		}
		rows = append(rows, []string{"  " + f.name, change})
	}
	files, lines := patchSize(patch)
	rows = append(rows, []string{files, lines})
	return text.Table(rows[0], rows[1:])
}

// PatchSize is the size of a patch in words.
func PatchSize(patch string) string {
	files, lines := patchSize(patch)
	return files + ", " + lines
}

func patchSize(patch string) (files, lines string) {
	added, removed := 0, 0
	all := patchFiles(patch)
	for _, f := range all {
		added, removed = added+f.added, removed+f.removed
	}
	return text.Number(len(all), "file"), fmt.Sprintf("+%d -%d", added, removed)
}

func patchFiles(patch string) []*patchFile {
	var files []*patchFile
	var r patchReader
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		kind := r.read(line)
		if kind == lineHeader && strings.HasPrefix(line, "diff --git ") {
			files = append(files, &patchFile{name: strings.TrimPrefix(line, "diff --git ")})
			continue
		}
		if len(files) == 0 {
			continue
		}
		f := files[len(files)-1]
		switch {
		case kind == lineAdded:
			f.added++
		case kind == lineRemoved:
			f.removed++
		case kind == lineHeader && strings.HasPrefix(line, "Binary files "):
			f.binary = true
		}
		if kind == lineHeader {
			f.name = patchName(line, f.name)
		}
	}
	return files
}

// patchName is a file's name as a header line gives it, else name.
func patchName(line, name string) string {
	for _, prefix := range []string{"+++ b/", `+++ "b/`, "--- a/", `--- "a/`, "rename to "} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSuffix(strings.TrimSuffix(rest, "\t"), `"`)
		}
	}
	a, b, ok := strings.Cut(name, " b/")
	if ok && strings.HasPrefix(a, "a/") && a == "a/"+b {
		return b
	}
	return name
}
