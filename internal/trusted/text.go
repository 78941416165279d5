package trusted

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/text"
)

// Text is what forge evidence prints, when it was asked about a target by name; "" =
// about what is checked out.
func (s Shown) Text(asked string) string {
	var b strings.Builder
	if len(s.Files) > 0 {
		var rows [][]string
		for _, seen := range s.Files {
			rows = append(rows, []string{clean(seen.Path), string(seen.Class), seen.Rule, clean(seen.Why)})
		}
		b.WriteString(text.Table([]string{"PATH", "SEEN AS", "RULE", "WHY"}, rows))
	} else {
		var rows [][]string
		for _, c := range s.Counts {
			rows = append(rows, []string{string(c.Class), c.Rule, fmt.Sprint(c.Files)})
		}
		b.WriteString(text.Table([]string{"SEEN AS", "RULE", "FILES"}, rows))
	}
	on := cmp.Or(s.Target, "the commit that is checked out")
	if len(s.Differs) == 0 {
		fmt.Fprintf(&b, "\nAll of this evidence is as a person last accepted it on %s.\n", clean(on))
		return b.String()
	}
	var rows [][]string
	for _, d := range s.Differs {
		rows = append(rows, []string{"  " + clean(d.Path), d.How, text.Short(d.Commit), cmp.Or(clean(d.Run), "-"), clean(d.What)})
	}
	fmt.Fprintf(&b, "\nNot as a person last accepted it on %s; proofs are held against what was accepted:\n", clean(on))
	b.WriteString(text.Table([]string{"  PATH", "IS", "SINCE", "RUN", "COMMIT"}, rows))
	accept := "PATH... | --all"
	if asked != "" {
		accept += " --target " + asked
	}
	b.WriteString("\nLook:   git log -p -- PATH\nAccept: forge evidence accept " + accept + "\n")
	return b.String()
}

// Text is what forge evidence accept prints.
func (a Accepted) Text() string {
	if len(a.Accepted) == 0 {
		return fmt.Sprintf("Nothing to accept: the evidence is as a person last accepted it on %s.\n", clean(a.Target))
	}
	var b strings.Builder
	for _, d := range a.Accepted {
		fmt.Fprintf(&b, "accepted %s: %s, from %s to %d, as in %s %s\n", clean(d.Path), d.How, text.Number(d.Was, "line"), d.Now, text.Short(d.Commit), clean(d.What))
	}
	return b.String()
}

// clean is a path or a subject as a cell of a table.
func clean(body string) string { return text.OneLine(body, 120) }
