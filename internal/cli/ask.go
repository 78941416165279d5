package cli

import (
	"context"
	"errors"
	"fmt"

	"charm.land/huh/v2"
)

// confirm asks a person at the terminal a question that is answered no unless
// they choose yes. Leaving it is context.Canceled.
func (a *App) confirm(ctx context.Context, title, description, yes string) (bool, error) {
	said := false
	ask := huh.NewConfirm().Title(title).Affirmative(yes).Negative("no").Description(description).Value(&said)
	err := huh.NewForm(huh.NewGroup(ask)).WithTheme(huh.ThemeFunc(huh.ThemeBase)).WithInput(a.Stdin).WithOutput(a.Stderr).RunWithContext(ctx)
	switch {
	case errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil:
		return false, context.Canceled
	case err != nil:
		return false, fmt.Errorf("ask %q: %w", title, err)
	}
	return said, nil
}
