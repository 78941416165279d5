package verify

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/browser"
	"forge/internal/filetree"
	"forge/internal/pixels"
	"forge/internal/proc"
	"forge/internal/text"
	"forge/internal/work"
)

// Pages shows how pages look on a change and before it. Keep keeps a picture and
// returns its name.
type Pages struct {
	Bench *Bench
	Keep  func(ctx context.Context, picture []byte) (sha string, err error)
}

// each is how long a moving picture shows one of its frames.
const each = 900 * time.Millisecond

// Show starts each page's server from exactly the commit, in a sandbox whose only
// network is its own, and has a browser in the same sandbox go there; the same for
// the commit before. A page that could not be shown is in the report, with the
// cause; an error means that Forge could not do its own part. A nil watch is fine.
//
// The server is the project's, and shares the sandbox with the browser: what a
// hostile one makes of it is its own page, no more.
func (p Pages) Show(ctx context.Context, req work.PagesRequest, watch func(work.Activity)) (work.PagesReport, error) {
	v := req.Verify
	v.Dir, v.LogPath = v.Dir+".pages", strings.TrimSuffix(v.LogPath, ".log")+".pages.log"
	now, err := p.Bench.visit(ctx, v, req.Pages, watch)
	if err != nil {
		return work.PagesReport{}, orCancelled(ctx, fmt.Errorf("show the pages of %s: %w", v.Commit, err))
	}

	// Where nothing can be seen of the change, nothing is compared.
	seen := func(s browser.Seen) bool { return s.Problem == "" }
	then := make([]browser.Seen, len(now))
	for i := range then {
		then[i].Problem = "it is not compared with anything"
	}
	if req.Before != "" && slices.ContainsFunc(now, seen) {
		v.Commit = req.Before
		if then, err = p.Bench.visit(ctx, v, req.Pages, watch); err != nil {
			return work.PagesReport{}, orCancelled(ctx, fmt.Errorf("show the pages of %s: %w", v.Commit, err))
		}
	}

	var rep work.PagesReport
	for i, page := range req.Pages {
		one, err := p.compared(ctx, page, then[i], now[i])
		if err != nil {
			return work.PagesReport{}, orCancelled(ctx, fmt.Errorf("keep the pictures of a page: %w", err))
		}
		rep.Pages = append(rep.Pages, one)
	}
	return rep, nil
}

// compared is what a page was before a change and is with it.
func (p Pages) compared(ctx context.Context, page work.PageSettings, before, after browser.Seen) (work.PageShown, error) {
	out := work.PageShown{URL: page.URL, Problem: after.Problem, Steps: len(page.Steps), Millis: (before.Took + after.Took).Milliseconds()}
	if out.Problem != "" {
		out.Steps = 0
		out.New, out.NewAll = clippedErrors(after.Errors)
		return out, nil
	}
	now, err := pixels.Read(after.Picture)
	if err != nil {
		out.Problem = "the browser gave no picture that can be read: " + err.Error()
		return out, nil
	}
	out.Width, out.Height = now.Bounds().Dx(), now.Bounds().Dy()
	if err := errors.Join(p.keep(ctx, now, &out.After), p.move(ctx, after.Frames, &out.Moving)); err != nil {
		return out, err
	}

	// What nobody saw before counts as new.
	var earlier []string
	var then *image.RGBA
	if out.Unlike = before.Problem; out.Unlike == "" {
		earlier = before.Errors
		if then, err = pixels.Read(before.Picture); err != nil {
			out.Unlike = "the browser gave no picture that can be read: " + err.Error()
		}
	}
	was := func(e string) bool { return slices.Contains(earlier, e) }
	out.New, out.NewAll = clippedErrors(slices.DeleteFunc(slices.Clone(after.Errors), was))
	out.Old, out.OldAll = clippedErrors(slices.DeleteFunc(slices.Clone(after.Errors), func(e string) bool { return !was(e) }))
	if then == nil {
		return out, nil
	}
	d := pixels.Compare(then, now)
	out.Changed, out.Of = d.Changed, d.Of
	err = p.keep(ctx, then, &out.Before)
	if d.Marked != nil {
		err = errors.Join(err, p.keep(ctx, d.Marked, &out.Marked))
	}
	return out, err
}

// clippedErrors is as much of errors as a report names, and how many there are.
func clippedErrors(all []string) (some []string, n int) {
	for _, one := range all[:min(len(all), 5)] {
		some = append(some, text.ClipLine(one, 160))
	}
	return some, len(all)
}

// keep keeps a picture drawn anew: of what the browser said, its colours alone.
func (p Pages) keep(ctx context.Context, picture image.Image, as *string) error {
	data, err := pixels.Write(picture)
	if err == nil {
		*as, err = p.Keep(ctx, data)
	}
	return err
}

