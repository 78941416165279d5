package work

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Bounds of [[proof.pages]]: what an event has room for, and a person looks at.
const (
	MostPages     = 4
	MostPageSteps = 12
)

// PageSettings is one page that is to be shown for a proof, of [[proof.pages]]: it
// is part of what the owner says of the project, and never taken from a change.
type PageSettings struct {
	URL    string     `json:"url"`              // on loopback
	Start  string     `json:"start"`            // the command that serves it
	Wait   string     `json:"wait,omitempty"`   // selector of what has to be seen; "" = until it is loaded and quiet
	Width  int        `json:"width,omitempty"`  // of the window, in pixels
	Height int        `json:"height,omitempty"` // likewise
	Steps  []PageStep `json:"steps,omitempty"`
	Secs   int        `json:"secs,omitempty"` // longest time for all of it
	// Say says that errors which are new hold nothing up.
	Say bool `json:"say,omitempty"`
}

// PageStep is one thing that is done on a page.
type PageStep struct {
	Do   PageVerb `json:"do"`
	On   string   `json:"on"`             // a selector; the key, of press
	Text string   `json:"text,omitempty"` // of type
}

// PageVerb is a word of a step.
type PageVerb string

// The words of a step.
const (
	PageClick PageVerb = "click"
	PageType  PageVerb = "type"
	PagePress PageVerb = "press"
	PageWait  PageVerb = "wait"
)

