package postgres

import (
	"testing"
	"unicode/utf8"
)

func TestTranslated(t *testing.T) {
	var s Server
	for query, want := range map[string]string{
		`SELECT n FROM runs WHERE id = ?`:                          `SELECT n FROM runs WHERE id = $1`,
		`VALUES (?, ?, ?)`:                                         `VALUES ($1, $2, $3)`,
		`WHERE a = ?2 AND b = ?1 OR c = ?10`:                       `WHERE a = $2 AND b = $1 OR c = $10`,
		`SET rank = '.' || ? WHERE x = '?'`:                        `SET rank = '.' || $1 WHERE x = '?'`,
		`FROM json_each(?) asked CROSS JOIN issues i ON i.id = ?`:  `FROM json_array_elements_text($1::text::json) asked(value) JOIN issues i ON i.id = $2`,
		`title LIKE ? ESCAPE '\'`:                                  `title ILIKE $1 ESCAPE '\'`,
		`i.record ->> 'run' = r.id`:                                `i.record::json ->> 'run' = r.id`,
		`SELECT n.id FROM n WHERE (?3 = '' OR rank < ?3) LIMIT ?4`: `SELECT n.id FROM n WHERE ($3 = '' OR rank < $3) LIMIT $4`,
	} {
		if got := s.translated(query); got != want {
			t.Errorf("%s\n\tis %s\n\twant %s", query, got, want)
		}
	}
}

// Every text comes back as it was, and what is stored is a text of Postgres.
func FuzzStorable(f *testing.F) {
	for _, text := range []string{"", "plain", "a\x00b", "\xff", "␀", "␀00", "\xe2\x90", "ä\x00␀\xfe", "␀zz"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		put := storable(text)
		if !utf8.ValidString(put) {
			t.Fatalf("%q is stored as %q, which is no UTF-8", text, put)
		}
		for _, r := range put {
			if r == 0 {
				t.Fatalf("%q is stored as %q, with a zero", text, put)
			}
		}
		if got := stored(put); got != text {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}
