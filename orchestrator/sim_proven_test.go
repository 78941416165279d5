package orchestrator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"forge/internal/work"
)

// memory is what the world remembers of its proofs, and what is true of them.
type memory struct {
	machine int                          // toolchains so far
	kept    map[string]work.ProvenBefore // on disk, by key
	green   map[string]time.Time         // when a run of the commands was green, in truth
	red     map[string]bool              // marked on disk
}

func newMemory() memory {
	return memory{kept: map[string]work.ProvenBefore{}, green: map[string]time.Time{}, red: map[string]bool{}}
}

// keyOf names a verify by its content and the machine of now.
func (w *world) keyOf(commit string, on work.VerifyOn) work.ProofKey {
	name := w.commits[commit]
	if slices.Contains(floors(), on) {
		name += "+" + string(on)
	}
	return work.ProofKey{Key: fmt.Sprintf("%s on machine %d", name, w.memory.machine), Tree: name}
}

// spared is the record that an effect finds in place of a run: a good one, or
// one that the core must not believe.
func (w *world) spared(key work.ProofKey) (b work.ProvenBefore, found, good bool) {
	if w.s.reuse("") == 0 && !w.aside(10) {
		return b, false, false
	}
	b, found = w.memory.kept[key.Key]
	good = found && !w.memory.red[key.Key] && w.now.Sub(b.At) >= 0 && w.now.Sub(b.At) <= w.reuse() && w.s.reuse("") > 0
	if found && w.memory.red[key.Key] {
		return b, false, false
	}
	switch x := w.side.IntN(100); {
	case x < 10 && len(w.memory.kept) > 0:
		w.fault("a proof of something else")
		keys := slices.Sorted(maps.Keys(w.memory.kept))
		b = w.memory.kept[keys[w.side.IntN(len(keys))]]
		return b, true, good && b.Key == key.Key
	case x < 15 && found:
		w.fault("a proof that is too old")
		b.At = w.now.Add(-w.reuse() - time.Hour)
		return b, true, false
	case x < 20 && found:
		w.fault("a proof from the future")
		b.At = w.now.Add(time.Hour)
		return b, true, false
	}
	return b, good, good
}

func (w *world) reuse() time.Duration {
	return time.Duration(w.spec.Settings.Verify.ReuseSecs) * time.Second
}

// recalled is the end of a verify for which a record stands.
func (w *world) recalled(c Command, t *tree, key work.ProofKey, b work.ProvenBefore, good bool) VerifyDone {
	d := VerifyDone{Command: c, Report: work.CommandsReport{OK: true}, Key: key, Before: &b}
	own := c.On == work.OnSnapshot || c.On == work.OnMerged
	if own {
		d.Evidence = w.evidence(c, t)
	}
	if own && w.secret() {
		d.Hidden = &work.HiddenReport{Ran: 1, Sum: "1"}
		if t.special {
			d.Hidden.Red = "amounts above 1000 are wrong"
		}
	}
	if !good {
		if own {
			was, seen := t.proven, t.seen
			w.browse(c, t, &d, was)
			t.proven, t.seen = was, seen // of what is not believed nothing is on record
		}
		return d
	}
	w.fault("proven before")
	switch {
	case own:
		before := t.proven
		t.proven, t.unshown = !w.secret() || !t.special, t.unshown || w.secret() && !t.special
		w.browse(c, t, &d, before)
	case c.On == work.OnProtected:
		t.protected = true
	case c.On == work.OnTrusted:
		t.trusted = true
	case c.On == work.OnParts:
		t.parted = true
	}
	return d
}

// remember is what the driver does around a write.
func (w *world) remember(evs []work.Event) error {
	for _, e := range evs {
		if e.Kind != work.VerifyFinished {
			continue
		}
		var d work.VerifyFinishedData
		if err := decode(e, &d); err != nil {
			return err
		}
		switch {
		case d.Key == "" || d.Before != nil:
		case !d.OK:
			w.memory.red[d.Key] = true
		default:
			w.memory.kept[d.Key] = work.ProvenBefore{Key: d.Key, Tree: d.Tree, Run: "sim", Command: d.ID, At: e.Time}
		}
	}
	return nil
}

// provenOnce: nothing stands for a run of the commands but a green run of the
// very same, on this machine, not too long ago.
func (c *invariants) provenOnce(p *Phase, e work.Event, d work.VerifyFinishedData) error {
	if d.Before == nil {
		return nil
	}
	commit, on := c.w.s.Spec.Base.Commit, d.On
	if p != nil {
		commit = p.judgedCommit()
	}
	key := c.w.keyOf(commit, on)
	at, green := c.w.memory.green[d.Key]
	switch {
	case d.Key != key.Key || d.Before.Key != d.Key:
		return fmt.Errorf("a proof of %q stands for one of %q", d.Before.Key, key.Key)
	case !green:
		return fmt.Errorf("a proof stands for that of %q, which never was", d.Key)
	case c.w.memory.red[d.Key]:
		return fmt.Errorf("a proof stands for that of %q, which was red", d.Key)
	case c.w.spec.Fresh:
		return fmt.Errorf("a proof stands for that of %q in spite of --fresh", d.Key)
	case e.Time.Sub(d.Before.At) > c.w.reuse() || e.Time.Before(d.Before.At):
		return fmt.Errorf("a proof of %v stands for one at %v, which may be %v old", at, e.Time, c.w.reuse())
	}
	return nil
}
