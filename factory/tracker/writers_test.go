package tracker

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// Everybody whose word may count is asked about once, in the order in which they
// spoke; whoever could not be asked about is no writer, and no reader either.
func TestAskWriters(t *testing.T) {
	reading := func() *Reading {
		return &Reading{
			Events:   []Event{{Kind: Renamed, By: "renames"}, {Kind: Labelled, By: "ann"}, {Kind: Reopened, By: "bob"}, {Kind: Labelled, By: ""}},
			Comments: []Comment{{By: "ann"}, {By: "carl"}, {By: ""}, {By: "dora"}},
			Writers:  map[string]bool{"dora": true},
		}
	}
	away := errors.New("away")
	for _, tt := range []struct {
		fails string
		asked []string
		want  map[string]bool
	}{
		{"", []string{"ann", "bob", "carl"}, map[string]bool{"ann": true, "bob": false, "carl": false, "dora": true}},
		{"bob", []string{"ann", "bob"}, map[string]bool{"ann": true, "dora": true}},
		{"carl", []string{"ann", "bob", "carl"}, map[string]bool{"ann": true, "bob": false, "dora": true}},
	} {
		var asked []string
		r := reading()
		err := r.AskWriters(func(who string) (bool, error) {
			asked = append(asked, who)
			if who == tt.fails {
				return true, away
			}
			return who == "ann", nil
		})
		if errors.Is(err, away) != (tt.fails != "") {
			t.Errorf("%q fails: error %v", tt.fails, err)
		}
		if !slices.Equal(asked, tt.asked) || !maps.Equal(r.Writers, tt.want) {
			t.Errorf("%q fails: asked %q, want %q; writers %v, want %v", tt.fails, asked, tt.asked, r.Writers, tt.want)
		}
	}
}
