package planner

import (
	"fmt"
	"strings"
	"unicode"

	"forge/internal/text"
	"forge/internal/work"
)

// maxSlug is how many bytes the name of a phase made from a text has.
const maxSlug = 40

// promiseWords is how many words of a text its promise repeats: an agent has to
// say them to the letter.
const promiseWords = 4

// Single is the plan of one phase for a text that says what is wanted. The text
// itself is the specification of its run: neither the phase's name nor its prompt
// can be made to say something else by it. The text has passed CheckSpec.
func Single(words string, budget int) work.Plan {
	return work.Plan{Phases: []work.Phase{{
		Number: "1", Name: Slug(words), Promise: promise(words), PhaseType: "implement", Budget: budget,
		Reasoning: "Do all that the specification asks for, and nothing beside it. Add or extend tests for what you change, where the project has tests. Before you promise, check your work with the project's own commands.",
	}}}
}

// Slug is a text as a short name: the first words of its first line that has
// any, in lower case with single hyphens between, letters of any script, at most
// 40 bytes. It is "task" where the text has no word.
func Slug(words string) string {
	slug := ""
	for _, w := range wordsOf(words) {
		if slug == "" {
			slug = text.Cut(w, maxSlug)
			continue
		}
		if len(slug)+1+len(w) > maxSlug {
			break
		}
		slug += "-" + w
	}
	if slug == "" {
		return "task"
	}
	return slug
}

// promise is what the agent says when it is done: a few words of the text, and
// nothing that the text itself says already. Whoever repeats the text has not
// promised anything.
func promise(words string) string {
	var plain []string
	for _, w := range wordsOf(words) {
		if len(plain) == promiseWords {
			break
		}
		if strings.IndexFunc(w, func(r rune) bool { return r > unicode.MaxASCII }) < 0 && len(w) <= maxSlug {
			plain = append(plain, strings.ToUpper(w))
		}
	}
	base := strings.Join(append(plain, "DONE"), " ")
	if len(plain) == 0 {
		base = "TASK DONE"
	}
	said := strings.ToUpper(strings.Join(strings.Fields(words), " "))
	for n, out := 2, base; ; n++ {
		if !strings.Contains(said, out) {
			return out
		}
		out = fmt.Sprintf("%s %d", base, n)
	}
}

// wordsOf are the words of the first line that has any, in lower case.
func wordsOf(words string) []string {
	seen, _ := text.Reveal(words)
	for line := range strings.Lines(seen) {
		found := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool {
			return !text.IsWord(r) && !unicode.IsMark(r)
		})
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
