// Package browser shows a page in a browser that is not trusted with anything: it
// runs where its caller has put it, without a network but that of the page's own
// server, and says through a pair of pipes what it sees. Pictures, errors and
// whatever else comes of it are the page's own words, and read as data within
// bounds. A page that could not be shown is told as such, with the cause: never as
// one that has nothing wrong with it.
package browser

import (
	"cmp"
	"context"
	"errors"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// Names are the programs that are looked for, in this order: all speak the same
// protocol.
func Names() []string {
	return []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"}
}

// Find is the browser in the PATH of environ, "" = there is none.
func Find(environ []string) string {
	var path string
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	for _, name := range Names() {
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, name)
			if info, err := os.Stat(file); err == nil && filepath.IsAbs(dir) && !info.IsDir() && info.Mode()&0o111 != 0 {
				return file
			}
		}
	}
	return ""
}

// Fix is what there is to do where none is found.
const Fix = "install Chromium or Google Chrome, such as the package chromium"

// Script runs in a sandbox, with the page's command as its first argument, a file that
// is not there as its second, and the browser with its flags as the others: the server in
// the background, the browser with the pipes of its protocol in place of input and output.
// What both print goes to standard error. Where the command ends, the file becomes a link
// to its exit code: see Ended.
const Script = `start=$1 ended=$2; shift 2
{ sh -c "$start"; ln -s $? "$ended"; } </dev/null >&2 &
exec "$@" 3<&0 4>&1 </dev/null >&2`

// Ended is the exit code of a page's command, which Script leaves in a file; ok says that
// it ended. What else could be there the sandbox made of it, and it counts as nothing.
func Ended(file string) (code int, ok bool) {
	to, err := os.Readlink(file) // opens nothing
	if err != nil {
		return 0, false
	}
	code, err = strconv.Atoi(to)
	return code, err == nil && code >= 0 && code <= 255
}

// Command is a browser with flags that keep it quiet, and make it draw the same
// picture twice. Its own sandbox is off: it is in one, and two do not go into each
// other everywhere. profile is a folder that it may fill.
func Command(program, profile string) []string {
	return []string{
		program, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--user-data-dir=" + profile,
		"--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-breakpad",
		"--metrics-recording-only", "--no-pings", "--no-proxy-server", "--block-new-web-contents", "--mute-audio",
		"--hide-scrollbars", "--force-color-profile=srgb", "--force-prefers-reduced-motion", "--disable-lcd-text", "--font-render-hinting=none",
		"--password-store=basic", "--lang=en-US",
		"--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication",
	}
}

// Seen is what was seen of a page.
type Seen struct {
	Problem string        // why it could not be shown; "" = it was
	Picture []byte        // of the end, after all steps: what a browser calls a PNG
	Frames  [][]byte      // before the first step, and after each
	Errors  []string      // of its scripts, and requests that failed: each once, in order
	Took    time.Duration // all of it
}

// Bounds of what a page may do before it is left.
const (
	mostErrors  = 200
	mostDialogs = 20
	mostMoves   = 20
)

// starting is how long a browser may take until it can be asked for a page: what the
// machine is busy with says nothing of the page, whose own time begins then.
const starting = 2 * time.Minute

// Look has the browser behind the pipes show a page, until ctx is done. Both pipes
// are closed then, or at the end. A page whose command ended with a failure before it
// could be reached is not waited for; ended says so.
func Look(ctx context.Context, in io.ReadCloser, out io.WriteCloser, p work.PageSettings, ended func() (code int, ok bool)) Seen {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := starting
	clock := time.AfterFunc(limit, cancel)
	defer clock.Stop()
	end := context.AfterFunc(ctx, func() {
		_ = in.Close()
		_ = out.Close()
	})
	defer func() {
		if end() {
			_ = in.Close()
			_ = out.Close()
		}
	}()

	v := &visit{conn: open(ctx, in, out), page: p, ended: ended, loading: map[string]bool{}, sought: map[string]bool{}}
	v.event = v.heard
	v.started = func() {
		limit = time.Duration(cmp.Or(p.Secs, 60)) * time.Second
		clock.Reset(limit)
	}
	err := v.show(ctx)
	if err != nil && ctx.Err() != nil {
		err = errors.New("it was not done within " + limit.String() + ", which ended while it was to " + v.doing)
	}
	if v.left != "" { // what happened first says more than what it led to
		err = errors.New(v.left)
	}

	seen := Seen{Picture: v.picture, Frames: v.frames, Errors: v.errors, Took: time.Since(began)}
	if err != nil {
		seen.Problem, seen.Picture = clipped(err.Error()), nil
	}
	return seen
}

// visit is one look at a page.
type visit struct {
	*conn
	page    work.PageSettings
	started func()                     // the browser can be asked
	ended   func() (code int, ok bool) // the page's command
	doing   string                     // what is waited for
	frameID string                     // of the page itself, which holds the others
	reached bool                       // its server answered
	loaded  bool
	status  int             // what the server said of the page itself
	loading map[string]bool // requests under way
	sought  map[string]bool // tries to reach a server that was not there yet
	asked   map[string]string
	dialogs int
	moves   int
	errors  []string
	picture []byte
	frames  [][]byte
}

// note keeps an error once.
func (v *visit) note(said string) {
	said = clipped(said)
	if said != "" && len(v.errors) < mostErrors && !slices.Contains(v.errors, said) {
		v.errors = append(v.errors, said)
	}
}

func clipped(said string) string { return text.ClipLine(strings.ToValidUTF8(said, "\uFFFD"), 300) }

// size is that of the window.
func (v *visit) size() image.Point {
	return image.Pt(cmp.Or(v.page.Width, 1280), cmp.Or(v.page.Height, 800))
}
