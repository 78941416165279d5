package orchestrator

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// withPages lets the owner of the project name pages. Most of the time there is a
// verify, since pages are a part of what it says, and phases meet when they merge.
func withPages(d dice, sp *Spec) {
	for n := range 1 + d.shows.IntN(2) {
		sp.Settings.Proof.Pages = append(sp.Settings.Proof.Pages, work.PageSettings{
			URL: fmt.Sprintf("http://localhost:%d/", n+1), Start: "serve", Say: d.shows.IntN(100) < 25,
		})
	}
	if sp.Job != nil || d.shows.IntN(100) < 20 {
		return
	}
	set := &sp.Settings
	set.Verify.Commands, set.Verify.None, set.MaxParallel = []string{"make test"}, false, 3
	for n, ps := range set.Phases {
		ps.Verify, ps.Permission = set.Verify.Commands, work.PermissionStandard
		ps.Budget += 2
		set.Phases[n] = ps
	}
	for i := range sp.Plan.Phases {
		if d.shows.IntN(100) < 70 {
			sp.Plan.Phases[i].DependsOn = nil
		}
	}
}

// pictureOf is the name of what a page looks like on a tree.
func pictureOf(tree, url string) string {
	sum := sha256.Sum256([]byte(tree + " " + url))
	return hex.EncodeToString(sum[:])
}

// browse is how the pages look on a tree that was proven before or was not. They are
// shown where all else is green alone.
func (w *world) browse(c Command, t *tree, d *VerifyDone, proven bool) {
	asked := w.spec.Settings.Proof.Pages
	if len(asked) == 0 || w.secret() && (d.Hidden == nil || d.Hidden.Red != "") {
		return
	}
	rep := &work.PagesReport{}
	for _, one := range asked {
		rep.Pages = append(rep.Pages, work.PageShown{URL: one.URL, After: pictureOf(w.commits[c.Commit], one.URL), Changed: 3, Of: 100})
	}
	d.Pages = rep
	first := &rep.Pages[0]
	yes := t.proven
	t.proven = false
	switch x := w.shows.IntN(100); {
	case x < 3:
		w.fault("nobody showed the pages")
		d.Pages, t.proven = nil, proven
	case x < 6:
		w.fault("a page that nobody showed")
		rep.Pages, t.proven = rep.Pages[1:], proven
	case x < 9:
		w.fault("a page without a picture")
		first.After, t.proven = "", proven
	case t.blank:
		w.fault("a page that could not be shown")
		first.Problem, first.After = w.text("nothing listens"), ""
	case t.throws && !asked[0].Say:
		w.fault("a page with errors")
		first.New, first.Say = w.texts(1+w.shows.IntN(9), "uncaught TypeError"), w.shows.IntN(100) < 50
	default:
		if t.throws {
			w.fault("a page with errors that the owner lets pass")
			first.New = w.texts(1, "uncaught TypeError")
		}
		t.proven, t.seen = yes, true
	}
}

// ofPages: nothing is proven or landed while a page of the project was not shown
// from that very tree, or is red.
func (c *invariants) ofPages(s *State, p *Phase, e work.Event) error {
	asked := c.w.spec.Settings.Proof.Pages
	if p == nil || len(asked) == 0 || len(p.Set.Verify) == 0 {
		return nil
	}
	switch e.Kind {
	case work.VerifyFinished:
		var d work.VerifyFinishedData
		if err := read(c, e, &d); err != nil || !d.OK || d.On != work.OnSnapshot && d.On != work.OnMerged {
			return err
		}
		name := c.w.commits[p.judgedCommit()]
		if len(d.Pages) != len(asked) {
			return fmt.Errorf("tree %s of phase %s is proven, and %d of %d pages were shown", name, e.Phase, len(d.Pages), len(asked))
		}
		for i, page := range d.Pages {
			if page.After != pictureOf(name, asked[i].URL) {
				return fmt.Errorf("tree %s of phase %s is proven by the picture of another", name, e.Phase)
			}
		}
		if !c.w.trees[name].seen {
			return fmt.Errorf("tree %s of phase %s is proven, and a page of it is red", name, e.Phase)
		}
	case work.PhaseMerged:
		var d PhaseMergedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if name := c.w.commits[d.Commit]; !c.w.trees[name].seen {
			return fmt.Errorf("phase %s lands tree %s, whose pages were not shown or are red", e.Phase, name)
		}
	}
	return nil
}

