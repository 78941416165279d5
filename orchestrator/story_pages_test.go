package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/work"
)

// Pages that the owner names are part of the proof: one that nobody saw, that could
// not be shown, or that has errors it did not have, refutes the claim.
func TestPages(t *testing.T) {
	sum := strings.Repeat("a1", 32)
	shown := func(say bool) func(*Spec) {
		return func(sp *Spec) {
			sp.Settings.Proof.Pages = []work.PageSettings{{URL: "http://localhost:1/", Start: "serve", Say: say}}
		}
	}
	came := func(pages ...work.PageShown) func(*VerifyDone) {
		return func(d *VerifyDone) { d.Pages = &work.PagesReport{Pages: pages} }
	}
	good := work.PageShown{URL: "http://localhost:1/", After: sum, Before: sum, Marked: sum, Changed: 7, Of: 100}
	with := func(change func(*work.PageShown)) work.PageShown {
		p := good
		change(&p)
		return p
	}
	broken := with(func(p *work.PageShown) { p.New, p.NewAll = []string{"uncaught TypeError: save is no function"}, 1 })
	for _, c := range []struct {
		name string
		say  bool
		came []func(*VerifyDone)
		want string // in the prompt of the next try; "" = it is proven
	}{
		{"shown", false, []func(*VerifyDone){came(good)}, ""},
		{"errors as before", false, []func(*VerifyDone){came(with(func(p *work.PageShown) { p.Old, p.OldAll = []string{"x"}, 1 }))}, ""},
		{"new errors, which the owner lets pass", true, []func(*VerifyDone){came(broken)}, ""},
		{"new errors", false, []func(*VerifyDone){came(broken)}, "save is no function"},
		{"new errors that say of themselves that they pass", false, []func(*VerifyDone){came(with(func(p *work.PageShown) { *p = broken; p.Say = true }))}, "save is no function"},
		{"new errors without a word", false, []func(*VerifyDone){came(with(func(p *work.PageShown) { p.NewAll = 3 }))}, "has 3 errors"},
		{"not shown", true, []func(*VerifyDone){came(with(func(p *work.PageShown) { p.Problem, p.After = "there is no browser", "" }))}, "there is no browser"},
		{"without a picture", true, []func(*VerifyDone){came(with(func(p *work.PageShown) { p.After = "" }))}, "no picture"},
		{"with a picture that nobody can find", true, []func(*VerifyDone){came(with(func(p *work.PageShown) { p.After = "../" + sum[3:] }))}, "no picture"},
		{"nobody looked", true, nil, "nobody showed the pages"},
		{"nobody looked at all", true, []func(*VerifyDone){came()}, "nobody showed the pages"},
		{"too many", true, []func(*VerifyDone){came(good, good)}, "nobody showed the pages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := tell(t, shown(c.say))
			st.work("01", says("P01"))
			st.verify("01", true, c.came...)
			if c.want == "" {
				st.isPending("01 merge")
				if p := st.phase("01").Record.Pages; len(p) != 1 || p[0].After != sum {
					t.Errorf("on record: %+v", p)
				}
				return
			}
			st.isPending("01 iterate")
			if prompt := st.prompt("01"); !strings.Contains(prompt, c.want) {
				t.Errorf("the prompt does not say %q:\n%s", c.want, prompt)
			}
		})
	}
}

// A merge is shown as well: two phases whose pages are good may break one together,
// and then none of it lands.
func TestPagesAreShownWhereAPhaseMerges(t *testing.T) {
	st := pagesOverAMerge(t)
	st.runEnded(work.RunCompleted)
}

func pagesOverAMerge(t *testing.T) *story {
	t.Helper()
	sum := strings.Repeat("a1", 32)
	shown := func(change func(*work.PageShown)) func(*VerifyDone) {
		return func(d *VerifyDone) {
			p := work.PageShown{URL: "http://localhost:1/", After: sum, Before: sum, Marked: sum, Width: 800, Height: 600, Changed: 7, Of: 480_000}
			change(&p)
			d.Pages = &work.PagesReport{Pages: []work.PageShown{p}}
		}
	}
	good := shown(func(*work.PageShown) {})
	st := tell(t, phases("01", "02"), func(sp *Spec) {
		sp.Settings.Proof.Pages = []work.PageSettings{{URL: "http://localhost:1/", Start: "serve"}}
	})
	st.work("01", says("P01"))
	st.work("02", says("P02"))
	st.verify("01", true, shown(func(p *work.PageShown) { p.New, p.NewAll = []string{"uncaught TypeError"}, 1 }))
	st.isPending("01 iterate", "02 verify")
	st.verify("02", true, good)
	st.work("01", says("P01"))
	st.verify("01", true, good)
	st.merge("02")
	st.land("02")
	st.dies(Resumed{})

	st.merge("01", moved())
	st.verify("01", true, shown(func(p *work.PageShown) { p.Problem, p.After = "nothing listens", "" }))
	st.isPending("01 iterate")
	if prompt := st.prompt("01"); !strings.Contains(prompt, "nothing listens") {
		t.Errorf("the prompt does not say what is wrong with the page:\n%s", prompt)
	}
	st.work("01", says("P01"))
	st.verify("01", true, good)
	st.merge("01")
	st.land("01")
	st.deliver()
	return st
}

// Whatever pages say, an event has room for the decision about them.
func TestPagesFitAnEvent(t *testing.T) {
	long := strings.Repeat("é\u0001", 5000)
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint(i, long)
	}
	st := tell(t, func(sp *Spec) {
		for range work.MostPages {
			sp.Settings.Proof.Pages = append(sp.Settings.Proof.Pages, work.PageSettings{URL: "http://localhost:1/" + strings.Repeat("x", 900), Start: "serve"})
		}
	})
	st.work("01", says("P01"))
	st.verify("01", true, func(d *VerifyDone) {
		d.Pages = &work.PagesReport{}
		for range work.MostPages {
			d.Pages.Pages = append(d.Pages.Pages, work.PageShown{Problem: long, Unlike: long, New: many, Old: many, After: long, Before: strings.Repeat("a1", 32)})
		}
		d.Evidence.Notes, d.Evidence.Touched, d.Evidence.New, d.Evidence.Parts, d.Evidence.Trusted = many, many, many, many, many
		for range 30 {
			d.Evidence.Doubts = append(d.Evidence.Doubts, work.Doubt{Kind: work.DoubtUnproven, Path: long, What: long})
			d.Report.Ran = append(d.Report.Ran, work.CommandReport{Command: long, OK: true})
		}
	})
	st.isPending("01 iterate")
	for _, e := range st.events {
		if len(e.Data) > work.MaxEventBytes {
			t.Errorf("%s has %d bytes", e.Kind, len(e.Data))
		}
	}
}
