//go:build real && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/tracker/trackertest"
)

// dayAgent works for a moment. By the number of the issue it crashes at first, says
// nothing at first, or writes into a file that others write to as well. It removes what
// was written long ago, so that the project stays as large as it is.
const dayAgent = `
n=${FORGE_PHASE_NAME#thing}
sleep "0.$((n * 7 % 10))"
if [ "$FORGE_ITERATION" = 1 ]; then
	case $((n % 20)) in
	7) exit 3 ;;
	13) echo "not yet"; exit 0 ;;
	esac
fi
echo "$FORGE_PHASE_NAME" >"$FORGE_PHASE_NAME.txt"
rm -f "thing$((n - 100)).txt"
# Two changed lines beside each other: both are wanted.
grep -q '^<<<<<<<' shared.txt && sed -i '/^<<<<<<< /d; /^||||||| /d; /^=======$/d; /^>>>>>>> /d' shared.txt
[ $((n % 25)) = 4 ] && sed -i "$((n / 25 % 40 + 1))s/.*/$FORGE_PHASE_NAME/" shared.txt
id=${FORGE_RUN#i}
echo "<promise>ISSUE ${id%%-*} DONE</promise>"
`

// dayCritic looks at a change for a moment. Now and then it crashes or says what
// nobody can read; asked again it may say more.
const dayCritic = `
n=$(($$ % 120))
sleep "0.$((n % 5))"
case $n in
9) exit 3 ;;
19) echo 'well' ; exit 0 ;;
esac
echo '{"verdict":"pass","confidence":0.9,"findings":[]}'
`

// dayReviews has each change looked at.
const dayReviews = `
[agents.critic]
kind = "exec"
command = ["sh", "critic.sh"]
[reviews]
enabled = true
agent = "critic"
`

// day is a factory, those who look at it, and what was seen.
type day struct {
	*checkout
	token  string
	atOnce int
	// tracked is where a fifth of the issues come from, by a network that loses things.
	tracked *trackertest.GitHub
	ours    map[string]int64 // numbers there, by title
	log     bytes.Buffer
	cmd     *exec.Cmd
	over    chan struct{}

	mu      sync.Mutex
	server  string
	pages   []time.Duration // since the last sample
	answers []time.Duration
	samples []sample
	began   time.Time
}

// sample is the factory at a moment.
type sample struct {
	at                    time.Duration
	done, waits           int
	rss, files            int // MB; open files of the server
	pages, answers        time.Duration
	loose, packs, folders int
}

func (d *day) serve() {
	d.t.Helper()
	d.cmd = d.command(os.Args[0], "factory", "--listen", "127.0.0.1:0", "--max-runs", strconv.Itoa(d.atOnce))
	d.cmd.Stderr = &d.log
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	over, cmd := make(chan struct{}), d.cmd
	d.over = over
	go func() {
		defer close(over)
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		link, _, _ := d.quick("factory", "url")
		at, err := url.Parse(strings.TrimSpace(link))
		if err != nil || at.Host == "" {
			continue
		}
		d.mu.Lock()
		d.server = at.Scheme + "://" + at.Host
		d.mu.Unlock()
		if status, _ := d.get("/healthz"); status == http.StatusOK {
			return
		}
	}
	d.t.Fatalf("the factory does not serve\n%s", d.log.String())
}

// kill ends the factory as a power cut does.
func (d *day) kill() {
	_ = d.cmd.Process.Kill()
	<-d.over
}

func (d *day) do(method, path, body string) (status int, text string) {
	d.mu.Lock()
	server := d.server
	d.mu.Unlock()
	req, err := http.NewRequest(method, server+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+d.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}).Do(req)
	if err != nil {
		return 0, err.Error() // it is being started anew
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(said)
}

func (d *day) get(path string) (status int, text string) { return d.do(http.MethodGet, path, "") }

// look opens pages time and again.
func (d *day) look(over <-chan struct{}) {
	pages := []string{"/p/repo", "/p/repo/runs", "/inbox", "/p/repo/metrics"}
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
		began := time.Now()
		if status, text := d.get(pages[n%len(pages)]); status != http.StatusOK && status != 0 {
			d.t.Errorf("%s: %d %.200s", pages[n%len(pages)], status, text)
			return
		} else if status == http.StatusOK {
			d.mu.Lock()
			d.pages = append(d.pages, time.Since(began))
			d.mu.Unlock()
		}
	}
}

