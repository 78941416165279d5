package skills

import (
	"fmt"
	"strings"

	"forge/internal/config"
	"forge/internal/refusal"
	"forge/internal/text"
)

// String is b for a person.
func (b Book) String() string {
	if len(b.Skills) == 0 {
		return "There are no skills in " + config.SkillsDir + ". forge skills add takes one from a file or a folder.\n"
	}
	var out strings.Builder
	for _, s := range b.Skills {
		use := strings.Join(s.For, ", ")
		if use == "" {
			use = "no phase: name it in a phase, or in [skills] global"
		}
		fmt.Fprintf(&out, "%s  %s, for %s\n", s.Name, size(s.Bytes), use)
		if s.Description != "" {
			fmt.Fprintf(&out, "    %s\n", text.OneLine(s.Description, 200))
		}
	}
	for i, ph := range b.Phases {
		if i == 0 {
			out.WriteString("\nEach new session of an agent reads:\n")
		}
		what := strings.Join(ph.Skills, ", ")
		if what == "" {
			what = "none"
		}
		fmt.Fprintf(&out, "  %s %s: %s (%s)\n", ph.Number, ph.Name, what, size(ph.Bytes))
	}
	return text.Harmless(out.String())
}

// Check is what is wrong, all of it together.
func (b Book) Check() error {
	if len(b.Wrong) == 0 {
		return nil
	}
	return &config.Problems{List: b.Wrong}
}

// Text is a skill as an agent is given it.
func (b Book) Text(name string) (string, error) {
	if s := b.find(name); s != nil {
		return text.Harmless(s.text), nil
	}
	return "", refusal.New("forge skills lists them", "there is no skill %q", text.OneLine(name, 60))
}

// size is what a text takes of a prompt; a token of English has about four bytes.
func size(bytes int) string {
	return fmt.Sprintf("%s, about %s", text.Number(bytes, "byte"), text.Number((bytes+3)/4, "token"))
}
