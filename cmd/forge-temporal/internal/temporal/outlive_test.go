package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/enginetest"
	"forge/orchestrator"
)

// network answers signs of life.
type network struct {
	mu     sync.Mutex
	answer error
}

func (n *network) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.answer
}

func (n *network) is(answer error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = answer
}

// longEffect is one that goes on until it is let go of, or ended.
type longEffect struct {
	engine.Effects
	began, let chan struct{}
}

func (l longEffect) Do(ctx context.Context, e orchestrator.Effect, _ effect.Attending) orchestrator.Fact {
	close(l.began)
	select {
	case <-l.let:
		return orchestrator.Broke{Command: e.Of(), Problem: "it went on"}
	case <-ctx.Done():
		return nil
	}
}

type onePlace struct {
	one
	effects engine.Effects
	notes   string
}

func (p onePlace) Open(ctx context.Context, project, run string) (*Place, error) {
	place, err := p.one.Open(ctx, project, run)
	place.Effects, place.Notes = p.effects, p.notes
	return place, err
}

var (
	errAway  = serviceerror.NewUnavailable("the server is away")
	errNoneE = serviceerror.NewNotFound("no such activity")
)

// outage is an effect that is under way while the server is away for longer than it
// bears silence.
type outage struct {
	t      *testing.T
	net    *network
	effect longEffect
	a      *Activities
	in     DoInput
	done   chan Done
}

const outageBeat = 500 * time.Millisecond

func newOutage(t *testing.T) *outage {
	t.Helper()
	return newOutageFor(t, time.Minute)
}

