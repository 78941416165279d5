package work

import (
	"encoding/json"
	"fmt"
)

// Decode reads the data of an event; an error names the event.
func Decode(e Event, into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return fmt.Errorf("read event %d (%s) of run %s: %w", e.Seq, e.Kind, e.Run, err)
	}
	return nil
}
