package door

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

const (
	// lookEvery is how often the journal is asked whether anything happened.
	lookEvery = 500 * time.Millisecond
	// passEvery is how often all is looked at although nothing happened: a process
	// that dies, and time that is over, write nothing.
	passEvery = 30 * time.Second
	// lastWait is how long what is still to be posted may take at the end.
	lastWait = 10 * time.Second
	// clocksApart is how far the place's clock and ours may be apart.
	clocksApart = 10 * time.Minute
)

// People says who somebody is whom a place knows by id; ok is false for one whom
// nobody named.
type People func(id string) (who web.Person, ok bool, err error)

// Config is what a door is made of.
type Config struct {
	Name    string // stands with answers: "slack"
	Project string // of the board
	Place   Place
	People  People
	Pages   string // address of the factory's pages, "" = not known
}

// Door is a place where people are asked about one project.
type Door struct {
	Config
	p     *project.Checkout
	clean func(string) string

	hearing sync.Mutex      // one thing that was said at a time
	shut    bool            // nothing is heard any more
	told    map[string]bool // messages whose senders know what became of them

	// What follows belongs to the goroutine of Loop.
	made    map[string]madeOf // what the card of a subject was made of last
	untaken map[string]string // subject → hash of a card that the place does not take
	sure    map[string]bool   // subjects that are surely not posted yet
	said    string            // the last trouble that was said
}

// madeOf is all that the card of a pending question depends on.
type madeOf struct {
	revision int
	over     bool
}

// New is a door to a project whose journal is open.
func New(p *project.Checkout, c Config) *Door {
	d := &Door{Config: c, p: p, made: map[string]madeOf{}, untaken: map[string]string{}, sure: map[string]bool{}, told: map[string]bool{}}
	d.clean = redact.New(redact.FromEnv(p.Environ, proc.SecretName)).String
	return d
}

// Loop keeps what stands at the place as it is now, until ctx ends. What is due
// then is still posted.
func (d *Door) Loop(ctx context.Context) {
	// Whoever did this meanwhile knows nothing of what was known here.
	d.made, d.untaken, d.sure = map[string]madeOf{}, map[string]string{}, map[string]bool{}
	watch := d.p.Journal.Watch()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var again time.Time // when the next pass is due though nothing happened
	var quiet time.Time // the place asks for silence until then
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), factory.ErrNotLeading) {
				return // another process may be at it
			}
			last, done := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
			defer done()
			if now := d.p.Now(); !now.Before(quiet) {
				_ = d.Pass(last) // what is not posted now is posted by the next process
			}
			return
		case <-look.C:
		}
		now := d.p.Now()
		changed, err := watch.Changed(ctx)
		if changed {
			again = time.Time{} // also what is put off for now is not forgotten
		}
		if err != nil || now.Before(quiet) || now.Before(again) {
			continue
		}
		again = now.Add(passEvery)
		if err := d.Pass(ctx); err != nil {
			quiet = now.Add(d.trouble(ctx, err))
			again = time.Time{}
		} else if d.said != "" {
			d.said = ""
			d.p.Log.Info("people are asked there again", "place", d.Place.Key())
		}
	}
}

// trouble says once what keeps people from being asked, and when it is tried again.
func (d *Door) trouble(ctx context.Context, err error) time.Duration {
	wait := 2 * time.Second
	var t *Trouble
	if errors.As(err, &t) {
		wait = max(wait, t.After)
		if t.All && t.After == 0 && t.Sure {
			wait = time.Minute // somebody has to mend it
		}
	}
	if words := d.clean(err.Error()); words != d.said && ctx.Err() == nil {
		d.said = words
		d.p.Log.Warn("people are not asked there; it is tried again", "place", d.Place.Key(), "err", words)
	}
	return wait
}

// Pass lets the place show all questions and runs once as they are now. It returns
// what keeps it from going on; what one message alone stumbles over is said.
func (d *Door) Pass(ctx context.Context) error {
	open, err := d.pending(ctx)
	if err != nil {
		return err
	}
	asks, wanted := map[string]int{}, map[string]bool{}
	for _, cp := range open {
		asks[cp.Run]++
		wanted[questionSubject+cp.ID] = true
	}
	rows, err := d.p.Journal.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Events == 0 || !project.Driven(row) && asks[row.ID] == 0 {
			continue
		}
		wanted[runSubject+row.ID] = true
		if err := d.show(ctx, d.run(ctx, row, asks[row.ID]), false); err != nil {
			return err
		}
	}
	for _, cp := range open {
		if err := d.ask(ctx, cp); err != nil {
			return err
		}
	}
	return d.settle(ctx, wanted)
}

