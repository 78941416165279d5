package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/eval"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	setup    eval.Setup
	recorded bool
	model    string
	judge    string
	byHand   string
	resume   string
	json     bool
}

func (a *App) evalCommand() *cli.Command {
	output := []cli.Flag{outputFlag("text", "json")}
	return &cli.Command{
		Name: "eval", Usage: "measure how good the reviewers and the arbiter are",
		Description: "Asks them about cases whose right answer is known, and stores what came of it. Without a\nmodel in [llm] it looks at recorded answers, which costs nothing. docs/eval.md has the rest.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "cases", Usage: "take the cases in folder `DIR` too"},
			&cli.BoolFlag{Name: "builtin", Value: true, Usage: "take the cases that come with forge"},
			&cli.StringSliceFlag{Name: "specialists", Usage: "ask `NAMES` alone, such as security,arbiter"},
			&cli.StringFlag{Name: "model", Usage: "ask model `NAME` of the service in [llm]"},
			&cli.BoolFlag{Name: "recorded", Usage: "look at recorded answers although there is a model"},
			&cli.StringFlag{Name: "answers", Usage: "look at the answers recorded in `DIR`"},
			&cli.StringFlag{Name: "record", Usage: "write what the model answers into `DIR`"},
			&cli.StringFlag{Name: "prompts", Usage: "take the reviewers' prompts from `DIR` instead of " + config.PromptFolder},
			&cli.StringFlag{Name: "judge", Usage: "let model `NAME` say whether a finding means what is expected"},
			&cli.StringFlag{Name: "by-hand", Usage: "say so yourself, in `FILE`, which is written for you to fill in"},
			&cli.StringFlag{Name: "resume", Usage: "go on with trial `ID`"},
			outputFlag("text", "json"),
		},
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the trials", Flags: output, Action: a.onTrials(0, 0, "forge eval list", a.evalList)},
			{Name: "show", Usage: "show a trial case by case", ArgsUsage: "[ID]", Flags: output, Action: a.onTrials(0, 1, "forge eval show [ID]", a.evalShow)},
			{Name: "compare", Usage: "say whether trial B differs from trial A by more than chance", ArgsUsage: "A B", Flags: output, Action: a.onTrials(2, 2, "forge eval compare A B", a.evalCompare)},
		},
		Action: func(c *cli.Context) error {
			o, err := a.evalOptions(c)
			if err != nil {
				return err
			}
			return a.eval(c.Context, o)
		},
	}
}

func (a *App) evalOptions(c *cli.Context) (evalOptions, error) {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return evalOptions{}, err
	}
	if c.Args().Present() {
		return evalOptions{}, refusal.New("forge eval list, show or compare", "unknown command \"eval %s\"", text.FirstLine(c.Args().First(), 60))
	}
	o := evalOptions{
		setup:    eval.Setup{Builtin: c.Bool("builtin"), Specialists: c.StringSlice("specialists")},
		recorded: c.Bool("recorded"), model: c.String("model"), judge: c.String("judge"), byHand: a.absolute(c.String("by-hand")),
		resume: c.String("resume"), json: out == "json",
	}
	for _, dir := range c.StringSlice("cases") {
		o.setup.Cases = append(o.setup.Cases, a.absolute(dir))
	}
	for flag, to := range map[string]*string{"answers": &o.setup.Answers, "record": &o.setup.Record, "prompts": &o.setup.Prompts} {
		*to = a.absolute(c.String(flag))
	}
	for _, flag := range []string{"cases", "builtin", "specialists", "model", "recorded", "answers", "record", "prompts"} {
		if c.IsSet("resume") && c.IsSet(flag) {
			return o, refusal.New("leave --"+flag+" out", "trial %s goes on as it began, and --%s would change it", text.FirstLine(o.resume, 60), flag)
		}
	}
	replay := o.recorded || o.setup.Answers != ""
	switch {
	case c.IsSet("resume") && o.resume == "":
		return o, refusal.New("forge eval list names them", "--resume wants the id of a trial")
	case o.judge != "" && o.byHand != "":
		return o, refusal.New("give one of them", "--judge and --by-hand contradict each other")
	case replay && o.model != "":
		return o, refusal.New("leave one of them out", "--model asks a model, and --recorded and --answers ask nobody")
	case replay && o.setup.Record != "":
		return o, refusal.New("leave --record out", "recorded answers are on record already")
	}
	return o, nil
}

