package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"forge/internal/work"
)

// Travel is what this machine knows of a run that is at a remote.
type Travel struct {
	Remote string // its name in the user's repository
	Tip    string // commit with the run's record that was there last; "" = none yet
	Sent   string // commit that was pushed, or about to be; "" = none
	Claim  string // what this machine claims the run with, or did last
	// Here says that this machine holds the claim: it alone works on the run.
	Here bool
}

// ErrAway is what every *AwayError is.
var ErrAway = errors.New("run is at a remote")

// AwayError is a run that is at a remote and not claimed by this machine:
// another one may take it at any moment. errors.Is(err, ErrAway) holds.
type AwayError struct{ Run, Remote string }

func (e *AwayError) Error() string {
	return fmt.Sprintf("run %s: %v: it rests at %q, where any machine may take it; forge resume %s --remote %s goes on with it here, and forge approve ID --remote %s answers",
		e.Run, ErrAway, e.Remote, e.Run, e.Remote, e.Remote)
}

// Is makes every AwayError an ErrAway.
func (e *AwayError) Is(target error) bool { return target == ErrAway }

// present refuses a run that is at a remote and not here, in the transaction
// that is about to write.
func present(ctx context.Context, w *writer, number int64) error {
	var away AwayError
	err := w.row(ctx, `SELECT r.id, t.remote FROM travels t JOIN runs r ON r.n = t.run WHERE t.run = ? AND t.here = 0`, []any{number}, &away.Run, &away.Remote)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return &away
}

// TravelOf is what is known of a run at a remote; ok is false when it is at
// none. A run that this journal does not have is at none either.
func (s *Store) TravelOf(ctx context.Context, run string) (t Travel, ok bool, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT remote, tip, sent, claim, here FROM travels WHERE run = (SELECT n FROM runs WHERE id = ?) AND remote <> ''`, run).
		Scan(&t.Remote, &t.Tip, &t.Sent, &t.Claim, &t.Here)
	if errors.Is(err, sql.ErrNoRows) {
		return Travel{}, false, nil
	}
	return t, err == nil, s.explain("read where run "+run+" is", err)
}

// SetTravel notes, durably, where a run is. From the moment on in which it is
// not here, nobody of this machine takes it or answers it.
func (s *Store) SetTravel(ctx context.Context, run string, t Travel) error {
	return s.write(ctx, s.durable, "note where run "+run+" is", func(ctx context.Context, w *writer) error {
		var number int64
		switch err := w.row(ctx, `SELECT n FROM runs WHERE id = ?`, []any{run}, &number); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNoRun
		case err != nil:
			return err
		}
		return putTravel(ctx, w, number, t)
	})
}

func putTravel(ctx context.Context, w *writer, number int64, t Travel) error {
	_, err := w.exec(ctx, `INSERT INTO travels (run, remote, tip, sent, claim, here) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (run) DO UPDATE SET remote = excluded.remote, tip = excluded.tip, sent = excluded.sent, claim = excluded.claim, here = excluded.here`,
		number, t.Remote, t.Tip, t.Sent, t.Claim, t.Here)
	return err
}

// DropTravel forgets that a run is at a remote: it is this machine's own again.
// That it came from elsewhere is still known. One that is at none is no error.
func (s *Store) DropTravel(ctx context.Context, run string) error {
	return s.write(ctx, s.durable, "forget where run "+run+" is", func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, `UPDATE travels SET remote = '', tip = '', sent = '', claim = '', here = 1 WHERE run = (SELECT n FROM runs WHERE id = ?)`, run)
		return err
	})
}

// Came says whether a run was opened on another machine, and brought here by
// Import: what it was opened with is then not this machine's.
func (s *Store) Came(ctx context.Context, run string) (yes bool, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM travels WHERE run = (SELECT n FROM runs WHERE id = ?) AND came = 1)`, run).Scan(&yes)
	return yes, s.explain("read where run "+run+" came from", err)
}

// AheadError is a copy of a run that does not lead to the one that came: it
// has events of its own.
type AheadError struct {
	Run  string
	Seq  int64 // the last event that both have
	Here int64 // how many this machine has
	Came int64
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("run %s: this machine has %d events of it and the remote %d, and they are the same up to number %d only: two machines went on with it", e.Run, e.Here, e.Came, e.Seq)
}

