package pace

import "testing"

// Each test is played by one of the three ways at least, and a slow one by just one.
func TestLeft(t *testing.T) {
	for _, slow := range []bool{false, true} {
		for _, sequential := range []bool{false, true} {
			for way, want := range map[string]bool{"": false, "short": slow, "long": false} {
				t.Setenv("FORGE_PACE", way)
				if Race {
					want = sequential
				}
				if got := Left(slow, sequential); got != want {
					t.Errorf("%q leaves it %v of slow %v, sequential %v", way, got, slow, sequential)
				}
				if want = want || way == "long" && !(slow && sequential); LeftButLong(slow, sequential) != want {
					t.Errorf("%q leaves it %v of many, slow %v, sequential %v", way, !want, slow, sequential)
				}
			}
		}
	}
}

func TestSlowIsLeft(t *testing.T) {
	for way, want := range map[string]bool{"": false, "short": !Race} {
		t.Run(way, func(t *testing.T) {
			t.Setenv("FORGE_PACE", way)
			defer func() {
				if t.Skipped() != want {
					t.Errorf("skipped: %v", t.Skipped())
				}
			}()
			Slow(t, "a reason")
		})
	}
}

func TestSoakIsLeft(t *testing.T) {
	for way, want := range map[string]bool{"": true, "short": true, "long": true, "soak": false} {
		t.Run(way, func(t *testing.T) {
			t.Setenv("FORGE_PACE", way)
			defer func() {
				if t.Skipped() != want {
					t.Errorf("skipped: %v", t.Skipped())
				}
			}()
			Soak(t, "a reason")
		})
	}
}
