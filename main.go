// Forge drives a coding agent through a plan of phases until each one is
// proven done.
package main

import (
	"os"

	"forge/internal/agent"
	"forge/internal/cli"
	"forge/internal/proc"
)

func main() {
	proc.SandboxChild()
	agent.Child()
	os.Exit(cli.Main(cli.Extras{}))
}