const pagesSchedules = 2000

func pagesLab(t testing.TB) *lab {
	l := newLab(t)
	l.pages = true
	return l
}

// TestSimulationOfPages plays schedules in which the owner names pages.
func TestSimulationOfPages(t *testing.T) {
	pace.Slow(t, "thousands of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	c := simulate(t, pagesLab(t), schedules(pagesSchedules))
	t.Logf("%d events\nfaults %v\nended %v", c.events, c.faults, c.outcomes)
	for _, f := range []string{
		"nobody showed the pages", "a page that nobody showed", "a page without a picture", "a page that could not be shown",
		"a page with errors", "a page with errors that the owner lets pass", "proven before",
	} {
		if c.faults[f] == 0 {
			t.Errorf("no schedule met %q", f)
		}
	}
	for _, k := range []string{string(work.PhaseMerged), string(work.RunFinished)} {
		if c.kinds[k] == 0 {
			t.Errorf("no schedule reached %s", k)
		}
	}
	if c.gates[gateMerge+" "+decideReverify] == 0 || c.outcomes[string(work.RunCompleted)] == 0 {
		t.Error("no tree was shown once more where it was merged, or no run came to its end")
	}
	checkStates(t, c.edges, false)
}

// Each of these takes a page for shown that was not, or for good that is not, and is
// found.
func TestSeededBugsOfPages(t *testing.T) {
	pace.Slow(t, "schedules until each bug is found")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	h := newHunter(t, pagesLab(t), 1000)
	passes := func(begins string, which func(d *work.VerifyFinishedData) bool) bug {
		return bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			if strings.HasPrefix(d.Problem, begins) && (which == nil || which(d)) {
				d.OK, d.Problem = true, ""
			}
		})}
	}
	for name, tt := range map[string]struct {
		bug  bug
		want []string
	}{
		"pages that nobody showed pass": {passes("nobody showed the pages", nil), []string{"pages were shown"}},
		"a page without a picture passes": {passes("the page ", func(d *work.VerifyFinishedData) bool {
			return slices.ContainsFunc(d.Pages, func(p work.PageShown) bool { return p.Problem == "" && p.After == "" })
		}), []string{"by the picture of another"}},
		"errors pass": {passes("the page ", func(d *work.VerifyFinishedData) bool {
			return slices.ContainsFunc(d.Pages, func(p work.PageShown) bool { return p.NewAll > 0 })
		}), []string{"a page of it is red", "in truth it is not"}},
		"a merged tree passes whose pages are red": {passes("the page ", func(d *work.VerifyFinishedData) bool {
			return d.On == work.OnMerged
		}), []string{"a page of it is red", "by the picture of another", "in truth it is not"}},
		"a picture of yesterday stands": {bug{fact: func(_ *State, f Fact) Fact {
			if v, ok := f.(VerifyDone); ok && v.Pages != nil {
				rep := work.PagesReport{Pages: slices.Clone(v.Pages.Pages)}
				for i := range rep.Pages {
					if one := &rep.Pages[i]; one.After == "" {
						one.Problem, one.After = "", pictureOf("t0", one.URL)
					}
				}
				v.Pages = &rep
				return v
			}
			return f
		}}, []string{"by the picture of another"}},
		"what a page says of itself counts": {bug{fact: func(s *State, f Fact) Fact {
			if v, ok := f.(VerifyDone); ok && v.Pages != nil {
				rep := work.PagesReport{Pages: slices.Clone(v.Pages.Pages)}
				for i := range rep.Pages {
					if rep.Pages[i].Say {
						rep.Pages[i].New = nil
					}
				}
				v.Pages = &rep
				return v
			}
			return f
		}}, []string{"a page of it is red", "in truth it is not"}},
		"whoever resumes forgets the pages": {bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.RunResumed {
				s.Spec.Settings.Proof.Pages = nil
			}
		})}, []string{"pages were shown"}},
	} {
		h.hunt(t, name, tt.bug, tt.want)
	}
}
