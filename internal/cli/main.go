package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main carries out the command line of this process and returns its exit code.
// It turns the first SIGINT or SIGTERM into a clean stop and the second into an
// immediate one.
func Main() int {
	app, err := New()
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