// pending are the open questions that people are told of, the oldest first.
func (d *Door) pending(ctx context.Context) ([]work.Checkpoint, error) {
	all, err := approval.Checkpoints(ctx, d.p, journal.CheckpointFilter{Status: work.CheckpointPending})
	var out []work.Checkpoint
	for _, cp := range all {
		points := []gates.Point{gates.Point(cp.Kind)}
		for _, pt := range cp.Points {
			points = append(points, gates.Point(pt))
		}
		if gates.Pushes(points, false) {
			out = append(out, cp)
		}
	}
	return out, err
}

// ask shows an open question. Its card is made where it may have changed: that
// takes reading the run.
func (d *Door) ask(ctx context.Context, cp work.Checkpoint) error {
	_, over := gates.Expire(cp, d.p.Now())
	now, subject := madeOf{cp.Revision, over}, questionSubject+cp.ID
	if d.made[subject] == now {
		return nil
	}
	if err := d.show(ctx, d.question(ctx, cp), false); err != nil {
		return err
	}
	d.made[subject] = now
	return nil
}

// settle lets what does not wait any more say how it ended.
func (d *Door) settle(ctx context.Context, wanted map[string]bool) error {
	posts, err := d.p.Journal.OpenPosts(ctx, d.Place.Key())
	if err != nil {
		return err
	}
	for _, p := range posts {
		if wanted[p.Subject] {
			continue
		}
		delete(d.made, p.Subject)
		if id, ok := strings.CutPrefix(p.Subject, questionSubject); ok {
			cp, err := approval.Exact(ctx, d.p, id)
			if err != nil || cp.Status == work.CheckpointPending {
				continue // its run was reset: what becomes of it is not known
			}
			if err := d.show(ctx, d.question(ctx, cp), true); err != nil {
				return err
			}
		}
		if id, ok := strings.CutPrefix(p.Subject, runSubject); ok {
			row, err := d.p.Journal.RunOf(ctx, id)
			if err != nil {
				continue
			}
			if err := d.show(ctx, d.run(ctx, row, 0), row.Outcome.Final()); err != nil {
				return err
			}
		}
	}
	return nil
}

// show lets the message of a card's subject say what the card says: posted once,
// edited from then on. over = it is not looked at again. What was to be posted by a
// process that died is looked for before it is posted.
func (d *Door) show(ctx context.Context, c Card, over bool) error {
	hash := c.hash()
	first := false
	post, known, err := d.p.Journal.PostOf(ctx, d.Place.Key(), c.Subject)
	if err == nil && !known {
		post, first, err = d.p.Journal.BeginPost(ctx, d.Place.Key(), c.Subject)
	}
	if err != nil || post.Over {
		return err
	}
	if post.Ref == "" && !first && !d.sure[c.Subject] {
		if post.Ref, err = d.Place.Find(ctx, c.Subject, post.At.Add(-clocksApart)); err != nil {
			return err
		}
	}
	switch {
	case post.Ref != "" && post.Shown == hash:
	case d.untaken[c.Subject] == hash:
		return nil
	case post.Ref != "":
		err = d.Place.Edit(ctx, post.Ref, c)
	case over:
		// It was never posted, and there is nothing left to ask.
	default:
		post.Ref, err = d.Place.Post(ctx, c)
	}
	if err != nil {
		if over, err = d.after(c, hash, err); !over {
			return err
		}
	}
	if post.Shown == hash && post.Over == over {
		return nil
	}
	delete(d.sure, c.Subject)
	delete(d.untaken, c.Subject)
	post.Shown, post.Over = hash, over
	return d.p.Journal.KeepPost(ctx, post)
}

// after is what follows of what the place said to a card: an error where the others
// would go the same way, and gone where there is nothing left to be shown.
func (d *Door) after(c Card, hash string, err error) (gone bool, _ error) {
	var t *Trouble
	if !errors.As(err, &t) {
		return false, err
	}
	d.sure[c.Subject] = t.Sure
	switch {
	case t.Gone:
		d.p.Log.Warn("a message is not there any more: it is not posted again", "about", c.Subject, "place", d.Place.Key())
		return true, nil
	case t.All || !t.Sure:
		return false, err
	}
	d.untaken[c.Subject] = hash
	d.p.Log.Warn("the place does not take a message; answer on the page or by forge show", "about", c.Subject, "err", text.OneLine(d.clean(err.Error()), 300))
	return false, nil
}
