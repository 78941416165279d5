package agent

import (
	"fmt"
	"io"
	"net"
	"os"
)

// Child plays a part and exits when Forge started this process as an agent, or when
// an agent started it as its server of tools; else it returns at once. It stands at
// the top of main, and of TestMain where tests run agents.
func Child() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == scriptChildArg:
		os.Exit(playScript(os.Stdin, os.Stdout))
	case len(os.Args) == 3 && os.Args[1] == toolsChildArg:
		if err := passTools(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "forge:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// passTools hands what an agent says to Forge, and what Forge says to the agent. It
// is over when Forge is: an agent that is left then has no tools.
func passTools(socket string, in io.Reader, out io.Writer) error {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("reach Forge, which serves its tools for one iteration: %w", err)
	}
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = io.Copy(conn, in)
		_ = conn.CloseWrite()
	}()
	if _, err = io.Copy(out, conn); err != nil {
		return fmt.Errorf("hear Forge: %w", err)
	}
	return nil
}
