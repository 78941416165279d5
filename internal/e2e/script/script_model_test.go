package script

import (
	"os"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/internal/fakemodel"
)

// model NAME [WHEN FILE]…: starts a model service on loopback and sets NAME to
// its address. A question that holds WHEN is answered with FILE, any other one
// with the word "well" (so that a probe is answered). The service ends with
// the script.
func modelService(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args)%2 != 1 {
		ts.Fatalf("usage: model NAME [WHEN FILE]…")
	}
	var svc fakemodel.Service
	for i := 1; i < len(args); i += 2 {
		text, err := os.ReadFile(ts.MkAbs(args[i+1]))
		ts.Check(err)
		svc.Turns = append(svc.Turns, fakemodel.Turn{When: args[i], Text: string(text), Repeat: -1})
	}
	svc.Turns = append(svc.Turns, fakemodel.Turn{Text: "well", Repeat: -1})
	s, err := fakemodel.Start()
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.Service("svc", svc))
}
