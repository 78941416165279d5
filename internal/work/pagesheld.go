package work

import (
	"fmt"
	"strings"

	"forge/internal/text"
)

// Held is what was seen of the pages that were asked for, within the bounds of an
// event, and why they refute what they were shown from; nobody's word against it =
// they do not. Pages that nobody looked at are as red as those that could not be
// shown: how they look is not known. A nil report is that of nobody.
func (rep *PagesReport) Held(asked []PageSettings) (shown []PageShown, red []string) {
	if len(asked) == 0 {
		return nil, nil
	}
	if rep == nil || len(rep.Pages) != len(asked) {
		return nil, []string{"nobody showed the pages of the project"}
	}
	for i, page := range rep.Pages {
		page = page.clipped()
		page.URL, page.Say = text.ClipJSON(asked[i].URL, 200), asked[i].Say // which the owner says
		shown = append(shown, page)
		if why := page.Red(); why != "" {
			red = append(red, why)
		}
	}
	return shown, red
}

// Anywhere says that pages which are good are so whatever they are compared with: they
// have no error that would be a new one beside another state.
func Anywhere(shown []PageShown) bool {
	for _, page := range shown {
		if page.Red() != "" || page.NewAll+page.OldAll > 0 && !page.Say {
			return false
		}
	}
	return len(shown) > 0
}

// clipped is a page within the bounds of an event.
func (p PageShown) clipped() PageShown {
	p.Problem, p.Unlike = text.ClipJSON(p.Problem, 300), text.ClipJSON(p.Unlike, 150)
	for _, sha := range []*string{&p.Before, &p.After, &p.Marked, &p.Moving} {
		if !isSum(*sha) {
			*sha = ""
		}
	}
	p.NewAll, p.OldAll = max(p.NewAll, len(p.New)), max(p.OldAll, len(p.Old))
	p.New, p.Old = clippedErrors(p.New, 5, 160), clippedErrors(p.Old, 3, 100)
	p.Changed, p.Of, p.Millis, p.Steps = max(p.Changed, 0), max(p.Of, 0), max(p.Millis, 0), max(p.Steps, 0)
	return p
}

// clippedErrors are the first of errors; what it leaves out, it says.
func clippedErrors(all []string, most, each int) []string {
	var out []string
	for i, one := range all {
		if i == most {
			return append(out, fmt.Sprintf("… and %d more", len(all)-most))
		}
		out = append(out, text.ClipJSON(one, each))
	}
	return out
}

// isSum says that a picture has a name by which it can be found: a sha256.
func isSum(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}
