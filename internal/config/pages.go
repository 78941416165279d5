package config

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/work"
)

// checkPages looks at each page, file by file.
func (c *Config) checkPages(col *collector) {
	for _, l := range c.layers {
		for n, p := range l.said.Proof.Pages {
			bad := func(key, what, fix string) {
				path := []string{"proof", "pages", element(n)}
				if key != "" {
					path = append(path, key)
				}
				col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
			}
			check := func(key string, err error) {
				if err != nil {
					what, fix, _ := strings.Cut(err.Error(), ": ")
					bad(key, what, fix)
				}
			}
			for key, value := range map[string]*string{"url": p.URL, "start": p.Start} {
				if strings.TrimSpace(said(value)) == "" {
					bad("", "has no "+key, "write "+key+" = …")
				}
			}
			if said(p.URL) != "" {
				check("url", work.CheckPageURL(said(p.URL)))
			}
			if p.Viewport != nil {
				_, _, err := work.ParseViewport(*p.Viewport)
				check("viewport", err)
			}
			for i, step := range p.Steps {
				_, err := work.ParsePageStep(step)
				if err != nil {
					err = fmt.Errorf("step %d %w", i+1, err)
				}
				check("steps", err)
			}
			if len(p.Steps) > work.MostPageSteps {
				bad("steps", fmt.Sprintf("has %d steps", len(p.Steps)), fmt.Sprintf("write at most %d; a second page can go on", work.MostPageSteps))
			}
			if n == work.MostPages {
				bad("", "is one page too many", fmt.Sprintf("name at most %d", work.MostPages))
			}
		}
	}
	if len(c.File.Proof.Pages) == 0 {
		return
	}
	if said(c.File.Sandbox.Mode) == "off" {
		file, at := c.where("proof", "pages")
		col.add(file, at, "proof.pages names pages, and sandbox.mode is off: nothing would keep them from the network", "remove one of them")
	}
}

// pages refuses a phase that its agent's word alone ends: nothing would be shown
// of it, since pages are looked at when the commands are green.
func (r *resolver) pages(ph work.Phase, ps work.PhaseSettings) {
	if len(r.out.Proof.Pages) == 0 {
		return
	}
	file, at := r.cfg.where("proof", "pages")
	if r.out.Sandbox.Container.Image != "" {
		r.once(Problem{File: file, Line: at.line, Col: at.col, What: "proof.pages names pages, which are shown in bubblewrap alone, and sandbox.kind is container", Fix: "remove one of them"})
	}
	if len(ps.Verify) > 0 {
		return
	}
	r.add(file, at, fmt.Sprintf("proof.pages names pages, and phase %s has no verify commands: nothing would be proven, and no page shown", ph.Number), "set verify.commands, if only to \"true\"")
}

// pageSettings are the pages, which checkPages found nothing wrong with.
func pageSettings(all []ProofPage) (out []work.PageSettings) {
	for _, p := range all {
		one := work.PageSettings{URL: said(p.URL), Start: said(p.Start), Wait: said(p.Wait), Secs: cmp.Or(said(p.TimeoutSecs), 60), Say: said(p.Errors) == "say"}
		one.Width, one.Height, _ = work.ParseViewport(cmp.Or(said(p.Viewport), "1280x800"))
		for _, step := range p.Steps {
			s, _ := work.ParsePageStep(step)
			one.Steps = append(one.Steps, s)
		}
		out = append(out, one)
	}
	return out
}
