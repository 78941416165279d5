package cli

import (
	"strings"
	"testing"

	"forge/internal/jobs"
)

func TestDescription(t *testing.T) {
	a := &App{Stdin: strings.NewReader(" from\nstdin \x00\n")}
	if got, err := a.description("-"); err != nil || got != "from\nstdin" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", " \n", strings.Repeat("x", jobs.MaxDescription+1)} {
		if _, err := a.description(bad); err == nil {
			t.Errorf("%.20q went through", bad)
		}
	}
}
