package gates

import "testing"

func TestPushes(t *testing.T) {
	for _, tt := range []struct {
		points  []Point
		clarify bool
		want    bool
	}{
		{points: []Point{PointIntent}, want: false},
		{points: []Point{PointContext}, want: false},
		{points: []Point{PointIntent, PointContext}, want: false},
		{points: []Point{PointAction}, want: true},
		{points: []Point{PointIntent, PointAction}, want: true},
		{points: []Point{PointIntent}, clarify: true, want: true},
		{points: []Point{PointFinal, PointFinalOutput}, want: true},
		{points: []Point{PointStale}, want: true},
		{points: []Point{"redirect"}, want: true},
		{points: []Point{"post_review"}, want: true},
		{points: []Point{"cleanup"}, want: true},
		{points: []Point{"something new"}, want: true},
		{want: true},
	} {
		if got := Pushes(tt.points, tt.clarify); got != tt.want {
			t.Errorf("Pushes(%v, %v) = %v", tt.points, tt.clarify, got)
		}
	}
	for _, pt := range Points() {
		if got, want := Pushes([]Point{pt}, false), pt != PointIntent && pt != PointContext; got != want {
			t.Errorf("Pushes(%s) = %v", pt, got)
		}
	}
}
