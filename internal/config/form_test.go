package config

import "testing"

func TestFormsOfKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, said, literal string }{
		{"cost.run_usd", "2.50", "2.5"}, {"cost.run_usd", "5", "5.0"}, {"cost.run_usd", " ", ""}, {"defaults.budget", "8", "8"},
		{"verify.commands", "make test\r\n\r\n  go vet \"./...\"  ", `["make test", "go vet \"./...\""]`},
		{"verify.cold", "true", "true"}, {"agent.use", "claude", `"claude"`}, {"agent.use", "claude\ncodex", `["claude", "codex"]`},
	} {
		k, ok := KeyOf(c.key)
		if !ok {
			t.Fatalf("no key %s", c.key)
		}
		if got, err := k.Literal(c.said); err != nil || got != c.literal {
			t.Errorf("%s, %q: %q %v, want %q", c.key, c.said, got, err, c.literal)
		}
		if c.literal == "" {
			continue
		}
		said, ok := k.Said(c.literal)
		if again, err := k.Literal(said); !ok || err != nil || again != c.literal {
			t.Errorf("%s: %s is said as %q, which is %q again", c.key, c.literal, said, again)
		}
	}
	for _, c := range [][2]string{{"cost.run_usd", "much"}, {"cost.run_usd", "inf"}, {"defaults.budget", "2.5"}, {"verify.cold", "maybe"}, {"agents", "x"}} {
		k, _ := KeyOf(c[0])
		if got, err := k.Literal(c[1]); err == nil {
			t.Errorf("%s takes %q as %s", c[0], c[1], got)
		}
	}
	for _, c := range [][2]string{
		{"verify.commands", `["a\nb"]`}, {"verify.commands", `[1]`}, {"verify.commands", `"a"`}, {"verify.commands", `[""]`}, {"agent.use", `["a"]`},
		{"cost.run_usd", `"5"x`}, {"agent.use", `"a\nb"`}, {"defaults.budget", "2.5"}, {"cost.run_usd", "{ x = 1 }"},
	} {
		k, _ := KeyOf(c[0])
		if said, ok := k.Said(c[1]); ok {
			t.Errorf("%s: %s is said as %q", c[0], c[1], said)
		}
	}
}
