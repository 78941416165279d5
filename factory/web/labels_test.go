package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
)

// A label that says how freely an issue is worked on is an admin's to give or take;
// other labels are anybody's who may edit.
func TestMappedLabelsAreAnAdmins(t *testing.T) {
	p := Project{LabelsSay: func(_ context.Context, labels []string) ([]string, error) {
		if slices.Contains(labels, "full") {
			return []string{"full: level full"}, nil
		}
		return nil, nil
	}}
	for name, c := range map[string]struct {
		was, now       []string
		admin, refused bool
	}{
		"given":             {nil, []string{"full"}, false, true},
		"taken":             {[]string{"full"}, nil, false, true},
		"given by an admin": {nil, []string{"full"}, true, false},
		"kept":              {[]string{"full"}, []string{"full", "bug"}, false, false},
		"another":           {nil, []string{"bug"}, false, false},
	} {
		err := p.MayLabel(t.Context(), c.was, c.now, c.admin)
		var no *Complaint
		if errors.As(err, &no) != c.refused || c.refused && no.Status != http.StatusForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.LabelsSay = func(context.Context, []string) ([]string, error) { return nil, errors.New("broken") }
	if err := p.MayLabel(t.Context(), nil, []string{"x"}, false); err == nil {
		t.Error("what labels say cannot be read, and they may be given")
	}
}
