package doctor

import (
	"forge/internal/browser"
	"forge/internal/proc"
	"forge/internal/text"
	"forge/internal/work"
)

// pages says what is missing to show the pages of [[proof.pages]]: without it no
// proof can be green.
func (d *Doctor) pages(set work.Settings, caps proc.Capabilities) {
	n := len(set.Proof.Pages)
	if n == 0 {
		return
	}
	program := browser.Find(d.Env.Environ)
	switch {
	case program == "":
		d.poor(browser.Fix, "no browser for %s of [[proof.pages]]: every proof would be red", text.Number(n, "page"))
	case set.Sandbox.Container.Image != "":
		d.poor("remove the pages, or sandbox.kind", "%s of [[proof.pages]] can be shown in bubblewrap alone, and sandbox.kind is container: every proof would be red", text.Number(n, "page"))
	case !caps.Bubblewrap:
		d.poor("install bubblewrap", "%s of [[proof.pages]] can be shown in bubblewrap alone: every proof would be red (%s)", text.Number(n, "page"), caps.Why)
	default:
		d.good("browser %s, for %s of [[proof.pages]]", program, text.Number(n, "page"))
	}
}
