package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/changereview"
	"forge/internal/refusal"
	"forge/internal/work"
)

func (a *App) reviewCommand() *cli.Command {
	return &cli.Command{
		Name: "review", Usage: "review a change before it is merged",
		Description: "The change is what differs between the base and the working tree, uncommitted and untracked files included. Configuration, prompts and the agents' own settings come from the base.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "compare with where the change left `REF`; else with the pull request's base in CI, the upstream, or the default branch"},
			&cli.StringSliceFlag{Name: "specialists", Usage: "ask these `NAMES` alone, such as security,simplicity"},
			&cli.BoolFlag{Name: "committed", Usage: "review HEAD, without what is not committed"},
			&cli.BoolFlag{Name: "phase-less", Usage: "show the change alone, without the project's spec"},
			&cli.StringSliceFlag{Name: "may-change", Usage: "let test files that match `GLOB` be removed"},
			&cli.Float64Flag{Name: "max-usd", Usage: "let it cost at most `USD`, whatever [cost] allows; who is not asked then is unknown"},
			&cli.Int64Flag{Name: "pull", Usage: "review pull request `N` on the code host, and say there what is new of it"},
			outputFlag("text", "json", "sarif", "markdown"),
		},
		Subcommands: []*cli.Command{{
			Name: "ignored", Usage: "list the findings that people let stand, and until when",
			Flags: []cli.Flag{outputFlag("text", "json")},
			Action: printing(a.findProject, func(c *cli.Context, p *checkout) (string, error) {
				out, err := outputOf(c, "text", "json")
				if err != nil {
					return "", err
				}
				return changereview.LetStandAs(p.Checkout, out)
			}),
		}},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json", "sarif", "markdown")
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refusal.New("forge review --base REF says what to compare with", "forge review takes no arguments, got %q", c.Args().First())
			}
			o := changereview.Options{Base: c.String("base"), MayChange: c.StringSlice("may-change"), Committed: c.Bool("committed"), Phaseless: c.Bool("phase-less"), Pull: c.Int64("pull"), MaxUSD: c.Float64("max-usd"), Kill: a.Kill}
			if c.IsSet("base") && o.Base == "" {
				return refusal.New("name a branch, tag or commit", "--base is empty")
			}
			if c.IsSet("max-usd") && !(o.MaxUSD > 0) {
				return refusal.New("name an amount in dollars, such as 0.50", "--max-usd is %g", o.MaxUSD)
			}
			if o.Specialists, err = namesOf(c); err != nil {
				return err
			}
			return a.review(c.Context, o, out)
		},
	}
}

// namesOf are the specialists that the flag names, each once.
func namesOf(c *cli.Context) ([]string, error) {
	var out []string
	for _, name := range c.StringSlice("specialists") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if c.IsSet("specialists") && len(out) == 0 {
		return nil, refusal.New("name reviewers, such as security,architecture", "--specialists is empty")
	}
	return out, nil
}

// review reviews a change, prints the result, reports it to CI, and returns its
// exit code.
func (a *App) review(ctx context.Context, o changereview.Options, output string) error {
	res, err := changereview.Run(ctx, a.env(), o)
	if err != nil {
		return err
	}
	text := ""
	switch output {
	case "json":
		data, err := json.MarshalIndent(res, "", "  ")
		if err != nil {
			return fmt.Errorf("write the result as JSON: %w", err)
		}
		text = string(data) + "\n"
	case "sarif":
		data, err := json.MarshalIndent(changereview.SARIF(res, Version, exitOfReview(res.Verdict)), "", "  ")
		if err != nil {
			return fmt.Errorf("write the result as SARIF: %w", err)
		}
		text = string(data) + "\n"
	case "markdown":
		text = changereview.Markdown(res).String()
	default:
		text = changereview.Text(res)
	}
	if _, err := fmt.Fprint(a.Stdout, text); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	a.reportReview(res)
	if code := exitOfReview(res.Verdict); code != exitDone {
		return codeError(code)
	}
	return nil
}

// exitOfReview is the exit code of a verdict. What is no verdict is unknown.
func exitOfReview(v work.Verdict) int {
	switch v {
	case work.VerdictPass, work.VerdictWarn:
		return exitDone
	case work.VerdictFail:
		return exitFailed
	}
	return exitUnjudged
}