// move keeps the frames of a page's steps as one picture; none is not kept.
func (p Pages) move(ctx context.Context, frames [][]byte, as *string) error {
	var all []*image.RGBA
	for _, data := range frames {
		if one, err := pixels.Read(data); err == nil {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil
	}
	data, err := pixels.Moving(all, each)
	if err != nil {
		return nil //nolint:nilerr // steps that are too large to be shown hold nothing up: the picture of their end stands
	}
	*as, err = p.Keep(ctx, data)
	return err
}

// visit has each page shown from one folder with the commit in it, in their order.
func (b *Bench) visit(ctx context.Context, req work.VerifyRequest, pages []work.PageSettings, watch func(work.Activity)) ([]browser.Seen, error) {
	all := make([]browser.Seen, len(pages))
	unseen := func(why string) []browser.Seen {
		for i := range all {
			if all[i].Problem == "" && all[i].Picture == nil {
				all[i].Problem = why
			}
		}
		return all
	}
	program := browser.Find(b.environ)
	switch level, err := proc.Choose(req.Sandbox.How(), req.Sandbox.OnlyHosts, b.caps); {
	case program == "":
		return unseen("there is no browser on this machine: " + browser.Fix), nil
	case err != nil:
		return nil, err
	case level != proc.LevelBubblewrap:
		return unseen("a page is shown in bubblewrap alone, which keeps it from every other network, and is not used here: " + b.caps.Why), nil
	}

	out, err := openTranscript(req.LogPath, b.red)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the way out with an error; else it is closed by then
	if err := filetree.RemoveAll(req.Dir); err != nil {
		return nil, err
	}
	if err := b.checkout.Materialize(ctx, req.Dir, req.Commit); err != nil {
		return nil, err
	}
	defer func() {
		// What stays is removed by the next call, which fails if it cannot.
		_ = filetree.RemoveAll(req.Dir)
		_ = filetree.RemoveAll(workOf(req.Dir))
		_ = filetree.RemoveAll(outOf(req.Dir))
		dropHome(homeOf(req.Dir))
	}()
	sh, rep, err := b.open(ctx, folder{
		dir: req.Dir, checkout: req.Checkout, env: req.Env,
		phase: req.Phase, mark: req.Mark, out: out, watch: watch,
		worktree: req.Worktree, sandbox: req.Sandbox, hide: req.Hide, caches: req.Caches,
	})
	defer sh.close()
	if err != nil {
		return nil, err
	}
	if !rep.OK {
		return unseen("its folder could not be made ready: " + rep.Problem), nil
	}
	sh.kind = "page"
	for i, page := range pages {
		if all[i], err = sh.look(ctx, program, page); err != nil {
			return nil, err
		}
	}
	return all, out.Close()
}

// fontCache tells programs which fonts there are; one that does not see it looks
// through all of them each time it starts. Where it is not there it is passed over.
const fontCache = "/var/cache/fontconfig"

// look starts a page's server and a browser in one sandbox, and has the page shown.
// Both are ended with it.
func (s *shell) look(ctx context.Context, program string, page work.PageSettings) (browser.Seen, error) {
	start := s.red.String(strings.ToValidUTF8(page.Start, "\uFFFD"))
	if s.watch != nil {
		s.watch(work.Activity{Phase: s.phase, Kind: s.kind, Text: text.ClipLine(page.URL, mostLine)})
	}
	if err := s.out.note("$ " + start + " # and " + page.URL); err != nil {
		return browser.Seen{}, err
	}
	view, err := s.view()
	if err != nil {
		return browser.Seen{}, err
	}
	box := *view
	box.Network, box.Serve = false, nil
	box.Read = append(slices.Clone(box.Read), fontCache)
	if real, err := filepath.EvalSymlinks(program); err == nil && !strings.HasPrefix(real, "/usr/") && !strings.HasPrefix(real, "/opt/") {
		box.Read = append(box.Read, filepath.Dir(real))
	}
	home, end := variable(s.env, "HOME"), ".page-ended" // as the page's command sees it; s.home is the same folder
	ended := filepath.Join(s.home, end)
	if err := filetree.RemoveAll(ended); err != nil { // of the page before
		return browser.Seen{}, err
	}

	said, saying := io.Pipe()
	asking, ask := io.Pipe()
	printed := s.out.command(proc.NewTail(0, tailBytes))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := proc.Start(ctx, proc.Spec{
		Path: "sh", Args: append([]string{"-c", browser.Script, "sh", page.Start, filepath.Join(home, end)}, browser.Command(program, filepath.Join(home, ".page-browser"))...),
		Dir: s.dir, Env: s.env, Mark: s.mark, Quiet: true,
		Stdin: asking, Stdout: saying, Stderr: printed,
		Sandbox: &box,
		Limits:  proc.Limits{Grace: time.Second, Drain: time.Second},
	})
	if err != nil {
		return browser.Seen{}, err
	}
	p.Started()
	over := make(chan struct{})
	go func() { // so that a browser that ends is heard of at once
		defer close(over)
		p.Wait()
		_ = saying.Close()
	}()
	seen := browser.Look(ctx, said, ask, page, func() (int, bool) { return browser.Ended(ended) })
	p.Stop()
	<-over
	if err := ctx.Err(); err != nil {
		return browser.Seen{}, err
	}
	if res := p.Wait(); errors.Is(res.Err, proc.ErrAlive) {
		return browser.Seen{}, fmt.Errorf("end the browser: %w", res.Err)
	}
	if err := printed.Close(); err != nil {
		return browser.Seen{}, fmt.Errorf("keep what the page's server printed: %w", err)
	}
	ending := "shown"
	if seen.Problem != "" {
		ending = "not shown: " + seen.Problem
	}
	return seen, s.out.note("# " + strings.Join(append([]string{ending}, seen.Errors...), "\n# "))
}
