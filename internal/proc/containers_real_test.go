//go:build real

package proc

import (
	"fmt"
	"os"

	"forge/internal/proc/containertest"
)

// setUpContainers makes the image that all tests of containers run in.
func setUpContainers() (done func() int) {
	dir, err := os.MkdirTemp("", "containers-")
	if err == nil {
		err = containertest.Setup(dir)
	}
	if err != nil {
		fmt.Println("containers are not tested:", err) // need says so again, as an error
	}
	return func() int {
		if err == nil {
			err = containertest.Remove(dir)
		}
		if err != nil {
			fmt.Println("remove containers:", err)
			return 1
		}
		return 0
	}
}

func containers() []Level { return []Level{LevelContainer} }

func tested() Container {
	return Container{Runtime: containertest.Runtime(), Image: containertest.Image}
}
