package machine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	charm "charm.land/log/v2"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/site"
)

const usage = `forge-temporal worker   work on runs of this checkout until it is stopped
forge-temporal bring    have the commits of a run, and its result, in this checkout
forge-temporal release  let go of a run whose version has no worker, so that forge resume takes it up
forge-temporal setup    make the namespace and its search attributes
forge-temporal doctor   say what is wrong with server, namespace and configuration
`

// Commands are those that forge-temporal has beside forge's.
func Commands() []string { return []string{"worker", "bring", "release", "setup", "doctor"} }

// Exit codes are those of forge.
const (
	exitDone   = 0
	exitFailed = 1
	exitMend   = 2 // something that a person can mend
)

// Run is the commands that Commands names; stores opens the journals that a
// server keeps.
func Run(ctx context.Context, stores project.Stores, args []string, stdout, stderr io.Writer) int {
	return runAs(ctx, temporal.CoreVersion, stores, args, stdout, stderr)
}

// runAs is Run as a program with that version of the core.
func runAs(ctx context.Context, core string, stores project.Stores, args []string, stdout, stderr io.Writer) int {
	err := run(ctx, core, stores, args, stdout, stderr)
	var mend *refusal.Error
	var wrong *config.Problems
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.As(err, &mend), errors.As(err, &wrong):
		fmt.Fprintln(stderr, "forge-temporal:", err)
		return exitMend
	}
	fmt.Fprintln(stderr, "forge-temporal:", err)
	return exitFailed
}

func run(ctx context.Context, core string, stores project.Stores, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return refusal.New("name one", "which command?\n%s", usage)
	}
	flags := flag.NewFlagSet("forge-temporal "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("C", ".", "the checkout")
	level := flags.String("log-level", "warn", "debug, info, warn or error")
	from := ""
	var part part
	if args[0] == "worker" {
		flags.StringVar(&from, "mirror", "", "the repository of engine.objects: work without a checkout, from a mirror of it")
		flags.IntVar(&part.effects, "effects", 0, "end after so many effects, and decide nothing, as a pod of one does; 0 = work until it is stopped")
		flags.BoolVar(&part.decides, "decide", false, "decide and write, and carry no effect out")
	}
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return refusal.New("forge-temporal "+args[0]+" --help shows them", "%v", err)
	}
	if part.effects < 0 || part.effects > 0 && part.decides {
		return refusal.New("name how many effects it carries out, or --decide, or neither", "--effects is %d", part.effects)
	}
	logger := charm.NewWithOptions(stderr, charm.Options{ReportTimestamp: true})
	if l, err := charm.ParseLevel(*level); err == nil {
		logger.SetLevel(l)
	}
	env := surroundings(stores, logger, *dir)
	var p *project.Checkout
	var m *mirror
	var err error
	if from != "" {
		p, m, err = openMirror(ctx, env, from)
	} else {
		p, err = project.Open(ctx, env)
	}
	if err != nil {
		return err
	}
	set, err := p.Config.Engine()
	if err != nil {
		return err
	}
	if set.Kind != config.EngineTemporal {
		return refusal.New(`write kind = "temporal" under [engine] in your own configuration`, "[engine] does not name a Temporal server")
	}
	switch args[0] {
	case "worker":
		if m != nil {
			set.Objects = from
		}
		return serve(ctx, core, p, m, set, part, stdout)
	case "bring":
		return bring(ctx, p, set, flags.Args(), stdout)
	case "release":
		return release(ctx, p, core, set, flags.Args(), stdout)
	case "setup":
		return setup(ctx, set, stdout)
	case "doctor":
		return doctor(ctx, set, stdout)
	}
	return refusal.New("name one of them", "there is no command %q\n%s", args[0], usage)
}

// surroundings are what a checkout may touch of this process's: agents of a worker are
// given the tools that those of forge are given.
func surroundings(stores project.Stores, logger *charm.Logger, dir string) project.Env {
	return project.Env{Log: logger, Now: time.Now, Environ: os.Environ(), Dir: dir, Stores: stores, Tools: site.AgentTools}
}

