//go:build real

package webtest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Click clicks on the middle of what a selector names, as soon as it is there
// and nothing covers it. Where the page moves under the mouse meanwhile, it is clicked
// again, as a person would.
func (b *Tab) Click(selector string) {
	b.w.TB.Helper()
	for try := 0; ; try++ {
		x, y := b.inSight(selector)
		b.JS(fmt.Sprintf(`(() => {
			const selector = %s;
			window.clicking?.abort();
			window.clicking = new AbortController();
			const once = { capture: true, once: true, signal: window.clicking.signal };
			window.missed = false;
			addEventListener("pointerdown", (down) => {
				addEventListener("pointerup", (up) => {
					const what = document.querySelector(selector);
					const met = up.target.closest(selector) || what && (what.contains(up.target) || up.target.contains(what));
					window.missed = down.target !== up.target || !met;
				}, once);
			}, once);
		})()`, quoted(selector)), nil)
		b.Run(chromedp.MouseClickXY(x, y))
		var missed bool
		ctx, cancel := context.WithTimeout(b.ctx, Patience)
		err := chromedp.Run(ctx, chromedp.Evaluate(`window.missed === true`, &missed))
		cancel()
		if err != nil || !missed || try == 2 { // the page may have given way to another
			return
		}
		b.w.TB.Logf("the page moved under the mouse: %s is clicked again", selector)
	}
}

// inSight brings what a selector names to where it can be clicked on.
func (b *Tab) inSight(selector string) (x, y float64) {
	b.w.TB.Helper()
	b.Entered()
	b.Until(fmt.Sprintf(`(() => {
		const what = document.querySelector(%s);
		what.scrollIntoView({ block: "center", behavior: "instant" });
		const r = what.getClientRects()[0];
		const top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
		return what.contains(top) || top.contains(what);
	})()`, quoted(selector)))
	return b.Middle(selector)
}

// Follow clicks on a link until it has led to an address that holds path: what a
// page replaces under the mouse takes no click, and is clicked again.
func (b *Tab) Follow(selector, path string) {
	b.w.TB.Helper()
	b.Click(selector)
	b.Until(fmt.Sprintf(`location.pathname.includes(%s) || (() => {
		const now = performance.now();
		window.followed ??= now;
		if (now - window.followed > 3000) {
			window.followed = now;
			document.querySelector(%s)?.click();
		}
		return false;
	})()`, quoted(path), quoted(selector)))
	b.Entered()
}

// Type types text into what a selector names.
func (b *Tab) Type(selector, text string) {
	b.w.TB.Helper()
	b.Focus(selector)
	b.Run(chromedp.KeyEvent(text))
}

// Set gives what a selector names a value, as a choice or a paste does.
func (b *Tab) Set(selector, value string) {
	b.w.TB.Helper()
	b.Focus(selector)
	b.JS(fmt.Sprintf(`(() => {
		const what = document.querySelector(%s);
		what.value = %s;
		for (const name of ["input", "change"]) what.dispatchEvent(new Event(name, { bubbles: true }));
	})()`, quoted(selector), quoted(value)), nil)
}

// Focus puts the focus on what a selector names, as soon as it is there.
func (b *Tab) Focus(selector string) {
	b.w.TB.Helper()
	b.Entered()
	b.Until(fmt.Sprintf(`(() => { const what = document.querySelector(%s); what.focus(); return document.activeElement === what; })()`, quoted(selector)))
}

// quoted is text as JavaScript writes it.
func quoted(text string) string {
	q, _ := json.Marshal(text)
	return string(q)
}

// Keys types keys, by their names.
func (b *Tab) Keys(names ...string) {
	b.w.TB.Helper()
	codes := map[string]int64{"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
	for _, name := range names {
		key, code, text := name, name, ""
		switch name {
		case "Space":
			key, text = " ", " "
		case "Enter":
			text = "\r"
		}
		down := input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithCode(code).WithText(text).WithWindowsVirtualKeyCode(codes[name])
		b.Run(down, input.DispatchKeyEvent(input.KeyUp).WithKey(key).WithCode(code).WithWindowsVirtualKeyCode(codes[name]))
	}
}

// Middle is the middle of an element.
func (b *Tab) Middle(selector string) (x, y float64) {
	b.w.TB.Helper()
	var at [2]float64
	b.JS(fmt.Sprintf(`(() => { const r = document.querySelector(%s).getClientRects()[0]; return [r.left + r.width/2, r.top + r.height/2]; })()`, quoted(selector)), &at)
	return at[0], at[1]
}

// Drag drags an element to a point by the mouse.
func (b *Tab) Drag(selector string, x, y float64) {
	b.w.TB.Helper()
	fx, fy := b.Middle(selector)
	b.Run(input.DispatchMouseEvent(input.MousePressed, fx, fy).WithButton(input.Left).WithClickCount(1))
	for n := range 5 {
		part := float64(n+1) / 5
		b.Run(input.DispatchMouseEvent(input.MouseMoved, fx+(x-fx)*part, fy+(y-fy)*part).WithButton(input.Left))
	}
	b.Run(input.DispatchMouseEvent(input.MouseReleased, x, y).WithButton(input.Left).WithClickCount(1))
}
