package journal

import (
	"context"
	"database/sql"
	"errors"

	"forge/internal/work"
)

const selectPosts = `SELECT place, subject, ref, shown, over, at FROM posts WHERE place = ?`

func scanPost(rows *sql.Rows) (p work.Post, err error) {
	var at int64
	err = rows.Scan(&p.Place, &p.Subject, &p.Ref, &p.Shown, &p.Over, &at)
	p.At = fromNano(at)
	return p, err
}

// OpenPosts are the messages at a place that do not say yet how it ended, by
// subject.
func (s *Store) OpenPosts(ctx context.Context, place string) (list []work.Post, err error) {
	err = s.each(ctx, selectPosts+` AND over = 0 ORDER BY subject`, []any{place}, func(rows *sql.Rows) error {
		p, err := scanPost(rows)
		list = append(list, p)
		return err
	})
	return list, s.explain("read posts", err)
}

// PostOf is the message at a place about a subject; ok is false where there is
// none, and none is to be.
func (s *Store) PostOf(ctx context.Context, place, subject string) (p work.Post, ok bool, err error) {
	return s.onePost(ctx, ` AND subject = ?`, place, subject)
}

// PostAt is the message that a place knows by ref; ok is false where it is not
// Forge's, or not known to be.
func (s *Store) PostAt(ctx context.Context, place, ref string) (p work.Post, ok bool, err error) {
	if ref == "" {
		return p, false, nil // those have none that nobody knows of
	}
	return s.onePost(ctx, ` AND ref = ?`, place, ref)
}

func (s *Store) onePost(ctx context.Context, which, place, word string) (p work.Post, ok bool, err error) {
	err = s.each(ctx, selectPosts+which, []any{place, word}, func(rows *sql.Rows) (err error) {
		p, err = scanPost(rows)
		ok = true
		return err
	})
	return p, ok, s.explain("read posts", err)
}

// BeginPost notes durably that a message is about to be posted. first is false
// where that was noted before, and the message of then is returned.
func (s *Store) BeginPost(ctx context.Context, place, subject string) (p work.Post, first bool, err error) {
	if place == "" || subject == "" {
		return p, false, errors.New("note a post: it has no place or no subject")
	}
	err = s.write(ctx, s.durable, "note a post", func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `INSERT INTO posts (place, subject, ref, shown, over, at) VALUES (?, ?, '', '', 0, ?) ON CONFLICT DO NOTHING`,
			place, subject, s.now().UnixNano())
		first = n == 1
		return err
	})
	if err != nil {
		return p, false, err
	}
	p, _, err = s.PostOf(ctx, place, subject)
	return p, first, err
}

// KeepPost remembers durably what became of a message that was begun.
func (s *Store) KeepPost(ctx context.Context, p work.Post) error {
	return s.write(ctx, s.durable, "remember a post", func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `UPDATE posts SET ref = ?, shown = ?, over = ? WHERE place = ? AND subject = ?`, p.Ref, p.Shown, p.Over, p.Place, p.Subject)
		if err == nil && n != 1 {
			err = errors.New("it was not begun")
		}
		return err
	})
}
