package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/draft"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
)

// generateOptions are the flags of generate.
type generateOptions struct {
	text            string // TEXT, FILE or "-"; "" = the spec file
	extend, replace bool
	yes             bool
	agent, model    string
	kept            string // command that has the draft again for --yes; "" = none has
}

func (a *App) generateCommand() *cli.Command {
	return &cli.Command{
		Name: "generate", Usage: "let the agent draft a plan from a spec", ArgsUsage: "[TEXT|FILE|-]",
		Description: "Without an argument the spec is .forge/spec.md. The draft is checked, repaired once\nwhere it has to be, shown with a forecast, and written when you say yes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "extend", Usage: "add phases to the plan that is there"},
			&cli.BoolFlag{Name: "replace", Usage: "replace the plan that is there"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "write without asking"},
			&cli.StringFlag{Name: "agent", Usage: "the agent that drafts; default that of [agent] use"},
			&cli.StringFlag{Name: "model", Usage: "its model"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Len() > 1 {
				return refusal.New("put the text into quotes", "forge generate takes one text or file, got %d", c.Args().Len())
			}
			if c.Args().Len() == 1 && c.Args().First() == "" {
				return refusal.New("write down what has to be built", "the spec is empty")
			}
			return a.generate(c.Context, generateOptions{
				text: c.Args().First(), extend: c.Bool("extend"), replace: c.Bool("replace"), yes: c.Bool("yes"), agent: c.String("agent"), model: c.String("model"),
			})
		},
	}
}

// generate drafts a plan and writes it. Nothing of the project changes before
// the user has said yes.
func (a *App) generate(ctx context.Context, o generateOptions) error {
	if o.extend && o.replace {
		return refusal.New("give one of them", "--extend and --replace contradict each other")
	}
	var flags []config.Setting
	if o.agent != "" {
		flags = append(flags, config.Setting{Flag: "--agent", Key: "agent.use", Value: o.agent})
	}
	p, err := a.openProject(ctx, flags...)
	if err != nil {
		return err
	}
	defer p.Close()
	spec, fromFile, err := p.specFor(o)
	if err != nil {
		return err
	}
	if what, fix := planner.CheckSpec(spec); what != "" {
		return refusal.New(fix, "%s", what)
	}
	existing, err := draft.Existing(p.Checkout, o.extend, o.replace)
	if err != nil {
		return err
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	text, err := draft.Plan(ctx, p.Checkout, o.model, spec, existing)
	if err != nil {
		return err
	}
	plan, err := draft.Finish(p.Checkout, text, existing, spec)
	if err != nil {
		return err
	}
	if err := p.showPlan(ctx, plan); err != nil {
		return err
	}
	return p.writePlan(ctx, o, plan, spec, fromFile)
}

// specFor is the spec to plan from. fromFile says that it is the project's
// own, which need not be written.
func (p *checkout) specFor(o generateOptions) (spec string, fromFile bool, err error) {
	own := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile))
	read := func(r io.Reader) (string, error) {
		text, err := io.ReadAll(io.LimitReader(r, config.MaxSpecBytes+1))
		return string(text), err
	}
	switch o.text {
	case "-":
		spec, err = read(p.app.Stdin)
		return spec, false, err
	case "":
		f, err := os.Open(own)
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, refusal.New(`write it, or say what to build: forge generate "…"`, "%s does not exist", config.SpecFile)
		}
		if err != nil {
			return "", false, refusal.New("make it readable", "read the spec: %v", err)
		}
		defer func() { _ = f.Close() }()
		spec, err = read(f)
		return spec, true, err
	}
	path := o.text
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		// No such file: the argument is the text itself.
		return o.text, false, nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false, refusal.New("name a file, or write the text", "%s is not a file", o.text)
	}
	spec, err = read(f)
	return spec, path == own, err
}

// showPlan shows the graph and the forecast.
func (p *checkout) showPlan(ctx context.Context, plan *config.Plan) error {
	spec, _, err := p.Resolve(plan, config.PolicyFlags{})
	if err != nil {
		return err
	}
	if err := p.list(spec, "text"); err != nil {
		return err
	}
	return p.sayForecast(ctx, spec)
}

// writePlan asks and writes.
func (p *checkout) writePlan(ctx context.Context, o generateOptions, plan *config.Plan, spec string, fromFile bool) error {
	text, err := json.MarshalIndent(plan.Plan, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	text = append(text, '\n')
	if !o.yes {
		if !p.app.terminal() {
			return refusal.New(o.unasked(p, text), "nobody can be asked whether to write %s", project.PlanFile)
		}
		if ok, err := p.app.confirm(ctx, "Write "+project.PlanFile+"?", "", "yes, write it"); err != nil || !ok {
			if err == nil {
				err = refusal.New("the draft is in "+draft.KeepRefused(p.Checkout, text), "nothing was written")
			}
			return err
		}
	}
	if !fromFile {
		if err := draft.WriteSpec(p.Checkout, spec, o.extend, o.replace); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(p.Base.RepoRoot, ".forge"), 0o755); err != nil {
		return refusal.New("make the folder writable", "write the plan: %v", err)
	}
	if err := atomicfile.Write(filepath.Join(p.Base.RepoRoot, project.PlanFile), text, 0o644); err != nil {
		return refusal.New("make the folder writable", "write the plan: %v", err)
	}
	draft.Settled(p.Checkout)
	fmt.Fprintf(p.app.Stdout, "\nWrote %s. Next: forge run\n", project.PlanFile)
	return nil
}

// unasked keeps a draft that nobody could be asked about, and is the way out.
func (o generateOptions) unasked(p *checkout, plan []byte) string {
	if o.kept != "" {
		return o.kept + " --yes writes it; nothing is asked again"
	}
	return "forge generate --yes drafts another and writes it; move " + draft.Keep(p.Checkout, plan) + " there to take this one"
}
