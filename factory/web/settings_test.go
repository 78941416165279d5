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

// oneFile is a configuration of one text, and what its fields were sent as.
type oneFile struct {
	text, by string
	said     map[string]string
}

func (f *oneFile) sum() string { return "sum-" + strings.Join(strings.Fields(f.text), " ") }

// Propose adds the cap to the text.
func (f *oneFile) Propose(_ context.Context, values map[string]string, seen string) (string, error) {
	f.said = values
	switch usd := values["cost.run_usd"]; {
	case seen != f.sum():
		return "", work.ErrStale
	case usd == "much":
		return "", &web.BadSettings{Fields: map[string]string{"cost.run_usd": "<much> is not a number"}}
	case usd != "":
		return f.text + "\nrun_usd = " + usd, nil
	}
	return f.text, nil
}

func (f *oneFile) Read(context.Context) (web.SettingsNow, error) {
	return web.SettingsNow{File: ".forge/forge.toml", Text: f.text, Sum: f.sum(), Fields: []web.Field{
		{Group: "Who decides", Key: "autonomy.level", Label: "Level of runs", Doc: "Where a person decides.", Value: f.said["autonomy.level"], Choices: web.Choices{{Value: "full", Says: "Nobody has to look."}, {Value: "review", Says: "You see the result."}}},
		{Group: "Proof", Key: "verify.commands", Label: "Commands", Unit: "one a line", Doc: "What proves it.", Value: "make test", Lines: true},
		{Group: "Caps", Key: "cost.run_usd", Label: "A run", Doc: "Dollars of one run.", Value: f.said["cost.run_usd"]},
		{Group: "Caps", Key: "defaults.budget", Label: "Tries", Doc: "Tries of a phase.", Default: "8"},
		{Group: "Caps", Key: "cost.day_usd", Label: "A day", Locked: "Written otherwise."},
	}, Values: []web.Setting{
		{Key: "verify.commands", Value: `["<b>"]`, Origin: ".forge/forge.toml:2", Doc: "What proves it."}, {Key: "sandbox.mode", Value: `"auto"`, Origin: "default", Doc: "Where agents work."},
	}}, nil
}

func (f *oneFile) Write(_ context.Context, text, seen, by string) error {
	switch {
	case seen != f.sum():
		return work.ErrStale
	case strings.Contains(text, "wrong"):
		return &web.BadSettings{Problems: []string{".forge/forge.toml:1: <wrong>"}}
	}
	f.text, f.by = text, by
	return nil
}

func (f *oneFile) Health(context.Context) (string, error) {
	return "✓ git\n✗ <agent>\n    → get <it>\n", nil
}

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
	health := owner.Get("/p/demo/health").Body
	for _, want := range []string{"<h1>Is everything there?</h1>", `missing:</span></span> <span><strong>&lt;agent&gt;</strong><br><span class="quiet">get &lt;it&gt;</span>`, "there:</span></span> <span>git</span>", `<nav aria-label="Project"`} {
		if !strings.Contains(health, want) {
			t.Errorf("health without %q:\n%s", want, health)
		}
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

// Each setting stands with what it means; what would change is shown before it is
// saved, and a wrong value is named at its field.
func TestSettingsByFields(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	file := &oneFile{text: "old # <mine>"}
	w.Site.Change("demo", func(p *web.Project) { p.Settings = file })
	owner := w.Owner()
	page := owner.Get("/p/demo/settings").Body
	for _, want := range []string{"Dollars of one run.", `<option value="review" data-says="You see the result.">`, `Default: <span class="mono">8</span>`, ">make test</textarea>", "Written otherwise."} {
		if !strings.Contains(page, want) {
			t.Errorf("without %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, `name="set-cost.day_usd"`) {
		t.Error("a setting that is not changed here has a field")
	}
	send := func(usd, seen string, more ...string) webtest.Answer {
		form := url.Values{"seen": {seen}, "set-cost.run_usd": {usd}, "set-verify.commands": {"make test\r\nmake lint\r\n"}, "set-cost.day_usd": {"9"}, "set-nothing": {"x"}}
		for _, name := range more {
			form.Set(name, "1")
		}
		return owner.Send("/p/demo/settings/fields", form)
	}
	if a := send("much", file.sum()); a.Status != 422 || !strings.Contains(a.Body, `id="set-cost.run_usd-wrong" role="alert">✗ &lt;much&gt;`) || !strings.Contains(a.Body, `value="much"`) {
		t.Errorf("a wrong value: %d\n%s", a.Status, a.Body)
	}
	if a := send("5", "sum-older", "save"); a.Status != 409 || file.by != "" {
		t.Errorf("over another's: %d", a.Status)
	}
	a := send("5", file.sum())
	if a.Status != 200 || !strings.Contains(a.Body, "<ins>+ run_usd = 5</ins>") || !strings.Contains(a.Body, "old # &lt;mine&gt;") || file.by != "" {
		t.Errorf("shown: %d, saved by %q\n%s", a.Status, file.by, a.Body)
	}
	if got := file.said["verify.commands"]; got != "make test\nmake lint" || file.said["nothing"] != "" || file.said["cost.day_usd"] != "" {
		t.Errorf("proposed: %q", file.said)
	}
	if a := send("", file.sum()); a.Status != 200 || !strings.Contains(a.Body, "Nothing changes") || strings.Contains(a.Body, "Save this") {
		t.Errorf("no change: %d\n%s", a.Status, a.Body)
	}
	if a := send("5", file.sum(), "save"); a.Status != 303 || file.text != "old # <mine>\nrun_usd = 5" || file.by == "" {
		t.Errorf("saved: %d, %q by %q", a.Status, file.text, file.by)
	}
	if a := w.User("rosa", web.RoleOperator, "demo").Send("/p/demo/settings/fields", url.Values{"seen": {file.sum()}, "save": {"1"}}); a.Status != 403 {
		t.Errorf("an operator changes it: %d", a.Status)
	}
}

// A text whose lines end as those of Windows keeps them, whatever forms send.
func TestSettingsKeepLineEnds(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	file := &oneFile{text: "a\r\nb\r\n"}
	w.Site.Change("demo", func(p *web.Project) { p.Settings = file })
	if a := w.Owner().Send("/p/demo/settings", url.Values{"text": {"a\r\nc\r\n"}, "seen": {file.sum()}}); a.Status != 303 || file.text != "a\r\nc\r\n" {
		t.Errorf("%d %q", a.Status, file.text)
	}
}
