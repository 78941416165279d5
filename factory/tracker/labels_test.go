package tracker

import (
	"slices"
	"testing"
)

// A label counts where somebody gave it who may write, and where that is known.
func TestLabelsOfOutsidersDoNotCount(t *testing.T) {
	mapped := []string{"full", "large"}
	for name, c := range map[string]struct {
		labels []string
		events []Event
		want   []string
	}{
		"by a writer":                     {[]string{"LARGE"}, []Event{{Kind: Labelled, By: "writer", Label: "large"}}, []string{"large"}},
		"by its author":                   {[]string{"full"}, []Event{{Kind: Labelled, By: "reader", Label: "full"}}, nil},
		"nobody knows by whom":            {[]string{"full"}, []Event{{Kind: Labelled, Label: "full"}}, nil},
		"nobody knows since when":         {[]string{"full"}, nil, nil},
		"by somebody nobody could ask of": {[]string{"full"}, []Event{{Kind: Labelled, By: "gone", Label: "full"}}, nil},
		"taken away, and given by its author": {[]string{"full"}, []Event{
			{Kind: Labelled, By: "writer", Label: "full"}, {Kind: Unlabelled, By: "writer", Label: "full"}, {Kind: Labelled, By: "reader", Label: "full"},
		}, nil},
		"taken away":         {nil, []Event{{Kind: Labelled, By: "writer", Label: "full"}}, nil},
		"that nobody mapped": {[]string{"bug"}, []Event{{Kind: Labelled, By: "writer", Label: "bug"}}, nil},
	} {
		r := labelled()
		r.Labels, r.Events = append(r.Labels, c.labels...), append(r.Events, c.events...)
		if got := given(r, mapped); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q count, want %q", name, got, c.want)
		}
	}
	if got := withLabels([]string{"Full", "mine"}, mapped, []string{"large"}); !slices.Equal(got, []string{"large", "mine"}) {
		t.Errorf("a card with labels of its own has %q", got)
	}
}
