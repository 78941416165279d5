package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// hostNews is how the news of a code host stand, as whoever watches it notes
// for others. It decides nothing.
type hostNews struct {
	PID   int               `json:"pid"`
	At    time.Time         `json:"at"`              // of the last look
	Every time.Duration     `json:"every"`           // between looks
	Once  bool              `json:"once,omitempty"`  // it was one look, and nobody comes back
	Since time.Time         `json:"since,omitzero"`  // the host has not been read since then; zero = it was read at At
	Why   string            `json:"why,omitempty"`   // it was not
	Held  map[string]string `json:"held,omitempty"`  // checkpoint → why its pull request answers nothing yet
	Hooks map[string]int    `json:"hooks,omitempty"` // webhooks, by what became of them
}

// newsFile is where they are noted, one file for each repository on a host.
func newsFile(p *project.Checkout, at work.PullSettings) string {
	sum := sha256.Sum256([]byte(at.Kind + " " + at.URL + " " + strings.ToLower(at.Repo)))
	return filepath.Join(p.State, "news", hex.EncodeToString(sum[:8])+".json")
}

// newsNote writes them.
type newsNote struct {
	path string
	last hostNews
	kind string // of what failed the last time, "" = nothing did
}

// write notes how a round ended, and says whether it is another kind of end than
// that of the round before.
func (n *newsNote) write(now hostNews, failed error) (other bool, err error) {
	kind := ""
	if failed != nil {
		kind = cmp.Or(string(work.HostKindOf(failed)), failed.Error())
		now.Why = text.Harmless(failed.Error())
		if now.Since = n.last.Since; now.Since.IsZero() {
			now.Since = now.At
		}
	}
	other = kind != n.kind
	n.last, n.kind = now, kind
	data, err := json.Marshal(now)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(n.path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(n.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		err = fmt.Errorf("note how the news of the host stand: %w", err)
	}
	return other, err
}

// newsOf is what whoever watches a host has noted; ok is false where nobody
// has.
func newsOf(p *project.Checkout, at work.PullSettings) (n hostNews, ok bool) {
	data, err := os.ReadFile(newsFile(p, at))
	return n, err == nil && json.Unmarshal(data, &n) == nil
}

// outOfSight says for how long nobody has looked, zero = somebody does.
func (n hostNews) outOfSight(now time.Time) time.Duration {
	if ago := now.Sub(n.At); n.Once || ago > 3*n.Every {
		return max(ago, 1)
	}
	return 0
}

// notedOnce notes what one look found, unless somebody watches and knows more.
func (w *hostWatch) notedOnce(failed error) {
	now := w.p.Now()
	was, ok := newsOf(w.p, w.at)
	if ok && was.outOfSight(now) == 0 {
		return
	}
	w.note.last = was
	held := maps.Clone(w.held)
	maps.DeleteFunc(held, func(_, why string) bool { return why == "" })
	if _, err := w.note.write(hostNews{PID: os.Getpid(), At: now, Every: w.every, Once: true, Held: held}, failed); err != nil {
		w.p.Log.Warn("others are not told", "err", err)
	}
}

// whyUnheard is why what people say of a checkpoint on its code host is not heard,
// or answers nothing yet; "" = it is heard.
func whyUnheard(p *project.Checkout, at *work.PullSettings, checkpoint string) string {
	if !at.Remote() || p.Objects != "" { // one that is only looked at waits elsewhere
		return ""
	}
	n, ok := newsOf(p, at.Place())
	if !ok {
		return "nobody watches the host: forge host watch, or forge resume, reads what people say there"
	}
	var why []string
	if !n.Since.IsZero() {
		why = append(why, fmt.Sprintf("the host has not been read since %s (%s): %s", n.Since.Local().Format(time.DateTime), p.Ago(n.Since), text.OneLine(n.Why, 600)))
	}
	if n.Once {
		why = append(why, "read once, "+p.Ago(n.At)+", and nobody watches: forge host watch, or forge resume, reads what people say there")
	} else if ago := n.outOfSight(p.Now()); ago > 0 {
		why = append(why, fmt.Sprintf("nobody has looked for %s: forge host watch, or forge resume, does", ago.Round(time.Second)))
	}
	if held := n.Held[checkpoint]; held != "" {
		why = append(why, text.OneLine(held, 600))
	}
	return strings.Join(why, "; ")
}

// sayNews says what whoever watches the host has noted, and since when nobody
// has.
func sayNews(p *project.Checkout, w io.Writer, at work.PullSettings) {
	n, ok := newsOf(p, at)
	if !ok {
		fmt.Fprintln(w, "  news     nobody watches it: forge host watch, or forge factory; forge resume reads it once")
		return
	}
	now := p.Now()
	ago := func(t time.Time) string { return max(now.Sub(t), 0).Round(time.Second).String() }
	switch {
	case n.Once:
		fmt.Fprintf(w, "  news     read once, %s ago; nobody watches it: forge host watch, or forge factory\n", ago(n.At))
	case n.outOfSight(now) > 0:
		fmt.Fprintf(w, "  news     nobody has looked for %s: forge host watch, or forge factory\n", ago(n.At))
	case n.Since.IsZero():
		fmt.Fprintf(w, "  news     read %s ago by process %d\n", ago(n.At), n.PID)
	}
	if !n.Since.IsZero() {
		fmt.Fprintf(w, "  news     not to be read since %s (%s): %s\n", n.Since.Local().Format(time.DateTime), ago(n.Since), text.Harmless(n.Why))
	}
	for _, id := range slices.Sorted(maps.Keys(n.Held)) {
		fmt.Fprintf(w, "  held     %s: %s\n", text.Harmless(id), text.Harmless(n.Held[id]))
	}
	if len(n.Hooks) > 0 {
		var words []string
		for _, why := range slices.Sorted(maps.Keys(n.Hooks)) {
			words = append(words, fmt.Sprintf("%d %s", n.Hooks[why], why))
		}
		fmt.Fprintf(w, "  webhooks %s\n", strings.Join(words, ", "))
	}
}