// part is what of the work a worker takes; zero = all.
type part struct {
	effects int // it ends after so many, and decides nothing
	decides bool
}

// serve serves the checkout's queues until the process is asked to stop; then what is
// under way may end within its time.
func serve(ctx context.Context, core string, p *project.Checkout, m *mirror, set config.EngineSettings, part part, stdout io.Writer) error {
	if m != nil && p.Server == "" {
		return refusal.New("name the project's database as store.url_env in your own configuration", "a worker without a checkout has no journal of its own")
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	defer p.Close()
	c, err := Connect(ctx, set, p.Journal)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := Check(ctx, c, set); err != nil {
		return err
	}
	host, err := hostID(p.State)
	if err != nil {
		return err
	}
	places, err := NewPlaces(ctx, p, set, m)
	if err != nil {
		return err
	}
	own := p.Config.Worker()
	w := &temporal.Worker{
		Client: c, Queues: places.team.queues, Core: core, Places: places, Host: host, Has: own.Has, Slots: own.Slots, Most: part.effects, Decides: part.decides,
		Drain: time.Duration(own.DrainSecs) * time.Second,
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	fmt.Fprintf(stdout, "worker %s serves %s\n", host, strings.Join(w.Serves(), ", "))
	go Carry(ctx, p, c)
	go places.sweeping(ctx)
	return w.Run(ctx)
}

// attributes are the search attributes by which operators find runs.
func attributes() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		temporal.AttributeProject: enums.INDEXED_VALUE_TYPE_KEYWORD, temporal.AttributeRun: enums.INDEXED_VALUE_TYPE_KEYWORD,
	}
}

func lacking(ctx context.Context, c client.Client, set config.EngineSettings) ([]string, error) {
	there, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: set.Namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes of namespace %s: %w", set.Namespace, err)
	}
	var missing []string
	for name, kind := range attributes() {
		if there.GetCustomAttributes()[name] != kind {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// keepFor is how long a history is kept after its workflow's end; the journal is
// what is kept for ever.
const keepFor = 72 * time.Hour

// setup makes what is missing, waits until it is there, and says what it made.
func setup(ctx context.Context, set config.EngineSettings, stdout io.Writer) error {
	c, err := Connect(ctx, set, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: set.Namespace, Description: "runs of Forge", WorkflowExecutionRetentionPeriod: durationpb.New(keepFor),
	})
	switch {
	case err == nil:
		fmt.Fprintf(stdout, "made namespace %s\n", set.Namespace)
	case !errors.As(err, new(*serviceerror.NamespaceAlreadyExists)):
		return refusal.New("make it yourself, or name another in engine.namespace", "make namespace %s: %v", set.Namespace, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err = complete(ctx, c, set, stdout)
		if err == nil {
			err = Check(ctx, c, set)
		}
		if err == nil {
			fmt.Fprintf(stdout, "namespace %s on %s is ready\n", set.Namespace, set.Address)
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond): // a server learns of a namespace after a while
		case <-ctx.Done():
			return err
		}
	}
}

// complete adds the search attributes that are missing.
func complete(ctx context.Context, c client.Client, set config.EngineSettings, stdout io.Writer) error {
	missing, err := lacking(ctx, c, set)
	if err != nil || len(missing) == 0 {
		return err
	}
	add := maps.Clone(attributes())
	maps.DeleteFunc(add, func(name string, _ enums.IndexedValueType) bool { return !slices.Contains(missing, name) })
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: set.Namespace, SearchAttributes: add})
	if err != nil && !errors.As(err, new(*serviceerror.AlreadyExists)) {
		return fmt.Errorf("add search attributes %s: %w", strings.Join(missing, ", "), err)
	}
	fmt.Fprintf(stdout, "added search attribute %s\n", strings.Join(missing, ", "))
	return nil
}

func doctor(ctx context.Context, set config.EngineSettings, stdout io.Writer) error {
	c, err := Connect(ctx, set, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := Check(ctx, c, set); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "namespace %s on %s is ready\n", set.Namespace, set.Address)
	return nil
}
