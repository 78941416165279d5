package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"forge/internal/beside"
	"forge/internal/project"
	"forge/internal/worker"
)

// Extras are what a larger program than forge has in addition.
type Extras struct {
	// Engine drives the runs of a checkout whose configuration says so; it is nil for
	// others, and where there is none.
	Engine  worker.Engine
	Stores  project.Stores  // nil: the journal is a file
	Travels project.Travels // nil: commits of runs stay on this machine
	// Stalled asks why nobody takes what a run needs done; nil where nobody can be asked.
	Stalled project.Stalled
	// MoveStore moves a journal to a place, or says what there is to move; nil
	// where there are no Stores.
	MoveStore func(ctx context.Context, p *project.Checkout, to string, yes bool, out io.Writer) error
	// Machines plays the demo of several machines, in the folder keep, "" = one that is
	// removed; it says whether everything was as it must be. nil = forge-temporal does.
	Machines func(ctx context.Context, environ []string, keep string, out io.Writer) (held bool, err error)
}

// Main carries out the command line of this process and returns its exit code.
// It turns the first SIGINT or SIGTERM into a clean stop and the second into an
// immediate one.
func Main(with Extras) int {
	app, err := New()
	if err != nil {
		fmt.Fprintln(os.Stderr, "forge:", err)
		return 2
	}
	app.With = with
	if _, err := app.env().Beyond(project.CheckoutAround(app.Dir)); err != nil {
		beside.Become(os.Args, app.Environ) // returns where there is none: who needs it is told so
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
