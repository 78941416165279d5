package objects

import (
	"context"
	"time"
)

// Patiently does do again for as long as the place is out of reach, until ctx ends. What
// was worked out meanwhile is kept; nothing counts before the place has it.
func (p *Place) Patiently(ctx context.Context, do func(context.Context) error) error {
	told := false
	defer func() {
		if told {
			p.tell("")
		}
	}()
	for wait := time.Second; ; wait = min(2*wait, 15*time.Second) {
		err := do(ctx)
		if err == nil || !Away(err) || ctx.Err() != nil {
			return err
		}
		if !told {
			told = true
			p.tell("waits for the repository " + Plain(p.At) + ", which does not answer: " + Plain(err.Error()))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *Place) tell(what string) {
	if p.Tell != nil {
		p.Tell(what)
	}
}
