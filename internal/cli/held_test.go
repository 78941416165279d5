package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/internal/runs"
)

func TestTreeWhereMarksCannotBeFound(t *testing.T) {
	var said bytes.Buffer
	end := func(err error) error {
		return runs.Processes{Kill: func(string, time.Duration) (int, error) { return 0, err }, Log: log.New(&said)}.End(t.Context(), "mark-1")
	}
	if err := end(nil); err != nil || said.Len() > 0 {
		t.Errorf("ended: %v, said %q", err, &said)
	}
	broken := errors.New("broken")
	if err := end(broken); !errors.Is(err, broken) || said.Len() > 0 {
		t.Errorf("broken: %v, said %q", err, &said)
	}
	if err := end(fmt.Errorf("here: %w", errors.ErrUnsupported)); err != nil || !strings.Contains(said.String(), "FORGE_LEASE=mark-1") {
		t.Errorf("unsupported: %v, said %q", err, &said)
	}
}
