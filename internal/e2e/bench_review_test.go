package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// slowReviewer takes two seconds as security, and one as anybody else.
const slowReviewer = `case $FORGE_PHASE in
*:security) sleep 2 ;;
*) sleep 1 ;;
esac
echo '{"verdict":"pass","confidence":0.9,"findings":[]}'
`

// BenchmarkSpecialists: four specialists look at a change at the same time. The
// floor is the slowest of them alone, in the same run of the benchmark.
func BenchmarkSpecialists(b *testing.B) {
	for range b.N {
		inBenchmark(b, "BenchmarkSpecialists", func(t *testing.T) {
			alone, all := reviewTime(t, `"security"`), reviewTime(t, `"security","architecture","performance","simplicity"`)
			b.ReportMetric(float64(all)/float64(alone), "×slowest(≤1.2)")
			b.ReportMetric(alone.Seconds(), "s/slowest")
			b.ReportMetric(all.Seconds(), "s/four")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// reviewTime is how long the reviews of a run take, from the first that starts
// to the last that ends.
func reviewTime(t *testing.T, specialists string) time.Duration {
	t.Helper()
	files := plainPhase(1, "echo x > a.txt; echo '<promise>ALL DONE</promise>'\n")
	files[".forge/phases.json"] = strings.Replace(files[".forge/phases.json"], `"budget":1`, fmt.Sprintf(`"budget":1,"reviews":[%s]`, specialists), 1)
	files[".forge/forge.toml"] += "[agents.critic]\nkind = \"exec\"\ncommand = [\"./critic.sh\"]\n[reviews]\nenabled = true\nagent = \"critic\"\n"
	files["critic.sh"] = "#!/bin/sh\n" + slowReviewer
	c := newCheckout(t, "off", files)
	out, err := c.command(os.Args[0], "run", "--autonomous", "--output", "json").Output()
	if err != nil {
		t.Fatalf("forge run: %v\n%s", err, out)
	}
	var first, last time.Time
	reviews := 0
	for line := range strings.Lines(string(out)) {
		var e struct {
			Kind string    `json:"kind"`
			Time time.Time `json:"time"`
			Data struct {
				Verdict string `json:"verdict"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case "review.started":
			if first.IsZero() {
				first = e.Time
			}
		case "review.finished":
			last = e.Time
			if reviews++; e.Data.Verdict != "pass" {
				t.Fatalf("a review says %q", e.Data.Verdict)
			}
		}
	}
	if want := strings.Count(specialists, ",") + 1; reviews != want {
		t.Fatalf("%d reviews, want %d", reviews, want)
	}
	return last.Sub(first)
}
