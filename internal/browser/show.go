package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"forge/internal/work"
)

// Pauses of a visit.
const (
	again  = 100 * time.Millisecond // before something is looked for once more
	quiet  = 300 * time.Millisecond // without a request under way, a page has settled
	settle = 3 * time.Second        // after which a page that never does is taken as it is
)

type values map[string]any

// show goes through the whole visit.
func (v *visit) show(ctx context.Context) error {
	if err := v.begin(ctx); err != nil {
		return err
	}
	if err := v.reach(ctx); err != nil {
		return err
	}
	if v.page.Wait != "" {
		if err := v.step(ctx, work.PageStep{Do: work.PageWait, On: v.page.Wait}); err != nil {
			return err
		}
	}
	if err := v.settled(ctx); err != nil {
		return err
	}
	for i, step := range v.page.Steps {
		if i == 0 {
			if err := v.frame(ctx); err != nil {
				return err
			}
		}
		if err := v.step(ctx, step); err != nil {
			return err
		}
		if err := v.settled(ctx); err != nil {
			return err
		}
		if err := v.frame(ctx); err != nil {
			return err
		}
	}
	v.doing = "be drawn"
	if n := len(v.frames); n > 0 {
		v.picture = v.frames[n-1]
		return nil
	}
	var err error
	v.picture, err = v.drawn(ctx)
	return err
}