// Import makes a journal's copy of a run what a record says, in one durable
// transaction: a run that is not there is made; one that is there must be a
// beginning of it, and is brought up to it. t is noted with it; nil notes
// nothing. The record's blobs are stored before. Nobody may hold the run.
//
//	*AheadError    the copy has events that the record does not have
//	*LeaseError    a process works on the run
//	*DamagedError  an event that this program does not know
func (s *Store) Import(ctx context.Context, r *Record, t *Travel) error {
	for _, e := range r.Events {
		if _, err := s.upcasters.lift(e); err != nil {
			return &DamagedError{Run: r.Run, Seq: e.Seq, What: err.Error()}
		}
	}
	for _, data := range r.Blobs {
		if _, err := s.PutBlob(ctx, data); err != nil {
			return err
		}
	}
	return s.write(ctx, s.durable, "take over run "+r.Run, func(ctx context.Context, w *writer) error {
		number, fresh, err := s.importRun(ctx, w, r)
		if err != nil {
			return err
		}
		if err := importEvents(ctx, w, r, number); err != nil {
			return err
		}
		if err := importRows(ctx, w, r, number); err != nil {
			return err
		}
		if t == nil {
			return nil
		}
		if err := putTravel(ctx, w, number, *t); err != nil || !fresh {
			return err
		}
		_, err = w.exec(ctx, `UPDATE travels SET came = 1 WHERE run = ?`, number)
		return err
	})
}

// importRun makes or updates the row of the run, and fences a former owner.
func (s *Store) importRun(ctx context.Context, w *writer, r *Record) (number int64, fresh bool, err error) {
	var h holder
	err = w.row(ctx, `SELECT n, owner, pid, host, boot, started, heartbeat FROM runs WHERE id = ?`, []any{r.Run}, append([]any{&number}, h.fields()...)...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		fresh = true
		err = w.row(ctx, `INSERT INTO runs (id, created, epoch, project, issue) VALUES (?, ?, 1, ?, ?) RETURNING n`,
			[]any{r.Run, r.Created.UnixNano(), r.Project, r.Issue}, &number)
	case err == nil && s.holds(&h, s.now()):
		err = s.refusal(&h, r.Run)
	}
	if err != nil {
		return 0, false, err
	}
	_, err = w.exec(ctx, `UPDATE runs SET outcome = ?, branch = ?, cost = ?, epoch = epoch + 1, owner = NULL WHERE n = ?`,
		string(r.Outcome), r.Branch, r.CostUSD, number)
	return number, fresh, err
}

// importEvents appends what the copy lacks, when the copy is a beginning.
func importEvents(ctx context.Context, w *writer, r *Record, number int64) error {
	var there int64
	if err := w.row(ctx, `SELECT count(*) FROM events WHERE id > ? AND id < ?`, []any{eventID(number, 0), eventID(number+1, 0)}, &there); err != nil {
		return err
	}
	prev, buf, same := Root(r.Run), []byte(nil), int64(0)
	for _, e := range r.Events {
		prev, buf = link(buf, prev, e)
		if e.Seq <= there {
			var stored []byte
			if err := w.row(ctx, `SELECT hash FROM events WHERE id = ?`, []any{eventID(number, e.Seq)}, &stored); err != nil {
				return err
			}
			if string(stored) != string(prev[:]) {
				return &AheadError{Run: r.Run, Seq: same, Here: there, Came: int64(len(r.Events))}
			}
			same = e.Seq
			continue
		}
		if _, err := w.exec(ctx, insertEvent, eventID(number, e.Seq), e.Time.UnixNano(), string(e.Kind), e.V, e.Phase, e.Iteration, e.Attempt, string(e.Data), prev[:]); err != nil {
			return err
		}
	}
	if there > int64(len(r.Events)) {
		return &AheadError{Run: r.Run, Seq: same, Here: there, Came: int64(len(r.Events))}
	}
	return nil
}

// importRows replaces what is not history.
func importRows(ctx context.Context, w *writer, r *Record, number int64) error {
	for i := range r.Checkpoints {
		c := &r.Checkpoints[i]
		if _, err := w.exec(ctx, `DELETE FROM checkpoints WHERE id = ? AND run = ?`, c.ID, number); err != nil {
			return err
		}
		// Ids begin with the run's, so that none is there of another run.
		if err := openCheckpoint(ctx, w, number, c); err != nil {
			return err
		}
	}
	if _, err := w.exec(ctx, `DELETE FROM inbox WHERE run = ?`, number); err != nil {
		return err
	}
	for _, a := range r.Inbox {
		if err := deliver(ctx, w, number, work.Checkpoint{Revision: a.Revision}, a); err != nil {
			return err
		}
	}
	for _, row := range r.Usage {
		if err := row.put(ctx, w, number); err != nil {
			return err
		}
	}
	return importTalk(ctx, w, r)
}