// PageKeys are the keys that a step can press.
func PageKeys() []string {
	return []string{"Enter", "Tab", "Escape", "Backspace", "Delete", "Space", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"}
}

// ParsePageStep reads a step as people write it: click SELECTOR, type SELECTOR
// TEXT, press KEY, wait SELECTOR. A selector with blanks in it stands in quotes
// before a text.
func ParsePageStep(line string) (PageStep, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	s := PageStep{Do: PageVerb(verb), On: strings.TrimSpace(rest)}
	switch s.Do {
	case PageClick, PageWait:
	case PagePress:
		for _, k := range PageKeys() {
			if s.On == k {
				return s, nil
			}
		}
		return s, fmt.Errorf("knows no key %q: use one of %s", s.On, strings.Join(PageKeys(), ", "))
	case PageType:
		if quoted, ok := strings.CutPrefix(s.On, `"`); ok {
			s.On, s.Text, ok = strings.Cut(quoted, `"`)
			if !ok {
				return s, fmt.Errorf("has a selector whose quotes do not end: write type \"#form input\" TEXT")
			}
		} else {
			s.On, s.Text, _ = strings.Cut(s.On, " ")
		}
		s.Text = strings.TrimSpace(s.Text)
	default:
		return s, fmt.Errorf("begins with %q: write click SELECTOR, type SELECTOR TEXT, press KEY or wait SELECTOR", verb)
	}
	if s.On == "" {
		return s, fmt.Errorf("names no element: write %s SELECTOR", verb)
	}
	return s, nil
}

// String is the step as people write it.
func (s PageStep) String() string {
	if s.Do != PageType {
		return string(s.Do) + " " + s.On
	}
	if strings.Contains(s.On, " ") {
		return fmt.Sprintf("type %q %s", s.On, s.Text)
	}
	return "type " + s.On + " " + s.Text
}

// ParseViewport reads the size of a window, such as 1280x800.
func ParseViewport(said string) (width, height int, err error) {
	w, h, _ := strings.Cut(said, "x")
	width, wrong := strconv.Atoi(w)
	height, bad := strconv.Atoi(h)
	if wrong != nil || bad != nil || width < 100 || height < 100 || width > 3840 || height > 3840 {
		return 0, 0, fmt.Errorf("is %q, and no size of a window: write 1280x800, with 100 to 3840 on each side", said)
	}
	return width, height, nil
}

// CheckPageURL says what is wrong with the address of a page; nil = nothing. Its
// server runs in a sandbox without a network: it is on loopback or nowhere.
func CheckPageURL(said string) error {
	u, err := url.Parse(said)
	switch {
	case err != nil || u.Scheme != "http" || u.User != nil:
		return fmt.Errorf("is %q, and no address such as http://localhost:3000/", said)
	case u.Port() == "":
		return fmt.Errorf("is %q, and names no port: write http://localhost:3000/", said)
	case u.Hostname() == "localhost":
		return nil
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("is %q, and not on this machine: the server that start starts can be reached by localhost alone", said)
	}
	return nil
}

// PagesRequest asks how pages look on a change, and how they looked before it.
type PagesRequest struct {
	Verify VerifyRequest // of the change
	Before string        // the commit it is compared with; "" = none
	Pages  []PageSettings
}

// PagesReport is what came of it: a page each, in the order of the request.
type PagesReport struct {
	Pages   []PageShown
	Sandbox string
}

// PageShown is what was seen of one page. Pictures are PNGs that are kept as blobs,
// named by their sha256; what is said of errors is the page's own word.
type PageShown struct {
	URL string `json:"url"`
	// Problem says why it could not be shown: nobody knows how it looks, and so it
	// counts as no proof. "" = it was shown.
	Problem string `json:"problem,omitempty"`
	// Unlike says why there is nothing to compare it with; "" = there is, or it was
	// not asked.
	Unlike string `json:"unlike,omitempty"`
	Before string `json:"before,omitempty"` // the page before the change
	After  string `json:"after,omitempty"`  // with it
	Marked string `json:"marked,omitempty"` // where they differ; "" = nowhere
	Moving string `json:"moving,omitempty"` // one picture for each step, which move
	Width  int    `json:"width,omitempty"`  // of After, in pixels
	Height int    `json:"height,omitempty"`
	// Changed are the pixels that differ, of Of.
	Changed int `json:"changed,omitempty"`
	Of      int `json:"of,omitempty"`
	// New are errors and failed requests that were not there before the change, Old
	// those that were. NewAll and OldAll count them where there is no room for all.
	New    []string `json:"new,omitempty"`
	NewAll int      `json:"new_all,omitempty"`
	Old    []string `json:"old,omitempty"`
	OldAll int      `json:"old_all,omitempty"`
	Say    bool     `json:"say,omitempty"` // the owner lets new errors pass
	Steps  int      `json:"steps,omitempty"`
	Millis int64    `json:"millis,omitempty"`
}

// Red says why the page refutes a claim; "" = it does not.
func (p PageShown) Red() string {
	switch {
	case p.Problem != "":
		return "the page " + p.URL + " could not be shown: " + p.Problem
	case p.After == "":
		return "the page " + p.URL + " could not be shown: there is no picture of it"
	case p.NewAll > 0 && !p.Say:
		return fmt.Sprintf("the page %s has %s that it did not have before: %s", p.URL, count(p.NewAll, "error"), strings.Join(p.New, "; "))
	}
	return ""
}

// Line is the page in one line for people.
func (p PageShown) Line() string {
	parts := []string{p.URL}
	switch {
	case p.Problem != "":
		return p.URL + ": not shown, " + p.Problem
	case p.Unlike != "":
		parts = append(parts, "nothing to compare it with: "+p.Unlike)
	case p.Of == 0:
	case p.Changed == 0:
		parts = append(parts, "looks as before")
	default:
		parts = append(parts, fmt.Sprintf("%s of it looks different (%s)", p.Share(), count(p.Changed, "pixel")))
	}
	if p.Steps > 0 {
		parts = append(parts, count(p.Steps, "step")+" done")
	}
	if p.NewAll > 0 {
		parts = append(parts, count(p.NewAll, "error")+" new: "+strings.Join(p.New, "; "))
	}
	if p.OldAll > 0 {
		parts = append(parts, count(p.OldAll, "error")+" as before")
	}
	return parts[0] + ": " + strings.Join(parts[1:], ", ")
}

// Share is how much of the picture differs.
func (p PageShown) Share() string {
	share := 100 * float64(p.Changed) / float64(max(p.Of, 1))
	if share < 0.1 {
		return "less than 0.1 %"
	}
	return strconv.FormatFloat(share, 'f', 1, 64) + " %"
}

// Pictures are the names of the pictures that there are.
func (p PageShown) Pictures() []string {
	var out []string
	for _, sha := range []string{p.Before, p.After, p.Marked, p.Moving} {
		if sha != "" {
			out = append(out, sha)
		}
	}
	return out
}

// shownShort is what a line says of pages.
func shownShort(pages []PageShown) string {
	var missing, differ int
	for _, p := range pages {
		switch {
		case p.Problem != "" || p.After == "":
			missing++
		case p.Changed > 0:
			differ++
		}
	}
	said := count(len(pages), "page") + " shown"
	if missing > 0 {
		said = fmt.Sprintf("%d of %s not shown", missing, count(len(pages), "page"))
	}
	if differ > 0 {
		said += fmt.Sprintf(", %d looking different", differ)
	}
	return said
}