// begin opens an empty page and asks to be told of what happens in it.
func (v *visit) begin(ctx context.Context) error {
	v.doing = "start the browser"
	size := v.size()
	var target struct {
		ID string `json:"targetId"`
	}
	if err := v.call(ctx, "Target.createTarget", values{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var session struct {
		ID string `json:"sessionId"`
	}
	if err := v.call(ctx, "Target.attachToTarget", values{"targetId": target.ID, "flatten": true}, &session); err != nil {
		return err
	}
	// Of the whole browser, and so said before there is a session.
	if err := v.call(ctx, "Browser.setDownloadBehavior", values{"behavior": "deny"}, nil); err != nil {
		return err
	}
	v.session, v.frameID = session.ID, target.ID
	for _, one := range []struct {
		method string
		params values
	}{
		{"Page.enable", values{}}, {"Runtime.enable", values{}}, {"Network.enable", values{"maxTotalBufferSize": 1 << 20}}, {"Log.enable", values{}}, {"DOM.enable", values{}}, {"CSS.enable", values{}},
		{"Emulation.setDeviceMetricsOverride", values{"width": size.X, "height": size.Y, "deviceScaleFactor": 1, "mobile": false}},
	} {
		if err := v.call(ctx, one.method, one.params, nil); err != nil {
			return err
		}
	}
	v.started()
	return nil
}

// reach goes to the page, as often as its server is not there yet. A command that ended
// well may have left a server that is not there yet either.
func (v *visit) reach(ctx context.Context) error {
	v.doing = "reach " + v.page.URL
	for {
		code, ended := v.ended() // before it is tried once more
		var to struct {
			Loader string `json:"loaderId"`
			Error  string `json:"errorText"`
		}
		if err := v.call(ctx, "Page.navigate", values{"url": v.page.URL}, &to); err != nil {
			return err
		}
		if to.Error == "" {
			break
		}
		if to.Error != "net::ERR_CONNECTION_REFUSED" {
			return fmt.Errorf("it could not be loaded: %s", to.Error)
		}
		if ended && code != 0 {
			return fmt.Errorf("the command that starts its server ended with exit code %d, and nothing listens at %s", code, v.page.URL)
		}
		v.sought[to.Loader], v.doing = true, "reach "+v.page.URL+", where nothing listens"
		if err := v.pause(ctx, again); err != nil {
			return err
		}
	}
	v.reached = true

	v.doing = "load"
	for !v.loaded && v.left == "" {
		if err := v.pause(ctx, again); err != nil {
			return err
		}
	}
	return nil
}

// settled waits until no request is under way, though not for ever: some pages
// always have one. What stands against the page ends the visit.
func (v *visit) settled(ctx context.Context) error {
	v.doing = "settle"
	still := time.Duration(0)
	for waited := time.Duration(0); still < quiet && waited < settle && v.left == ""; waited += again {
		if err := v.pause(ctx, again); err != nil {
			return err
		}
		if still += again; len(v.loading) > 0 {
			still = 0
		}
	}
	if v.left == "" && v.status >= 400 {
		v.left = fmt.Sprintf("its server answered with status %d", v.status)
	}
	if v.left != "" {
		return errors.New(v.left)
	}
	return nil
}

// pause hears what happens for a while.
func (v *visit) pause(ctx context.Context, long time.Duration) error {
	over, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for {
		m, err := v.next(over)
		if err == nil && m.ID == 0 { // also at the very end: it does not come again
			v.heard(m)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case over.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// step does one thing, as soon as what it is done to can be seen.
func (v *visit) step(ctx context.Context, s work.PageStep) error {
	v.doing = s.String()
	if s.Do == work.PagePress {
		return v.press(ctx, s.On)
	}
	for v.left == "" {
		at, err := v.find(ctx, s)
		if err != nil {
			return err
		}
		switch {
		case at == nil:
		case s.Do == work.PageClick:
			return v.click(ctx, *at)
		case s.Do == work.PageType:
			return v.call(ctx, "Input.insertText", values{"text": s.Text}, nil)
		default:
			return nil
		}
		if err := v.pause(ctx, again); err != nil {
			return err
		}
	}
	return errors.New(v.left)
}

type place struct{ X, Y float64 }

// finder is the place of an element that can be seen, where null stands for
// none; with true, what is typed goes there and takes the place of what it holds.
const finder = `((on, typing) => {
	const e = document.querySelector(on);
	if (!e || !e.getClientRects().length || getComputedStyle(e).visibility === "hidden") return null;
	e.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
	if (typing) { e.focus(); if (e.select) e.select(); }
	const r = e.getBoundingClientRect();
	return {X: r.x + r.width / 2, Y: r.y + r.height / 2};
})`

// find is where the element of a step is; nil = it cannot be seen yet.
func (v *visit) find(ctx context.Context, s work.PageStep) (*place, error) {
	var got struct {
		Result struct {
			Value *place `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	on, err := json.Marshal(s.On)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	ask := fmt.Sprintf("%s(%s, %t)", finder, on, s.Do == work.PageType)
	if err := v.call(ctx, "Runtime.evaluate", values{"expression": ask, "returnByValue": true, "silent": true}, &got); err != nil {
		if strings.Contains(err.Error(), "context") && ctx.Err() == nil {
			return nil, nil // the page is on its way to another one
		}
		return nil, err
	}
	if got.Exception != nil {
		return nil, fmt.Errorf("%s: %s", s, firstLine(got.Exception.Exception.Description))
	}
	return got.Result.Value, nil
}

func (v *visit) click(ctx context.Context, at place) error {
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		button := "left"
		if kind == "mouseMoved" {
			button = "none"
		}
		if err := v.call(ctx, "Input.dispatchMouseEvent", values{"type": kind, "x": at.X, "y": at.Y, "button": button, "clickCount": 1}, nil); err != nil {
			return err
		}
	}
	return nil
}

// keyCodes are the numbers by which pages know keys.
func keyCodes(key string) int {
	switch key {
	case "Backspace":
		return 8
	case "Tab":
		return 9
	case "Enter":
		return 13
	case "Escape":
		return 27
	case "Space":
		return 32
	case "PageUp":
		return 33
	case "PageDown":
		return 34
	case "End":
		return 35
	case "Home":
		return 36
	case "ArrowLeft":
		return 37
	case "ArrowUp":
		return 38
	case "ArrowRight":
		return 39
	case "ArrowDown":
		return 40
	case "Delete":
		return 46
	}
	return 0
}

func (v *visit) press(ctx context.Context, key string) error {
	params := values{"key": key, "code": key, "windowsVirtualKeyCode": keyCodes(key)}
	switch key {
	case "Enter":
		params["text"] = "\r"
	case "Space":
		params["key"], params["text"] = " ", " "
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		if params["type"] = kind; kind == "keyUp" {
			delete(params, "text")
		}
		if err := v.call(ctx, "Input.dispatchKeyEvent", params, nil); err != nil {
			return err
		}
	}
	return nil
}

// frame keeps how the page looks now.
func (v *visit) frame(ctx context.Context) error {
	p, err := v.drawn(ctx)
	v.frames = append(v.frames, p)
	return err
}

// drawn is how the page looks now.
func (v *visit) drawn(ctx context.Context) ([]byte, error) {
	v.doing = "be drawn"
	v.hideCaret(ctx)
	var shot struct {
		Data []byte `json:"data"`
	}
	if err := v.call(ctx, "Page.captureScreenshot", values{"format": "png", "captureBeyondViewport": false}, &shot); err != nil {
		return nil, err
	}
	if v.left != "" {
		return nil, errors.New(v.left)
	}
	return shot.Data, nil
}

// hideCaret takes the caret off the page, which is there at one moment and not at the next.
// Those in frames of the page stay; where it cannot be, the page is drawn as it is.
func (v *visit) hideCaret(ctx context.Context) {
	var sheet struct {
		ID string `json:"styleSheetId"`
	}
	if v.call(ctx, "CSS.createStyleSheet", values{"frameId": v.frameID}, &sheet) == nil {
		_ = v.call(ctx, "CSS.setStyleSheetText", values{"styleSheetId": sheet.ID, "text": "* { caret-color: transparent !important }"}, nil)
	}
}

func firstLine(said string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return line
}

// quoted is a value of the page as an error names it.
func quoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if unquoted, err := strconv.Unquote(string(raw)); err == nil {
		return unquoted
	}
	return string(raw)
}
