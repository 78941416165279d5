package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// oneFile is a configuration of one text.
type oneFile struct{ text, by string }

func (f *oneFile) Read(context.Context) (web.SettingsNow, error) {
	return web.SettingsNow{File: ".forge/forge.toml", Text: f.text, Sum: "sum-" + f.text, Values: []web.Setting{
		{Key: "verify.commands", Value: `["<b>"]`, Origin: ".forge/forge.toml:2", Doc: "What proves it."}, {Key: "sandbox.mode", Value: `"auto"`, Origin: "default", Doc: "Where agents work."},
	}}, nil
}

func (f *oneFile) Write(_ context.Context, text, seen, by string) error {
	switch {
	case seen != "sum-"+f.text:
		return work.ErrStale
	case strings.Contains(text, "wrong"):
		return &web.BadSettings{Problems: []string{".forge/forge.toml:1: <wrong>"}}
	}
	f.text, f.by = text, by
	return nil
}

func (f *oneFile) Health(context.Context) (string, error) { return "✓ git\n✗ <agent>\n", nil }

// A project's configuration is seen and changed by an admin alone; what is refused
// stays in the form.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	file := &oneFile{text: "old"}
	w.Site.Change("demo", func(p *web.Project) { p.Settings = file })
	owner := w.Owner()
	page := owner.Get("/p/demo/settings").Body
	for _, want := range []string{"[&#34;&lt;b&gt;&#34;]", "What proves it.", `name="seen" value="sum-old"`, ">old</textarea>"} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q:\n%s", want, page)
		}
	}
	if a := owner.Get("/p/demo/health"); !strings.Contains(a.Body, "✗ &lt;agent&gt;") {
		t.Errorf("health: %d %s", a.Status, a.Body)
	}
	send := func(text, seen string) webtest.Answer {
		return owner.Send("/p/demo/settings", url.Values{"text": {text}, "seen": {seen}})
	}
	if a := send("wrong\r\n", "sum-old"); a.Status != 422 || !strings.Contains(a.Body, "&lt;wrong&gt;") || !strings.Contains(a.Body, ">wrong") || file.text != "old" {
		t.Errorf("a wrong text: %d, now %q\n%s", a.Status, file.text, a.Body)
	}
	if a := send("mine", "sum-older"); a.Status != 409 || !strings.Contains(a.Body, ">mine</textarea>") || file.text != "old" {
		t.Errorf("over another's: %d, now %q", a.Status, file.text)
	}
	if a := send("new\r\nline", "sum-old"); a.Status != 303 || file.text != "new\nline" || file.by == "" {
		t.Errorf("saved: %d, %q by %q", a.Status, file.text, file.by)
	}
	for _, role := range []web.Role{web.RoleViewer, web.RoleOperator} {
		somebody := w.User("u"+role.String(), role, "demo")
		if a := somebody.Get("/p/demo/settings"); a.Status != 403 {
			t.Errorf("%s sees the configuration: %d", role, a.Status)
		}
		if a := somebody.Get("/p/demo/health"); a.Status != 403 {
			t.Errorf("%s sees what is missing: %d", role, a.Status)
		}
	}
	w.Site.Change("demo", func(p *web.Project) { p.Settings = nil })
	if a := owner.Get("/p/demo/settings"); a.Status != 404 {
		t.Errorf("without a configuration: %d", a.Status)
	}
}
