package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/internal/agent"
	"forge/internal/proc"
)

// TestMain lets the test binary play forge itself, both for the scripts and
// where a whole process is needed to be killed.
func TestMain(m *testing.M) {
	proc.LandlockChild()
	agent.ScriptChild()
	if os.Getenv(playForge) != "" {
		os.Exit(run())
	}
	testscript.Main(m, map[string]func(){"forge": func() { os.Exit(run()) }})
}

// playForge makes the test binary behave as forge.
const playForge = "FORGE_TEST_PLAY"
