package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/internal/issueform"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// issueTextFlags are what a person writes into an issue, as flags of add and
// edit.
func issueTextFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "what is wanted, as `MARKDOWN`; - reads it from standard input"},
		&cli.StringFlag{Name: "file", Aliases: []string{"F"}, Usage: "read the description from `FILE`"},
		&cli.StringFlag{Name: "priority", Usage: "low, normal, high or urgent: `WORD`"},
		&cli.StringFlag{Name: "level", Usage: "work on it under policy `NAME`; \"\" = as configured"},
		&cli.GenericFlag{Name: "label", Usage: "add label `WORD`; may be repeated", Value: &words{}},
		&cli.GenericFlag{Name: "need", Usage: "wait for `ISSUE` to be done; may be repeated", Value: &words{}},
		&cli.GenericFlag{Name: "criterion", Usage: "hold the result against `TEXT`; may be repeated", Value: &words{}},
	}
}

func (a *App) issueAddCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Usage: "put a new issue on the board", ArgsUsage: "TITLE",
		Flags: append(issueTextFlags(),
			&cli.StringFlag{Name: "column", Usage: "put it into `COLUMN`: backlog or ready", Value: string(work.ColumnBacklog)},
			&cli.BoolFlag{Name: "top", Usage: "put it at the top of the column instead of the bottom"},
			outputFlag("text", "json")),
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Args().Len() != 1 {
				return refusal.New(`forge issue add "what is wanted"`, "forge issue add takes one title, got %d words: put it into quotes", c.Args().Len())
			}
			edit, err := a.issueEdit(c)
			if err != nil {
				return err
			}
			i := work.Issue{Title: strings.TrimSpace(c.Args().First()), Priority: work.PriorityNormal, Column: work.Column(c.String("column"))}
			if err := edit(&i); err != nil {
				return err
			}
			place := factory.Place{At: factory.Bottom}
			if c.Bool("top") {
				place.At = factory.Top
			}
			return a.addIssue(c.Context, i, place, out)
		},
	}
}

func (a *App) addIssue(ctx context.Context, i work.Issue, place factory.Place, out string) error {
	b, err := a.openBoard(ctx, true)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := project.CheckLevel(b.Env, b.Base.RepoRoot, i.Level); err != nil {
		return err
	}
	i, err = b.Add(ctx, i, place, a.by(""))
	if err != nil {
		return issueError(err)
	}
	return a.tellIssue(ctx, b, i, out)
}

// issueEdit is what the flags ask to be made of an issue. It may be applied to
// several versions, one after the other.
func (a *App) issueEdit(c *cli.Context) (func(*work.Issue) error, error) {
	description, described, err := a.issueDescription(c)
	if err != nil {
		return nil, err
	}
	var needs, dropped []int64
	for flag, list := range map[string]*[]int64{"need": &needs, "no-need": &dropped} {
		for _, word := range wordsOf(c, flag) {
			id, err := issueform.Number(word, "--"+flag+" 12")
			if err != nil {
				return nil, err
			}
			*list = append(*list, id)
		}
	}
	return func(i *work.Issue) error {
		if c.IsSet("title") {
			i.Title = strings.TrimSpace(c.String("title"))
		}
		if described {
			i.Description = description
		}
		if c.IsSet("priority") {
			i.Priority = work.Priority(c.String("priority"))
		}
		if c.IsSet("level") {
			i.Level = c.String("level")
		}
		var err error
		if i.Labels, err = issueform.With(i.Labels, wordsOf(c, "label"), wordsOf(c, "no-label"), "label %q"); err != nil {
			return err
		}
		if i.Needs, err = issueform.With(i.Needs, needs, dropped, "need %d"); err != nil {
			return err
		}
		return issueform.EditCriteria(i, wordsOf(c, "criterion"), wordsOf(c, "no-criterion"))
	}, nil
}

// issueDescription is the text of --description or --file, and whether there is
// one.
func (a *App) issueDescription(c *cli.Context) (text string, ok bool, err error) {
	switch {
	case c.IsSet("description") && c.IsSet("file"):
		return "", false, refusal.New("give one of them", "--description and --file are both given")
	case c.IsSet("file"):
		name := c.String("file")
		if !filepath.IsAbs(name) {
			name = filepath.Join(a.Dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			return "", false, refusal.New("name a file that can be read", "read the description: %v", err)
		}
		defer func() { _ = f.Close() }()
		text, err = readDescription(f)
		return text, true, err
	case c.IsSet("description"):
		if text = c.String("description"); text == "-" {
			text, err = readDescription(a.Stdin)
		}
		return unixLines(text), true, err
	}
	return "", false, nil
}

func readDescription(r io.Reader) (string, error) {
	read, err := io.ReadAll(io.LimitReader(r, 2*work.MaxIssueDescription))
	if err != nil {
		return "", refusal.New("name a file that can be read", "read the description: %v", err)
	}
	return unixLines(string(read)), nil
}

func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
