package journal

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"forge/internal/work"
)

// Export is the record of a run, verified as Replay does. The caller holds the
// run's lease or knows otherwise that nobody appends.
func (s *Store) Export(ctx context.Context, run string) (*Record, error) {
	r, err := s.export(ctx, run)
	return r, s.explain("export run "+run, err)
}

func (s *Store) export(ctx context.Context, run string) (*Record, error) {
	row, err := s.RunOf(ctx, run)
	if err != nil {
		return nil, err
	}
	r := &Record{Run: run, Created: row.Created, Status: row.Status, Project: row.Project, Issue: row.Issue, Blobs: map[string][]byte{}, Refs: map[string]string{}}
	if r.Events, err = s.storedEvents(ctx, run); err != nil {
		return nil, err
	}
	for after := ""; ; {
		page, err := s.Checkpoints(ctx, CheckpointFilter{Run: run}, 1000, after)
		if err != nil {
			return nil, err
		}
		if r.Checkpoints = append(r.Checkpoints, page...); len(page) < 1000 {
			break
		}
		after = page[len(page)-1].ID
	}
	inbox, err := s.inbox(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, in := range inbox {
		r.Inbox = append(r.Inbox, in.Answer)
	}
	if r.Usage, err = s.usageOf(ctx, run); err != nil {
		return nil, err
	}
	if r.Talk, err = s.Talk(ctx, run); err != nil {
		return nil, err
	}
	return r, s.namedBlobs(ctx, r)
}

// storedEvents are the events as they were written, each held against the
// chain.
func (s *Store) storedEvents(ctx context.Context, run string) ([]work.Event, error) {
	// Replay finds gaps, cut ends and versions that nobody reads.
	for _, err := range s.Replay(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
	}
	number, err := s.number(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.QueryContext(ctx, selectEvents, eventID(number, 0), eventID(number+1, 0), math.MaxInt64)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []work.Event
	for rows.Next() {
		e := work.Event{Run: run}
		var id, nanos int64
		var data string
		var hash []byte
		if err := rows.Scan(&id, &nanos, &e.Kind, &e.V, &e.Phase, &e.Iteration, &e.Attempt, &data, &hash); err != nil {
			return nil, err
		}
		e.Seq, e.Time, e.Data = id-eventID(number, 0), fromNano(nanos), []byte(data)
		all = append(all, e)
	}
	return all, rows.Err()
}

func (s *Store) usageOf(ctx context.Context, run string) ([]UsageRow, error) {
	number, err := s.number(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.QueryContext(ctx, `SELECT command, day, usd, tokens FROM usage WHERE run = ? ORDER BY command`, number)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []UsageRow
	for rows.Next() {
		row := UsageRow{Run: run}
		var command, day string
		var usd sql.NullFloat64
		var tokens sql.NullInt64
		if err := rows.Scan(&command, &day, &usd, &tokens); err != nil {
			return nil, err
		}
		row.Command = work.CommandID(command)
		if row.Time, err = time.Parse(time.DateOnly, day); err != nil {
			return nil, &BrokenError{File: s.path, Run: run, What: "a day of its usage cannot be read", Err: err}
		}
		if usd.Valid {
			row.USD = &usd.Float64
		}
		if tokens.Valid {
			row.Tokens = &tokens.Int64
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// namedBlobs adds the blobs that the record names: every sha256 in its events
// and checkpoints under which something is stored. Other hashes look the same
// and name nothing.
func (s *Store) namedBlobs(ctx context.Context, r *Record) error {
	take := func(sha string) error {
		if _, seen := r.Blobs[sha]; seen {
			return nil
		}
		data, err := s.Blob(ctx, sha)
		var broken *BrokenError
		switch {
		case errors.As(err, &broken) && broken.Err != nil: // there is none of that name
			return nil
		case err != nil:
			return err
		}
		r.Blobs[sha] = data
		return nil
	}
	for _, e := range r.Events {
		for _, sha := range hashesIn(e.Data) {
			if err := take(sha); err != nil {
				return err
			}
		}
	}
	for _, c := range r.Checkpoints {
		for _, edit := range c.Edits {
			if edit.Blob == "" {
				continue
			}
			if err := take(edit.Blob); err != nil {
				return fmt.Errorf("edit of %s at checkpoint %s: %w", edit.Path, c.ID, err)
			}
		}
	}
	return nil
}

// hashesIn are the quoted texts in data that have the form of a sha256.
func hashesIn(data []byte) []string {
	const long = 64
	var found []string
	for i := 0; i+long+1 < len(data); i++ {
		if data[i] != '"' || data[i+long+1] != '"' {
			continue
		}
		if _, err := hex.DecodeString(string(data[i+1 : i+1+long])); err == nil {
			found = append(found, string(data[i+1:i+1+long]))
		}
	}
	return found
}
