// Forge drives a coding agent through a plan of phases until each one is
// proven done.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"forge/internal/agent"
	"forge/internal/cli"
	"forge/internal/proc"
)

func main() {
	proc.LandlockChild()
	agent.ScriptChild()
	os.Exit(run())
}

// run turns the first SIGINT or SIGTERM into a clean stop and the second into
// an immediate one.
func run() int {
	app, err := cli.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, "forge:", err)
		return 2
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	kill := make(chan struct{})
	app.Kill = kill
	go func() {
		<-signals
		stop()
		<-signals
		close(kill)
		<-signals
		os.Exit(130)
	}()
	return app.Run(ctx, os.Args[1:])
}
