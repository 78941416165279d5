package proc

import (
	"math/rand/v2"
	"os"
	"testing"
)

// The kernel's numbering, played through: whatever was started after the root
// is in the window, unless there is none.
func TestWindow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	with, without, around := 0, 0, 0
	for range 3000 {
		numbers := 40 + rng.IntN(200)
		alive := map[int]bool{}
		last := rng.IntN(numbers)
		fork := func() int {
			for {
				if last++; last >= numbers {
					last = 1
				}
				if !alive[last] {
					alive[last] = true
					return last
				}
			}
		}
		for range rng.IntN(20) {
			fork()
		}
		root := fork()
		tasks := len(alive)
		forks := rng.IntN(numbers)
		var born []int
		for range forks {
			if len(alive) > 30 { // one ends that is not the root
				for pid := range alive {
					if pid != root {
						delete(alive, pid)
						break
					}
				}
			}
			born = append(born, fork())
		}
		w := window(root, last, tasks, forks, numbers)
		if w == nil {
			without++
			continue
		}
		with++
		if last < root {
			around++
		}
		for _, pid := range born {
			if !w.has(pid) {
				t.Fatalf("%d was born after %d, with %d numbers and %d as the last, and is not in %+v", pid, root, numbers, last, *w)
			}
		}
	}
	if with < 300 || without < 300 || around < 30 {
		t.Errorf("played %d with a window, %d without, %d around the end", with, without, around)
	}
}

func TestReadBirth(t *testing.T) {
	t.Parallel()
	before := readBirth()
	r, _ := run(t, child(t, "exit", "0"))
	wantExit(t, r, 0)
	after := readBirth()
	if before.last < 0 || after.last == before.last || after.tasks < 2 {
		t.Errorf("%+v, then after a child %+v", before, after)
	}
	if a, b := readForks(), readNumbers(); a <= 0 || b < 300 {
		t.Errorf("%d forks, %d numbers", a, b)
	}
	if os.Getpid() > readNumbers() {
		t.Errorf("this process has the number %d of %d", os.Getpid(), readNumbers())
	}
}

func FuzzParseLoad(f *testing.F) {
	f.Add([]byte("0.20 0.18 0.12 1/80 11206\n"))
	f.Add([]byte("0.20 0.18 0.12 1/ 11206"))
	f.Add([]byte("0.20 0.18 0.12 180 -1"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := parseLoad(b)
		if got.last < -1 || got.tasks < 0 || got.last == -1 && got.tasks != 0 {
			t.Fatalf("parseLoad(%q) = %+v", b, got)
		}
	})
}
