package journal

import (
	"fmt"

	"forge/internal/work"
)

// Version names the events that one upcaster takes: those of Kind written as
// version V.
type Version struct {
	Kind work.EventKind
	V    int
}

// Upcasters bring events of older versions to the next one, step by step,
// when they are read; what is stored never changes. nil knows none.
type Upcasters map[Version]func(work.Event) (work.Event, error)

// lift brings e to work.EventVersion.
func (u Upcasters) lift(e work.Event) (work.Event, error) {
	if e.V > work.EventVersion {
		return e, fmt.Errorf("%s has version %d and this program knows %d, a newer Forge wrote it", e.Kind, e.V, work.EventVersion)
	}
	for e.V < work.EventVersion {
		up, ok := u[Version{e.Kind, e.V}]
		if !ok {
			return e, fmt.Errorf("nothing reads %s of version %d", e.Kind, e.V)
		}
		next, err := up(e)
		if err != nil {
			return e, fmt.Errorf("read %s of version %d: %w", e.Kind, e.V, err)
		}
		// The envelope is the journal's; an upcaster changes kind and data.
		next.V, next.Seq, next.Run, next.Time = e.V+1, e.Seq, e.Run, e.Time
		e = next
	}
	return e, nil
}
