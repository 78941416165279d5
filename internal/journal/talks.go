package journal

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// MaxTalkLine is how much a line of a conversation may hold, in bytes.
const MaxTalkLine = 1 << 20

// Talk is a conversation with the companion, the oldest line first. One that
// nobody began has none.
func (s *Store) Talk(ctx context.Context, about string) (lines []work.TalkLine, err error) {
	err = s.each(ctx, `SELECT n, at, data FROM talks WHERE about = ? ORDER BY n`, []any{about}, func(rows *sql.Rows) error {
		var l work.TalkLine
		var at int64
		var data string
		if err := rows.Scan(&l.N, &at, &data); err != nil {
			return err
		}
		l.At, l.Data = fromNano(at), json.RawMessage(data)
		lines = append(lines, l)
		return nil
	})
	return lines, s.explain("read a conversation", err)
}

// AddTalk adds a line to a conversation whose last one has the number after,
// durably: work.ErrStale when somebody added one since, and then nothing is
// written.
func (s *Store) AddTalk(ctx context.Context, about string, after int64, at time.Time, data json.RawMessage) error {
	if about == "" || !json.Valid(data) || len(data) > MaxTalkLine {
		return errors.New("add to a conversation: it has no name, or the line is no JSON or too long")
	}
	return s.write(ctx, s.durable, "add to a conversation", func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `INSERT INTO talks (about, n, at, data) SELECT ?1, ?2 + 1, ?3, ?4
			WHERE (SELECT coalesce(max(n), 0) FROM talks WHERE about = ?1) = ?2`, about, after, at.UnixNano(), string(data))
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: somebody else said something meanwhile", work.ErrStale)
		}
		return err
	})
}

// importTalk adds what is said of a run elsewhere and not here. Where both said
// something, what is here stays.
func importTalk(ctx context.Context, w *writer, r *Record) error {
	for _, l := range r.Talk {
		var line bytes.Buffer // a record's files are indented
		if err := json.Compact(&line, l.Data); err != nil {
			return err
		}
		if _, err := w.exec(ctx, `INSERT INTO talks (about, n, at, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, r.Run, l.N, l.At.UnixNano(), line.String()); err != nil {
			return err
		}
	}
	return nil
}

// checkTalk says what is wrong with a conversation of a record.
func checkTalk(lines []work.TalkLine) error {
	for i, l := range lines {
		if l.N != int64(i+1) || !storable(l.At) || !json.Valid(l.Data) || len(l.Data) > MaxTalkLine {
			return fmt.Errorf("line %d of its conversation is none", i+1)
		}
	}
	_, err := work.TalkOf("", lines)
	return err
}
