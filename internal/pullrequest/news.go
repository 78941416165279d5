package pullrequest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// News is how the news of a code host stand, as whoever watches it notes
// for others. It decides nothing.
type News struct {
	PID   int               `json:"pid"`
	At    time.Time         `json:"at"`              // of the last look
	Every time.Duration     `json:"every"`           // between looks
	Once  bool              `json:"once,omitempty"`  // it was one look, and nobody comes back
	Since time.Time         `json:"since,omitzero"`  // the host has not been read since then; zero = it was read at At
	Why   string            `json:"why,omitempty"`   // it was not
	Held  map[string]string `json:"held,omitempty"`  // checkpoint → why its pull request answers nothing yet
	Hooks map[string]int    `json:"hooks,omitempty"` // webhooks, by what became of them
}

// NewsFile is where they are noted, one file for each repository on a host.
func NewsFile(p *project.Checkout, at work.PullSettings) string {
	sum := sha256.Sum256([]byte(at.Kind + " " + at.URL + " " + strings.ToLower(at.Repo)))
	return filepath.Join(p.State, "news", hex.EncodeToString(sum[:8])+".json")
}

// NewsNote writes them down.
type NewsNote struct {
	Path string // a NewsFile
	Last News   // what was written last
	kind string // of what failed the last time, "" = nothing did
}

// Write notes how a round ended, and says whether it is another kind of end than
// that of the round before.
func (n *NewsNote) Write(now News, failed error) (other bool, err error) {
	kind := ""
	if failed != nil {
		kind = cmp.Or(string(work.HostKindOf(failed)), failed.Error())
		now.Why = text.Harmless(failed.Error())
		if now.Since = n.Last.Since; now.Since.IsZero() {
			now.Since = now.At
		}
	}
	other = kind != n.kind
	n.Last, n.kind = now, kind
	data, err := json.Marshal(now)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(n.Path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(n.Path, append(data, '\n'), 0o600)
	}
	if err != nil {
		err = fmt.Errorf("note how the news of the host stand: %w", err)
	}
	return other, err
}

// NewsOf is what whoever watches a host has noted; ok is false where nobody
// has.
func NewsOf(p *project.Checkout, at work.PullSettings) (n News, ok bool) {
	data, err := os.ReadFile(NewsFile(p, at))
	return n, err == nil && json.Unmarshal(data, &n) == nil
}

// OutOfSight says for how long nobody has looked, zero = somebody does.
func (n News) OutOfSight(now time.Time) time.Duration {
	if ago := now.Sub(n.At); n.Once || ago > 3*n.Every {
		return max(ago, 1)
	}
	return 0
}

// whyUnheard is why what people say of a checkpoint on its code host is not heard,
// or answers nothing yet; "" = it is heard.
func whyUnheard(p *project.Checkout, at *work.PullSettings, checkpoint string) string {
	if !at.Remote() || p.Objects != "" { // one that is only looked at waits elsewhere
		return ""
	}
	n, ok := NewsOf(p, at.Place())
	if !ok {
		return "nobody watches the host: forge host watch, or forge resume, reads what people say there"
	}
	var why []string
	if !n.Since.IsZero() {
		why = append(why, fmt.Sprintf("the host has not been read since %s (%s): %s", n.Since.Local().Format(time.DateTime), p.Ago(n.Since), text.OneLine(n.Why, 600)))
	}
	if n.Once {
		why = append(why, "read once, "+p.Ago(n.At)+", and nobody watches: forge host watch, or forge resume, reads what people say there")
	} else if ago := n.OutOfSight(p.Now()); ago > 0 {
		why = append(why, fmt.Sprintf("nobody has looked for %s: forge host watch, or forge resume, does", ago.Round(time.Second)))
	}
	if held := n.Held[checkpoint]; held != "" {
		why = append(why, text.OneLine(held, 600))
	}
	return strings.Join(why, "; ")
}