// answer says yes to what waits, and no to every twentieth.
func (d *day) answer(over <-chan struct{}) {
	r := rand.New(rand.NewPCG(1, 2))
	for {
		select {
		case <-over:
			return
		case <-time.After(200 * time.Millisecond):
		}
		_, text := d.get("/api/v1/projects/repo/checkpoints?status=pending&limit=50")
		var list struct {
			Checkpoints []struct {
				ID       string `json:"id"`
				Revision int    `json:"revision"`
			} `json:"checkpoints"`
		}
		if json.Unmarshal([]byte(text), &list) != nil {
			continue
		}
		for _, cp := range list.Checkpoints {
			verb, body := "approve", fmt.Sprintf(`{"revision":%d}`, cp.Revision)
			if r.IntN(20) == 0 {
				verb, body = "reject", fmt.Sprintf(`{"revision":%d,"comment":"not this"}`, cp.Revision)
			}
			began := time.Now()
			if status, _ := d.do(http.MethodPost, "/api/v1/projects/repo/checkpoints/"+cp.ID+"/"+verb, body); status == http.StatusOK {
				d.mu.Lock()
				d.answers = append(d.answers, time.Since(began))
				d.mu.Unlock()
			}
		}
	}
}

// measure takes a sample, and returns how many issues are not over.
func (d *day) measure() (left int) {
	d.mu.Lock()
	s := sample{at: time.Since(d.began), pages: slowest(d.pages), answers: slowest(d.answers)}
	d.pages, d.answers = nil, nil
	d.mu.Unlock()
	_, text := d.get("/metrics")
	figure := func(name string) (n int) {
		for _, m := range regexp.MustCompile(`(?m)^`+name+` (\S+)$`).FindAllStringSubmatch(text, -1) {
			v, _ := strconv.ParseFloat(m[1], 64)
			n += int(v)
		}
		return n
	}
	s.done = figure(`forge_issues\{column="done",project="repo"\}`)
	s.waits = figure(`forge_checkpoints_pending\{project="repo"\}`)
	s.rss, s.files = figure("process_resident_memory_bytes")>>20, figure("process_open_fds")
	left = figure(`forge_issues\{column="(?:ready|in_progress|backlog)",project="repo"\}`) + figure(`forge_issues_running\{project="repo"\}`) + s.waits
	count := func(pattern string) int {
		found, _ := filepath.Glob(d.at(pattern))
		return len(found)
	}
	s.loose, s.packs, s.folders = count("state/repo.git/objects/[0-9a-f][0-9a-f]/*"), count("state/repo.git/objects/pack/*.pack"), count("state/runs/*/phases")
	if text == "" || s.rss == 0 {
		return 1 // nobody answers at the moment
	}
	d.samples = append(d.samples, s)
	return left
}

// open is how many issues of the tracker have landed and are open there all the same.
func (d *day) open(landed []string) (n int) {
	for title, number := range d.ours {
		if count(landed, title) > 0 && !d.tracked.Closed(d.t, number) {
			n++
		}
	}
	return n
}

