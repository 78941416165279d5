// Forge-temporal is forge with what many machines need in addition: a journal in
// Postgres, and runs that a Temporal server drives. Forge goes on as this program where
// a project asks for it. Called by its own name it has commands of its own as well.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"forge/cmd/forge-temporal/internal/demo"
	"forge/cmd/forge-temporal/internal/machine"
	"forge/cmd/forge-temporal/internal/postgres"
	"forge/internal/agent"
	"forge/internal/beside"
	"forge/internal/cli"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/storemove"
)

// How long a server that was lost is waited for while something works.
const patience = 15 * time.Minute

func main() {
	proc.SandboxChild()
	agent.Child()
	if became := beside.Became(); !became && len(os.Args) > 1 && slices.Contains(machine.Commands(), os.Args[1]) {
		os.Exit(machine.Run(context.Background(), openStore, os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main(cli.Extras{Stores: openStore, MoveStore: storemove.Run, Engine: machine.Engine, Stalled: machine.Stalled(), Travels: machine.Travels{}, Machines: machines}))
}

// machines is cli.Extras.Machines.
func machines(ctx context.Context, environ []string, keep string, out io.Writer) (held bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	err = demo.Play(ctx, demo.Options{Program: self, Environ: environ, Keep: keep, Out: out})
	if errors.Is(err, demo.ErrBroken) {
		return false, nil
	}
	return err == nil, err
}

// openStore is a project.Stores.
func openStore(ctx context.Context, variable, url string, tell func(string)) (*journal.Store, error) {
	server, err := postgres.New(variable, url, patience, tell)
	if err != nil {
		return nil, err
	}
	return journal.OpenServer(ctx, server, journal.WithPatience(patience))
}
