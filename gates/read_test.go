package gates

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReadPolicy(t *testing.T) {
	for _, name := range (Catalogue{}).Names() {
		p, _ := Preset(name)
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadPolicy(raw)
		if err != nil || got.Version() != p.Version() || got.Preset != name {
			t.Errorf("%s: got %s (%s), %v", name, got.Preset, got.Version(), err)
		}
	}
	for _, bad := range []string{``, `null`, `{}`, `"full"`, `{"preset":"full"}`, `{"gates":{"final":"perhaps"}}`, `{"gate":{}}`} {
		if p, err := ReadPolicy([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, p)
		}
	}
	p, _ := Preset("full")
	raw, _ := json.Marshal(p)
	if _, err := ReadPolicy([]byte(strings.Replace(string(raw), `"on_stale":"pivot_then_fail"`, `"on_stale":"never"`, 1))); err == nil {
		t.Error("an unknown response is read")
	}
	if _, err := ReadPolicy(append(raw, '{')); err == nil {
		t.Error("text after the policy is read over")
	}
}
