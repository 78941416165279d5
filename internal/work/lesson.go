package work

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"forge/internal/text"
)

const (
	// MaxLessonBytes bounds the words of one lesson, and of the file that it names.
	MaxLessonBytes = 300
	// MaxLessons and MaxLessonsBytes bound the lessons that a project keeps, which
	// are those that a prompt holds: their number, and all their words and files.
	MaxLessons      = 40
	MaxLessonsBytes = 6000
)

// Lesson is what a run taught about a project: a command that works there, a
// trap, a convention. Proposed by an agent, it is told to nobody; a person
// keeps it.
type Lesson struct {
	Text string `json:"text"`
	File string `json:"file,omitempty"` // that it is about; when that is gone, so is the lesson

	// Where it is from: the run, phase and snapshot in which it was said, and by
	// which agent; "" = a person wrote it.
	Run    string `json:"run,omitempty"`
	Phase  string `json:"phase,omitempty"`
	Commit string `json:"commit,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Kept   string `json:"kept,omitempty"` // by whom
}

// ID names a lesson by its words, whatever their case.
func (l Lesson) ID() string {
	sum := sha256.Sum256([]byte(strings.ToLower(text.PlainLine(l.Text))))
	return hex.EncodeToString(sum[:4])
}

// Check says what is wrong with the words of a lesson or its file; nil = nothing.
// They are one line in which nothing is hidden.
func (l Lesson) Check() error {
	_, hidden := text.Reveal(l.Text)
	switch {
	case text.Blank(l.Text):
		return errors.New("it has no text")
	case len(l.Text) > MaxLessonBytes:
		return fmt.Errorf("it has %d bytes, more than %d", len(l.Text), MaxLessonBytes)
	case hidden > 0 || l.Text != text.PlainLine(l.Text) || text.Hides(l.Text):
		return errors.New("it is not one line of plain text")
	case l.File != "" && (!inTree(l.File) || len(l.File) > MaxLessonBytes || l.File != text.PlainLine(l.File)):
		return fmt.Errorf("%s is no file of the repository", quoted(l.File))
	}
	return nil
}

// Size is how many bytes of MaxLessonsBytes it takes.
func (l Lesson) Size() int { return len(l.Text) + len(l.File) }

// parseLesson reads the body of a lesson: plain words, or an object with text
// and file.
func parseLesson(body string) (Lesson, error) {
	l := Lesson{Text: body}
	if strings.HasPrefix(body, "{") {
		l.Text = ""
		if err := readFields(body, map[string]any{"text": &l.Text, "file": &l.File}); err != nil {
			return Lesson{}, err
		}
	}
	seen, _ := text.Reveal(l.Text)
	l.Text, l.File = text.PlainLine(seen), strings.TrimSpace(l.File)
	return l, l.Check()
}