// absolute is a path as the user means it; "" stays.
func (a *App) absolute(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.Dir, path)
}

// evalRoot is the checkout around the working directory, or the directory
// itself: measuring needs no repository.
func (a *App) evalRoot() string {
	if root := project.CheckoutAround(a.Dir); root != "" {
		return root
	}
	return a.Dir
}

func (a *App) evalProject() (*checkout, error) {
	root := a.evalRoot()
	state, err := config.StateDir(a.Environ, root)
	if err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: root, UserFile: config.UserFile(a.Environ), Environ: a.Environ})
	for _, w := range warnings {
		a.log.Warn(w.String())
	}
	if err != nil {
		return nil, err
	}
	return &checkout{&project.Checkout{Env: a.env(), Base: work.Base{RepoRoot: root}, Config: cfg, State: state}, a}, nil
}

// evalCases are the cases of a setup, each name once.
func evalCases(s eval.Setup) ([]eval.Case, error) {
	var cases []eval.Case
	problems := &config.Problems{}
	add := func(from fs.FS, at string) error {
		more, err := eval.Load(from)
		var bad *eval.Problems
		switch {
		case errors.As(err, &bad):
			for _, p := range bad.List {
				problems.List = append(problems.List, config.Problem{File: filepath.Join(at, filepath.FromSlash(p.File)), Line: p.Line, What: p.What, Fix: p.Fix})
			}
		case err != nil:
			return refusal.New("name a folder of cases, as docs/eval.md says", "read %s: %v", at, err)
		}
		for _, c := range more {
			if slices.ContainsFunc(cases, func(o eval.Case) bool { return o.Name == c.Name }) {
				problems.List = append(problems.List, config.Problem{File: filepath.Join(at, c.Name), What: "a case of that name is there already", Fix: "give it another name"})
			}
		}
		cases = append(cases, more...)
		return nil
	}
	if s.Builtin {
		if err := add(eval.Builtin(), "builtin"); err != nil {
			return nil, err
		}
	}
	for _, dir := range s.Cases {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			return nil, refusal.New("name a folder of cases, as docs/eval.md says", "%s is no folder", dir)
		}
		before := len(cases)
		if err := add(os.DirFS(dir), dir); err != nil {
			return nil, err
		}
		if len(cases) == before && len(problems.List) == 0 {
			return nil, refusal.New("each case is a folder of its own, as docs/eval.md says", "%s has no cases", dir)
		}
	}
	if len(problems.List) > 0 {
		return nil, problems
	}
	return pickCases(cases, s.Specialists)
}

func pickCases(cases []eval.Case, specialists []string) ([]eval.Case, error) {
	var known []string
	for _, c := range cases {
		if !slices.Contains(known, c.Specialist) {
			known = append(known, c.Specialist)
		}
	}
	for _, name := range specialists {
		if !slices.Contains(known, name) {
			fix := "leave it out, or write cases for it"
			if near := gates.Nearest(name, known); near != "" {
				fix = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, refusal.New(fix, "no case is for %q", text.FirstLine(name, 60))
		}
	}
	cases = eval.Pick(cases, specialists)
	if len(cases) == 0 {
		return nil, refusal.New("leave --builtin=false out, or name a folder with --cases", "there are no cases")
	}
	return cases, nil
}

// evalSpecialist is a reviewer as the project has it, with its prompt from
// dir; "" = the project's folder of prompts.
func (p *checkout) evalSpecialist(name, dir string) (work.Specialist, error) {
	// Gating, whatever the project says: what is not reviewed whole is unknown.
	out := work.Specialist{Name: name, Gating: true}
	for _, s := range p.Config.File.Reviews.Specialists {
		if s.Type != nil && *s.Type == name {
			out.FocusAreas = s.FocusAreas
		}
	}
	if dir == "" {
		dir = filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.PromptFolder))
	}
	file := filepath.Join(dir, name+".md")
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > config.MaxPromptBytes) {
		return out, refusal.New(fmt.Sprintf("make it a file of at most %d bytes", config.MaxPromptBytes), "%s cannot be a prompt", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return out, refusal.New("make it readable", "read the prompt of %s: %v", name, err)
	}
	out.Prompt = string(text)
	return out, nil
}
