package jobs

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/orchestrator"
)

// A level under which a person looks now and then is none without a person.
func TestALevelThatLooksNowAndThen(t *testing.T) {
	p, _ := gates.Preset(gates.PresetFull)
	if asksPeople(orchestrator.Spec{Policy: p}) || !strings.Contains(levelInWords(p), "without a person") {
		t.Errorf("full: %s", levelInWords(p))
	}
	p.Every = 3
	if !asksPeople(orchestrator.Spec{Policy: p}) || levelInWords(p) != "A person looks at the job after some of its phases." {
		t.Errorf("every third: %s", levelInWords(p))
	}
}