// known is how many issues are on the board.
func (d *day) known() (n int) {
	_, text := d.get("/metrics")
	for _, m := range regexp.MustCompile(`(?m)^forge_issues\{column="[a-z_]+",project="repo"\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		v, _ := strconv.Atoi(m[1])
		n += v
	}
	return n
}

func (d *day) landed() []string {
	return strings.Split(strings.TrimSpace(d.must("git", "log", "--no-merges", "--format=%s", "forge/landed")), "\n")
}

// lose is how the network to the tracker behaves.
func lose(r *rand.Rand) func(*http.Request) hosttest.Fault {
	return func(*http.Request) hosttest.Fault {
		switch r.IntN(24) {
		case 0:
			return hosttest.Fault{Status: http.StatusBadGateway}
		case 1:
			return hosttest.Fault{Status: http.StatusInternalServerError, After: true}
		case 2:
			return hosttest.Fault{Cut: true}
		case 3:
			return hosttest.Fault{Cut: true, After: true}
		case 4:
			return hosttest.Fault{Delay: 2 * time.Second}
		}
		return hosttest.Fault{}
	}
}

// press fills the disk that the state is on, for a while.
func (d *day) press() {
	ballast := filepath.Join(d.at("state"), "ballast")
	d.fill(ballast, 0)
	time.Sleep(3 * time.Second)
	if err := os.Remove(ballast); err != nil {
		d.t.Error(err)
	}
}

// slowest is how long 99 of 100 took at most.
func slowest(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// TestRealFactoryDay: a day of a factory in fast motion. FORGE_DAY_ISSUES issues (24)
// are put on the board, a fifth of them by a tracker behind a network that loses things;
// FORGE_DAY_AT_ONCE (8) are worked on at once by agents and reviewers of which some
// crash, are silent or write what others write too; people look at pages all the time
// and answer what waits; on a day of a hundred issues and more the disk is full three
// times; and the factory is killed three times. Nothing is lost, landed twice, stuck or left behind; with FORGE_DAY_WRITE
// figures and their plot are written to docs/.
func TestRealFactoryDay(t *testing.T) {
	pace.Slow(t, "dozens of issues, three kills")
	if !smallWorld(t) { // since its disk is filled
		return
	}
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	issues, atOnce := number("FORGE_DAY_ISSUES", 24), number("FORGE_DAY_AT_ONCE", 8)
	config := strings.Replace(fmt.Sprintf(factoryConfig, atOnce), `env = ["HALL", "PAUSE"]`, `env = ["HALL"]`, 1)
	config = strings.Replace(config, "end_to_end", "full", 1)
	d := &day{checkout: newCheckout(t, "off", map[string]string{
		"start.txt": "here\n", "shared.txt": strings.Repeat("line\n", 40), "agent.sh": dayAgent, "critic.sh": dayCritic, ".forge/forge.toml": config + dayReviews,
	}), tracked: trackertest.StartGitHub(t), ours: map[string]int64{}, atOnce: atOnce}
	if err := os.MkdirAll(d.at("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.must("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", 128+issues/2), "tmpfs", d.at("state"))
	t.Cleanup(func() { _ = exec.Command("umount", "-l", d.at("state")).Run() })
	lossy := hosttest.StartProxy(t, d.tracked.URL)
	lossy.Misbehave(lose(rand.New(rand.NewPCG(3, 4))))
	d.write("config/forge/config.toml", fmt.Sprintf("[sandbox]\nmode = \"off\"\n[trackers.work]\nkind = \"github\"\nurl = %q\nrepo = %q\npoll_secs = 5\nsandbox = \"as_configured\"\n", lossy.URL, "owner/work"))
	d.env = append(d.env, "HALL="+d.root, "GITHUB_TOKEN="+d.tracked.Token)
	out := d.acknowledged("factory", "user", "add", "ann", "--role", "admin")
	d.token = regexp.MustCompile(`forge_[A-Za-z0-9_-]+`).FindString(out)
	for n := 1; n <= issues; n++ {
		if title := fmt.Sprintf("thing%d", n); n%5 == 2 {
			d.ours[title] = d.tracked.Open(t, trackertest.Writer, title, "Write it.")
			d.tracked.Label(t, trackertest.Writer, d.ours[title])
			continue
		}
		level := "full"
		if n%5 == 0 {
			level = "review"
		}
		d.acknowledged("issue", "add", fmt.Sprintf("thing%d", n), "--column", "ready", "--level", level)
	}
	d.began = time.Now()
	d.serve()
	t.Cleanup(d.kill)
	over := make(chan struct{})
	var people sync.WaitGroup
	people.Go(func() { d.look(over) })
	people.Go(func() { d.answer(over) })
	every := max(time.Duration(issues)*time.Second/60, 500*time.Millisecond)
	kills, full, presses := 0, 0, 0
	if issues >= 100 { // in a short day too many of them meet it
		presses = 3
	}
	last, moved := -1, time.Now()
	for calm, end := 0, time.Now().Add(time.Duration(issues)*10*time.Second+5*patience); calm < 3; time.Sleep(every) {
		left := d.measure()
		if n := len(d.samples); n > 0 && (left != last || d.samples[n-1].done == 0) {
			last, moved = left, time.Now()
		}
		if time.Since(moved) > 2*patience { // of the last ones some failed
			t.Errorf("%d issues are not over, and nothing happens", left)
			break
		}
		if left == 0 {
			landed := d.landed()
			left = d.open(landed) + max(0, issues-d.known())
		}
		if calm++; left > 0 {
			calm = 0
		}
		if n := len(d.samples); n > 0 && full < presses && d.samples[n-1].done >= issues*(2*full+1)/8 {
			full++
			d.press()
		}
		if n := len(d.samples); n > 0 && kills < 3 && d.samples[n-1].done >= issues*(kills+1)/4 {
			kills++
			d.kill()
			d.serve()
		}
		if time.Now().After(end) {
			board, _, _ := d.forge("issue", "list")
			t.Fatalf("%d issues are not over\n%s\n%.4000s", left, board, d.log.String())
		}
	}
	close(over)
	people.Wait()
	if kills != 3 {
		t.Errorf("the factory was killed %d times, not three", kills)
	}
	if full != presses {
		t.Errorf("the disk was full %d times, not %d", full, presses)
	}
	if len(lossy.Seen()) == 0 {
		t.Error("the tracker was never asked")
	}
	d.holds(issues)
	d.flat()
	if os.Getenv("FORGE_DAY_WRITE") != "" && !t.Failed() { // the page says that it held
		d.report(issues, atOnce)
	}
}

// holds asks whether all issues are where they belong and nothing is left behind.
func (d *day) holds(issues int) {
	d.t.Helper()
	d.kill()
	subjects := d.landed()
	done := 0
	for id := 1; id <= issues; id++ {
		card := d.card(id)
		landed := count(subjects, card.Title)
		switch {
		case card.Column == "done" && landed == 1:
			done++
		case card.Column == "in_review" && landed == 0 && card.Reason != "":
		default:
			d.t.Errorf("issue %d landed %d times: %+v", id, landed, card)
		}
	}
	if n := d.open(subjects); n > 0 {
		d.t.Errorf("%d issues of the tracker have landed and are open there", n)
	}
	d.t.Logf("%d of %d done, the others held or rejected", done, issues)
	if done < issues*3/4 {
		d.t.Errorf("only %d of %d are done", done, issues)
	}
	d.must("git", "fsck", "--no-dangling")
	if left := strings.TrimSpace(d.must("git", "for-each-ref", "--format=%(refname)", "refs/forge/keep")); strings.Count(left, "\n") >= issues-done && done > 0 && left != "" {
		d.t.Errorf("refs are left of what is over:\n%s", left)
	}
	if procs, _ := filepath.Glob("/proc/[0-9]*/environ"); true {
		for _, path := range procs {
			env, err := os.ReadFile(path)
			if err == nil && bytes.Contains(env, []byte("HALL="+d.root+"\x00")) && !strings.Contains(path, fmt.Sprint("/", os.Getpid(), "/")) {
				line, _ := os.ReadFile(strings.TrimSuffix(path, "environ") + "cmdline")
				d.t.Errorf("a process is left: %q", line)
			}
		}
	}
}

// flat asks whether the second half of the day cost what the first one did.
func (d *day) flat() {
	d.t.Helper()
	n := len(d.samples)
	if n < 40 {
		return // too short to tell
	}
	half := func(of []sample, what func(sample) float64) float64 {
		var all []float64
		for _, s := range of {
			if v := what(s); v > 0 {
				all = append(all, v)
			}
		}
		slices.Sort(all)
		if len(all) == 0 {
			return 0
		}
		return all[len(all)/2]
	}
	early, late := d.samples[n/10:n/2], d.samples[n/2:n*9/10]
	for what, value := range map[string]func(sample) float64{
		"memory of the server":       func(s sample) float64 { return float64(s.rss) },
		"open files":                 func(s sample) float64 { return float64(s.files) },
		"99 of 100 pages, seconds":   func(s sample) float64 { return s.pages.Seconds() },
		"99 of 100 answers, seconds": func(s sample) float64 { return s.answers.Seconds() },
	} {
		was, is := half(early, value), half(late, value)
		d.t.Logf("%s: %.3g in the first half, %.3g in the second", what, was, is)
		if is > 1.5*was && was > 0 {
			d.t.Errorf("%s grows: %.3g, then %.3g", what, was, is)
		}
	}
}
