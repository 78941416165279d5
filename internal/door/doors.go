package door

import (
	"context"
	"slices"
	"sync"
)

// Doors are the doors at one place to the projects of a server. Projects come while
// it is open, too.
type Doors struct {
	mu   sync.Mutex
	list []*Door
	open int // loops that go on
	end  func()
	over chan struct{}
}

// Add opens a door to one more project, and returns what keeps it open for as long
// as its context holds. It is nil where another one's door is to the same journal:
// its questions are asked there. listen hears what people say at the place; it goes
// on for as long as any of the doors is open, once for all of them. post is given
// what posts there, and lets it do so while no other process does.
func (all *Doors) Add(d *Door, listen func(context.Context), post func(loop func(context.Context)) func(context.Context)) func(context.Context) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, other := range all.list {
		if other.p.State == d.p.State {
			return nil
		}
	}
	all.list = append(all.list, d)
	return func(ctx context.Context) {
		all.enter(ctx, listen)
		defer all.leave(d)
		post(d.Loop)(ctx)
	}
}

func (all *Doors) enter(ctx context.Context, listen func(context.Context)) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open++; all.open > 1 {
		return
	}
	// Not until the first project is left: until the last one is.
	hearing, end := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	all.end, all.over = end, over
	go func() {
		defer close(over)
		listen(hearing)
	}()
}

// leave shuts a door: nothing is heard through it when leave returns, since its
// journal may be closed then.
func (all *Doors) leave(d *Door) {
	all.mu.Lock()
	all.list = slices.DeleteFunc(all.list, func(other *Door) bool { return other == d })
	all.open--
	last, end, over := all.open == 0, all.end, all.over
	all.mu.Unlock()
	if last {
		end()
		<-over
	}
	d.hearing.Lock()
	d.shut = true
	d.hearing.Unlock()
}

// Hear finds the door that somebody spoke at.
func (all *Doors) Hear(ctx context.Context, s Said) Reply {
	all.mu.Lock()
	list := slices.Clone(all.list)
	all.mu.Unlock()
	for _, d := range list {
		if s.Press != nil && d.Project == s.Press.Project {
			return d.Hear(ctx, s)
		}
		if s.Press == nil {
			if _, ok, err := d.postAt(ctx, s.Ref); ok || err != nil {
				return d.Hear(ctx, s)
			}
		}
	}
	if s.Press != nil {
		return said("Forge does not know this question. It is of a project that is not worked on here now.")
	}
	return Reply{} // people talk about something else
}
