package hostwatch

import (
	"maps"
	"os"

	"forge/internal/pullrequest"
)

// notedOnce notes what one look found, unless somebody watches and knows more.
func (w *Watch) notedOnce(failed error) {
	now := w.p.Now()
	was, ok := pullrequest.NewsOf(w.p, w.At)
	if ok && was.OutOfSight(now) == 0 {
		return
	}
	w.note.Last = was
	if _, err := w.note.Write(pullrequest.News{PID: os.Getpid(), At: now, Every: w.Every, Once: true, Held: w.unanswered()}, failed); err != nil {
		w.p.Log.Warn("others are not told", "err", err)
	}
}

// noted says what is new of how the host can be read.
func (w *Watch) noted(err error, hooks *Hooks) {
	now := pullrequest.News{PID: os.Getpid(), At: w.p.Now(), Every: w.Every, Held: w.unanswered(), Hooks: hooks.counts()}
	other, writeErr := w.note.Write(now, err)
	if writeErr != nil {
		w.p.Log.Warn("others are not told", "err", writeErr)
	}
	switch {
	case other && err != nil:
		w.p.Log.Warn("the host could not be read; it is asked again", "every", w.Every, "err", err)
	case other:
		w.p.Log.Info("the host can be read again", "host", w.At.URL)
	}
}

// unanswered is why pull requests answer nothing yet, by checkpoint.
func (w *Watch) unanswered() map[string]string {
	held := maps.Clone(w.held)
	maps.DeleteFunc(held, func(_, why string) bool { return why == "" })
	return held
}
