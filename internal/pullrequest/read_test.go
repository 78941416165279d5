package pullrequest

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/work"
)

// However much was said in one thread, somebody is told of it: one round takes
// several such threads after each other.
func TestLongThreadsAreTold(t *testing.T) {
	t.Parallel()
	look := work.PullLook{Writers: []string{"ann"}}
	all := 0
	for n := range 3 {
		thread := work.PullThread{ID: fmt.Sprint(n), Path: "a.go", Line: 7}
		for range 900 {
			all++
			thread.Comments = append(thread.Comments, work.PullComment{ID: fmt.Sprint(all), By: "ann", Body: strings.Repeat(fmt.Sprint("word", all, " "), 200)})
		}
		look.Threads = append(look.Threads, thread)
	}
	var heard []string
	for round := 0; len(heard) < all; round++ {
		out := Unheard(look, heard)
		if len(out.Heard) == 0 || len(out.Said) > MostOfRound {
			t.Fatalf("round %d tells %d of %d comments in %d bytes", round, len(out.Heard), all-len(heard), len(out.Said))
		}
		for _, n := range out.Threads {
			thread := look.Threads[int(n[0]-'0')]
			if newest := thread.Comments[len(thread.Comments)-1].Body; !strings.Contains(out.Said, newest[:200]) {
				t.Errorf("round %d does not tell the newest of thread %s", round, n)
			}
		}
		heard = append(heard, out.Heard...)
	}
}