func newOutageFor(t *testing.T, patience time.Duration) *outage {
	t.Helper()
	w, err := enginetest.NewWorld([]string{"01"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := orchestrator.EncodeEffect(orchestrator.LandEffect{Command: orchestrator.Command{ID: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	o := &outage{t: t, net: &network{}, effect: longEffect{began: make(chan struct{}), let: make(chan struct{})}, done: make(chan Done, 1)}
	o.a = &Activities{Places: onePlace{one{w}, o.effect, t.TempDir()}, Host: "h", Beats: o.net}
	o.in = DoInput{Effect: raw, Mark: "m", Beat: outageBeat, Patience: patience}
	go func() {
		var done Done
		if o.run(o.a.Do, o.in, &done) {
			o.done <- done
		}
	}()
	<-o.effect.began
	return o
}

// run carries an activity out, and says whether it came to a result.
func (o *outage) run(activity, in, out any) bool {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterActivity(activity)
	got, err := env.ExecuteActivity(activity, in)
	if err == nil {
		err = got.Get(out)
	}
	if err != nil {
		o.t.Error(err)
	}
	return err == nil
}

// asks is what the server asks its host once it is back.
func (o *outage) asks(stop bool) (left Left) {
	o.run(o.a.End, EndInput{Left: []engine.Attempt{{Command: "c", Mark: "m"}}, Beat: outageBeat, Patience: time.Minute, Stop: stop}, &left)
	return left
}

func (o *outage) goesOn() bool {
	select {
	case d := <-o.done:
		o.done <- d
		return false
	case <-time.After(2 * outageBeat):
		return true
	}
}

// An effect goes on while the server is away. When it is back and has given the effect
// up, what the effect comes to is waited for, and counts.
func TestAnEffectOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	if o.net.is(errAway); !o.goesOn() {
		t.Fatal("it ended while the server was away")
	}
	if o.net.is(errNoneE); !o.goesOn() {
		t.Fatal("it ended when the server was back")
	}
	o.net.is(nil)
	time.AfterFunc(2*outageBeat, func() { close(o.effect.let) })
	if left := o.asks(false); len(left.Done) != 1 || left.Done[0].Command != "c" || len(left.Done[0].Done.Fact) == 0 {
		t.Errorf("it came to %+v", left)
	}
	// The server may ask once more, since it lost the answer.
	if left := o.asks(false); len(left.Done) != 1 || len(left.Done[0].Done.Fact) == 0 {
		t.Errorf("asked again, it came to %+v", left)
	}
}

// Another process of the host may be the one that is asked.
func TestAnEffectOfAnotherProcessIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(o *outage){
		"it works on": func(o *outage) { time.AfterFunc(8*outageBeat, func() { close(o.effect.let) }) },
		"it ended":    func(o *outage) { close(o.effect.let); <-o.done },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutageFor(t, outageBeat)
			o.net.is(errAway)
			work(o)
			time.Sleep(2 * outageBeat)
			other := outage{t: t, a: &Activities{Places: o.a.Places, Host: "h", Beats: &network{}}}
			o.net.is(errNoneE) // who carries it out is not asked for any more
			if left := other.asks(false); len(left.Done) != 1 || len(left.Done[0].Done.Fact) == 0 {
				t.Errorf("it came to %+v", left)
			}
		})
	}
}

// One that died, is frozen, or is to end is not waited for.
func TestAnEffectOfADeadProcessIsNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	frozen, err := takeNote(dir, "frozen", outageBeat)
	if err != nil {
		t.Fatal(err)
	}
	frozen.stop()
	dead, err := takeNote(dir, "dead", outageBeat)
	if err != nil {
		t.Fatal(err)
	}
	dead.ends(Done{}, errors.New("cut off"))
	if err := os.Chtimes(filepath.Join(dir, "frozen"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	for mark, want := range map[string]error{"frozen": errFrozen, "dead": nil, "none": nil} {
		if done, ok, err := noteOf(dir, mark, outageBeat, nil); ok || !errors.Is(err, want) && mark == "frozen" {
			t.Errorf("%s: %+v, %v", mark, done, err)
		}
	}
	o := newOutage(t)
	other := outage{t: t, a: &Activities{Places: o.a.Places, Host: "h", Beats: o.net}}
	if left := other.asks(true); len(left.Done) != 0 {
		t.Errorf("one that is to end came to %+v", left)
	}
	close(o.effect.let)
	<-o.done
}

// What ended while the server was away is not done again either.
func TestAResultOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.net.is(errAway)
	close(o.effect.let)
	<-o.done
	if left := o.asks(false); len(left.Done) != 1 || len(left.Done[0].Done.Fact) == 0 {
		t.Errorf("it came to %+v", left)
	}
}

// An effect that is to end ends, before and after an outage, and so does one that the
// server, which was never away, does not know.
func TestAnEffectEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(o *outage){
		"cancelled": func(o *outage) { o.net.is(temporal.NewCanceledError()) },
		"cancelled after an outage": func(o *outage) {
			o.net.is(errAway)
			time.Sleep(2 * outageBeat)
			o.net.is(temporal.NewCanceledError())
		},
		"unknown": func(o *outage) { o.net.is(errNoneE) },
		"called off while it is waited for": func(o *outage) {
			o.net.is(errAway)
			time.Sleep(2 * outageBeat)
			o.net.is(errNoneE)
			time.Sleep(outageBeat)
			o.net.is(nil)
			time.AfterFunc(outageBeat, func() { o.net.is(temporal.NewCanceledError()) })
			o.asks(false)
		},
		"ended by its mark": func(o *outage) {
			o.net.is(errAway)
			if left := o.asks(true); len(left.Done) != 1 || len(left.Done[0].Done.Fact) != 0 {
				o.t.Errorf("it came to %+v", left)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutage(t)
			end(o)
			select {
			case d := <-o.done:
				if len(d.Fact) != 0 {
					t.Errorf("it came to %s", d.Fact)
				}
			case <-time.After(20 * time.Second):
				t.Error("it goes on")
			}
		})
	}
}

// What nobody asks for is not worked on for ever: somebody else has it.
func TestAnEffectThatNobodyAsksForEnds(t *testing.T) {
	t.Parallel()
	o := newOutageFor(t, outageBeat)
	o.net.is(errAway)
	time.Sleep(2 * outageBeat)
	o.net.is(errNoneE)
	select {
	case d := <-o.done:
		if len(d.Fact) != 0 {
			t.Errorf("it came to %s", d.Fact)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}

// An effect that panics fails, and takes nobody along.
func TestAnEffectThatPanicsFails(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	close(o.effect.let)
	<-o.done
	a := &Activities{Places: onePlace{o.a.Places.(onePlace).one, nil, ""}, Host: "h", Beats: o.net}
	in := o.in
	in.Mark = "other"
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.Do)
	_, err := env.ExecuteActivity(a.Do, in)
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		t.Errorf("it came to %v", err)
	}
}
