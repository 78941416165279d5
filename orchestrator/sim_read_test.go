package orchestrator

import (
	"reflect"

	"forge/internal/work"
)

// reading is the data of the event that the invariants look at, by type: twenty of
// them want the same, and to read it took most of the time of a schedule.
type reading struct {
	of   *byte // where the data stands
	size int
	data map[reflect.Type]any
}

// read is decode, once for each event and type. What it gives is shared, and not to
// be changed.
func read[T any](c *invariants, e work.Event, into *T) error {
	if len(e.Data) == 0 {
		return decode(e, into)
	}
	r := &c.reading
	if r.of != &e.Data[0] || r.size != len(e.Data) {
		r.of, r.size = &e.Data[0], len(e.Data)
		clear(r.data)
	}
	kind := reflect.TypeFor[T]()
	if known, ok := r.data[kind].(T); ok {
		*into = known
		return nil
	}
	err := decode(e, into)
	if err == nil {
		r.data[kind] = *into
	}
	return err
}
