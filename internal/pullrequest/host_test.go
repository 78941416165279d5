package pullrequest

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/config"
	"forge/internal/project"
)

// Each kind of host that a file may name is opened, and no other one in its place.
func TestEachKindOfHostIsOpened(t *testing.T) {
	t.Parallel()
	key, ok := config.KeyOf("host.kind")
	if !ok || key.Rule == "" {
		t.Fatalf("host.kind: %+v", key)
	}
	p := &project.Checkout{State: t.TempDir()}
	seen := map[string]string{}
	for _, kind := range strings.Split(key.Rule, "|") {
		h, err := OpenHost(p, config.CodeHost{Kind: kind, URL: "https://git.example.com", Owner: "o", Repo: "r", Token: config.Secret{Value: "t"}}, nil)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		name := fmt.Sprintf("%T", h)
		if seen[name] != "" {
			t.Errorf("%s and %s are both opened as %s", kind, seen[name], name)
		}
		seen[name] = kind
	}
	if h, err := OpenHost(p, config.CodeHost{Kind: "other"}, nil); err == nil {
		t.Errorf("a kind that nobody knows is opened as %T", h)
	}
}
