package script

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/internal/cli"
	"forge/internal/proc"
)

// call carries out a command of a script and returns its exit code, or why it
// could not be started. "forge" is called in this process: starting the program
// for each of a thousand commands costs more than most of them do. Where it
// matters that forge is a process, since it starts itself, reads what stdin
// names or has to be found, a script says $FORGE.
func call(ts *testscript.TestScript, command string, args []string) (code int, stdout, stderr string, err error) {
	if command != "forge" {
		err := ts.Exec(command, args...)
		return exitCode(err), ts.ReadFile("stdout"), ts.ReadFile("stderr"), err
	}
	var out, errs bytes.Buffer
	app := &cli.App{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now,
		Environ: stateOf(ts).environ(ts), Dir: ts.MkAbs("."), Detect: detected,
	}
	code = app.Run(context.Background(), args)
	_, _ = ts.Stdout().Write(out.Bytes())
	_, _ = ts.Stderr().Write(errs.Bytes())
	return code, out.String(), errs.String(), nil
}

// detected is which sandboxes work here, tried once for all commands.
var detected = func() func(context.Context) proc.Capabilities {
	once := sync.OnceValue(func() proc.Capabilities { return proc.Detect(context.Background()) })
	return func(context.Context) proc.Capabilities { return once() }
}()

// environ is what a program would be started with. The names are those that
// the set-up knows and those that the script sets: testscript tells a value by
// its name, and no list.
func (s *scriptState) environ(ts *testscript.TestScript) []string {
	if s.script == "" {
		text, err := os.ReadFile("testdata/" + ts.Name() + ".txtar")
		ts.Check(err)
		s.script = string(text)
		if line := fedInProcess.FindString(s.script); line != "" {
			ts.Fatalf("forge is called in the process of the test, which does not read what stdin names; say $FORGE:\n%s", line)
		}
		for _, names := range setsVariables.FindAllString(s.script, -1) {
			for _, field := range strings.Fields(names) {
				if name, _, ok := strings.Cut(field, "="); ok {
					s.names = append(s.names, name)
				}
			}
		}
		for _, found := range setsOne.FindAllStringSubmatch(s.script, -1) {
			s.names = append(s.names, found[1])
		}
		slices.Sort(s.names)
		s.names = slices.Compact(s.names)
	}
	environ := []string{"PWD=" + ts.MkAbs(".")}
	for _, name := range s.names {
		if value := ts.Getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

var (
	setsVariables = regexp.MustCompile(`(?m)^(\[.*\] )?env .*$`)
	setsOne       = regexp.MustCompile(`(?m)^(?:\[.*\] )?(?:capture|model) (\w+) .*$`)
	fedInProcess  = regexp.MustCompile(`(?m)^(stdin|ttyin) .*\n(exits|untouched) \d+ forge .*$`)
)
