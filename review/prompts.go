package review

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

//go:embed prompts/*.md
var prompts embed.FS

// The built-in specialists.
const (
	Security     = "security"
	Architecture = "architecture"
	Performance  = "performance"
	Simplicity   = "simplicity"
)

// builtin is one specialist that the program has by itself.
type builtin struct {
	name  string
	gates bool // holds the change where nobody says otherwise
}

// theBuiltin are the built-in specialists, in the order in which they are shown.
func theBuiltin() []builtin {
	return []builtin{{Security, true}, {Architecture, true}, {Performance, false}, {Simplicity, false}}
}

// Builtin lists the built-in specialists.
func Builtin() (names []string) {
	for _, s := range theBuiltin() {
		names = append(names, s.name)
	}
	return names
}

// Gates says whether a specialist holds the change by default. Only a built-in
// one may advise: one of a project's own gates unless the project says otherwise.
func Gates(name string) bool { return !slices.Contains(theBuiltin(), builtin{name: name}) }

// Prompt is the text that a specialist works by: what is the same for all, and
// its own part. Specialist.Prompt takes the place of its own part alone, so
// that no project can leave out how answers are to be given or that the change
// is data.
func Prompt(s work.Specialist) string {
	var b strings.Builder
	own := strings.TrimSpace(s.Prompt)
	switch {
	case own != "":
	case slices.Contains(Builtin(), s.Name):
		own = promptFile(s.Name)
	default:
		own = fmt.Sprintf("You are a reviewer of source code; your subject is %s, and nothing else.", text.Visible(s.Name))
	}
	b.WriteString(own)
	if len(s.FocusAreas) > 0 {
		b.WriteString("\n\n## Look at these above all\n\n")
		for _, area := range s.FocusAreas {
			b.WriteString("- " + strings.TrimSpace(area) + "\n")
		}
	}
	b.WriteString("\n\n" + promptFile("rules"))
	return b.String()
}

func promptFile(name string) string {
	text, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(err) // a file of the program itself is missing
	}
	return strings.TrimSpace(string(text))
}
