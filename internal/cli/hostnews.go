package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
)

// sayNews says what whoever watches the host has noted, and since when nobody
// has.
func sayNews(p *project.Checkout, w io.Writer, at work.PullSettings) {
	n, ok := pullrequest.NewsOf(p, at)
	if !ok {
		fmt.Fprintln(w, "  news     nobody watches it: forge host watch, or forge factory; forge resume reads it once")
		return
	}
	now := p.Now()
	ago := func(t time.Time) string { return max(now.Sub(t), 0).Round(time.Second).String() }
	switch {
	case n.Once:
		fmt.Fprintf(w, "  news     read once, %s ago; nobody watches it: forge host watch, or forge factory\n", ago(n.At))
	case n.OutOfSight(now) > 0:
		fmt.Fprintf(w, "  news     nobody has looked for %s: forge host watch, or forge factory\n", ago(n.At))
	case n.Since.IsZero():
		fmt.Fprintf(w, "  news     read %s ago by process %d\n", ago(n.At), n.PID)
	}
	if !n.Since.IsZero() {
		fmt.Fprintf(w, "  news     not to be read since %s (%s): %s\n", n.Since.Local().Format(time.DateTime), ago(n.Since), text.Harmless(n.Why))
	}
	for _, id := range slices.Sorted(maps.Keys(n.Held)) {
		fmt.Fprintf(w, "  waits    %s: %s\n", text.Harmless(id), text.Harmless(n.Held[id]))
	}
	if len(n.Hooks) > 0 {
		var words []string
		for _, why := range slices.Sorted(maps.Keys(n.Hooks)) {
			words = append(words, fmt.Sprintf("%d %s", n.Hooks[why], why))
		}
		fmt.Fprintf(w, "  webhooks %s\n", strings.Join(words, ", "))
	}
}
