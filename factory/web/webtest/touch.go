//go:build real

package webtest

import (
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// ShiftClick is Click with Shift held down.
func (b *Tab) ShiftClick(selector string) {
	b.w.TB.Helper()
	x, y := b.inSight(selector)
	b.Run(chromedp.MouseClickXY(x, y, chromedp.ButtonModifiers(input.ModifierShift)))
}

// Tap is Click by a finger.
func (b *Tab) Tap(selector string) {
	b.w.TB.Helper()
	x, y := b.inSight(selector)
	b.Run(emulation.SetTouchEmulationEnabled(true),
		input.DispatchTouchEvent(input.TouchStart, []*input.TouchPoint{{X: x, Y: y}}), input.DispatchTouchEvent(input.TouchEnd, []*input.TouchPoint{}))
}
