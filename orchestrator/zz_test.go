package orchestrator

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestOne(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	w, err := newWorld(newLab(t), newDice(seed, nil), bug{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(r)
		}
		fmt.Println(tail(append(w.journal, w.batch...), 60))
	}()
	fmt.Println(w.run())
}
