package skills

import (
	"strings"
	"testing"

	"forge/internal/config"
)

func TestFormOfASkill(t *testing.T) {
	t.Parallel()
	const folder, file = ".forge/skills/sql/SKILL.md", ".forge/skills/sql.md"
	for name, c := range map[string]struct {
		file, text, about string
		wrong             string // "" = nothing
	}{
		"whole":               {folder, "---\nname: sql\ndescription: How we  write SQL\n---\nx\n", "How we write SQL", ""},
		"of another system":   {folder, "---\r\nname: sql\r\ndescription: x\r\n---\r\ny\r\n", "x", ""},
		"with more":           {folder, "---\nname: sql\ndescription: |\n  two\n  lines\nlicense: MIT\n---\nx\n", "two lines", ""},
		"alone":               {file, "use capitals\n", "", ""},
		"alone, with a line":  {file, "---\nname: other\ndescription: x\n---\ny\n", "x", ""},
		"a rule at its top":   {file, "---\n\ntext without an end of it\n", "", ""},
		"nothing before":      {folder, "x\n", "", "does not say its name"},
		"no end":              {folder, "---\nname: sql\n", "", "does not say its name"},
		"another name":        {folder, "---\nname: sq\ndescription: x\n---\nx\n", "x", `its name is "sq", and stands in "sql"`},
		"no description":      {folder, "---\nname: sql\n---\nx\n", "", "does not say what it is for"},
		"description of 1025": {folder, "---\nname: sql\ndescription: " + strings.Repeat("ä", 1025) + "\n---\nx\n", strings.Repeat("ä", 1025), "1025 characters, agents read 1024"},
		"no text":             {folder, "---\nname: sql\ndescription: x\n---\n\n", "x", "has no text"},
		"empty":               {file, " \n", "", "is empty"},
		"broken":              {folder, "---\nname: [sql\n---\nx\n", "", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			about, wrong := read(config.Skill{Name: "sql", File: c.file, Text: c.text})
			var all []string
			for _, p := range wrong {
				all = append(all, p.String())
			}
			got := strings.Join(all, "\n")
			if about.Description != c.about || (c.wrong == "") != (got == "") || !strings.Contains(got, c.wrong) {
				t.Errorf("description %q, %q, want %q, %q", about.Description, got, c.about, c.wrong)
			}
		})
	}
}

// Whatever stands in a skill, its description is one line, and a text that passes has
// a text behind what stands before it.
func FuzzSkill(f *testing.F) {
	f.Add("---\nname: sql\ndescription: x\n---\ny")
	f.Add("---\n&a [*a]\n---\n")
	f.Add("---\nname: !!binary x\n---")
	f.Fuzz(func(t *testing.T, s string) {
		about, wrong := read(config.Skill{Name: "sql", File: ".forge/skills/sql/SKILL.md", Text: s})
		if strings.ContainsAny(about.Description, "\n\r\x1b") {
			t.Errorf("description %q", about.Description)
		}
		if _, body, ok := front(s); len(wrong) == 0 && (!ok || strings.TrimSpace(body) == "" || about.Name != "sql") {
			t.Errorf("%q passes", s)
		}
	})
}
