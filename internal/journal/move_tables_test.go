package journal

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
)

// A table that a move does not know would stay behind without a word.
func TestMoveKnowsEveryTable(t *testing.T) {
	s := openIn(t, t.TempDir())
	var known, made []string
	for _, one := range tables {
		known = append(known, one.name)
	}
	// The version that each journal has of its own, and the processes that serve a
	// board or lead, under which nothing is moved.
	known = append(known, "meta", "servers", "leaders")
	err := s.each(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table'`, nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if !strings.HasPrefix(name, "sqlite_") {
			made = append(made, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(known)
	slices.Sort(made)
	if !slices.Equal(known, made) {
		t.Errorf("a journal has the tables %q, and a move knows %q", made, known)
	}
}
