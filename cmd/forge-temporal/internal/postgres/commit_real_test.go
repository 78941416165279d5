//go:build real

package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"forge/cmd/forge-temporal/internal/postgres"
	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/journal"
)

// What is told together with the end of a transaction is committed as a whole, or its first
// fault is said and nothing of it is.
func TestRealCommitIsOfAllOrNothing(t *testing.T) {
	server, err := postgres.New("TEST_URL", pgtest.Start(t).Schema(t), time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool := server.Pool(1, false)
	defer pool.Close()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	put := func(id string, n any) journal.Statement {
		return journal.Statement{Query: `INSERT INTO writers (id, n, at) VALUES (?, ?, 1)`, Args: []any{id, n}}
	}
	for _, c := range []struct {
		name string
		last []journal.Statement
		want string // error
		rows int
	}{
		{"nothing", nil, "", 0},
		{"all", []journal.Statement{put("a\x00", true), put("b", 2)}, "", 2},
		{"one that is there", []journal.Statement{put("c", 1), put("c", 2), put("d", 3)}, "duplicate key", 2},
		{"one that is no SQL", []journal.Statement{put("e", 1), {Query: `INSERT INTO nowhere VALUES (1)`}}, "nowhere", 2},
	} {
		begun, err := server.Begin(t.Context(), conn, 7)
		if err != nil {
			t.Fatal(err)
		}
		err = server.Commit(t.Context(), conn, c.last)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil {
			if _, err := conn.ExecContext(t.Context(), `ROLLBACK`); err != nil {
				t.Fatal(err)
			}
		}
		if committed, err := server.Committed(context.Background(), begun.ID); err != nil || committed != (c.want == "") {
			t.Errorf("%s: committed %v, %v", c.name, committed, err)
		}
		var rows int
		if err := conn.QueryRowContext(t.Context(), `SELECT count(*) FROM writers WHERE at = 1`).Scan(&rows); err != nil || rows != c.rows {
			t.Errorf("%s: %d rows, %v, want %d", c.name, rows, err, c.rows)
		}
	}
}
