package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	texts "forge/internal/text"
)

// Sizes above which a file is refused instead of read.
const (
	MaxTOMLBytes  = 1 << 20
	MaxPlanBytes  = 8 << 20
	MaxSpecBytes  = 8 << 20
	MaxSkillBytes = 1 << 20
)

// folder is where a file is read from: the operating system, or a root that
// links cannot leave.
type folder interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (*os.File, error)
}

type anywhere struct{}

func (anywhere) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (anywhere) Open(name string) (*os.File, error)    { return os.Open(name) }

// readText reads a whole text file. ok is false without a problem when there is
// no such file. A byte order mark is dropped.
func readText(in folder, name, shown string, most int64) (text string, ok bool, problem *Problem) {
	refuse := func(line int, what, fix string) (string, bool, *Problem) {
		return "", false, &Problem{File: shown, Line: line, What: what, Fix: fix}
	}
	info, err := in.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return refuse(0, "cannot be read: "+cause(err), readFix(err))
	case info.IsDir():
		return refuse(0, "is a folder, not a file", "remove it or write the file in its place")
	// Opening a pipe would wait for its other end for ever.
	case !info.Mode().IsRegular():
		return refuse(0, "is not a regular file", "write a plain text file in its place")
	case info.Size() > most:
		return refuse(0, fmt.Sprintf("has %d bytes, Forge reads at most %d", info.Size(), most), "make it smaller")
	}
	f, err := in.Open(name)
	if err != nil {
		return refuse(0, "cannot be read: "+cause(err), readFix(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return refuse(0, "cannot be read: "+cause(err), readFix(err))
	case int64(len(data)) > most:
		return refuse(0, fmt.Sprintf("has more than %d bytes", most), "make it smaller")
	}
	text = texts.WithoutMark(string(data))
	if at := invalidUTF8(text); at >= 0 {
		return refuse(1+strings.Count(text[:at], "\n"), "is not UTF-8 text", "save it as UTF-8")
	}
	return text, true, nil
}

// cause drops the path from an error, which the problem names already.
func cause(err error) string {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err.Error()
	}
	return err.Error()
}

func readFix(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "make it readable for the user who runs Forge"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of its path is a file where a folder should be"
	case strings.Contains(err.Error(), "escapes"):
		return "a link must not lead out of the checkout"
	}
	return "make it a readable text file"
}

func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size <= 1 {
				return i
			}
		}
	}
	return -1
}
