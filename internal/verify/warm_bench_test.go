package verify

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/work"
)

// BenchmarkWarmProof: a proof of a Go module with one dependency, beside the same
// command in a checkout and a home that are warm. Reported are both, and the
// first proof, which fills.
//
//	go test ./internal/verify -run '^$' -bench WarmProof -benchtime 5x
func BenchmarkWarmProof(b *testing.B) {
	state, home, dir := b.TempDir(), b.TempDir(), b.TempDir()
	address, sums := goProxy(b, b.TempDir())
	tree := goModule.with(files{"go.sum": sums, "main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestFour(t *testing.T) {\n\tif four() != 4 {\n\t\tt.Fatal(four())\n\t}\n}\n"})
	if err := tree.write(dir); err != nil {
		b.Fatal(err)
	}
	const command = "go test -count=1 ./..."
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GOFLAGS="}
	b.Cleanup(func() { _ = filetree.RemoveAll(home); _ = filetree.RemoveAll(state) })
	plain := func(environ ...string) time.Duration {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = dir, append(environ, env...)
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return time.Since(begin)
	}
	cold := plain("GOPROXY="+address, "GONOSUMDB=*")

	caps := proc.Detect(b.Context())
	bench := New(&commits{all: map[string]files{"c1": tree}}, caps, env, filepath.Join(state, "cache"), nil)
	proof := func(accepted bool, command string) time.Duration {
		begin := time.Now()
		rep, err := bench.Verify(b.Context(), work.VerifyRequest{
			Dir: filepath.Join(state, "verify", "01"), Commit: "c1", Commands: []string{command}, Accepted: accepted,
			Sandbox: work.SandboxSettings{Mode: "auto", Network: true, Read: []string{address[len("file://"):]}}, Hide: []string{state},
		}, nil)
		if err != nil || !rep.OK {
			b.Fatalf("%v %+v", err, rep)
		}
		return time.Since(begin)
	}
	fill := proof(true, "GOPROXY="+address+" GONOSUMDB=* "+command)
	var proofs, plains []time.Duration
	for b.Loop() {
		plains = append(plains, plain("GOPROXY=off"))
		proofs = append(proofs, proof(false, "GOPROXY=off "+command))
	}
	p, q := median(proofs), median(plains)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(cold.Milliseconds()), "cold-ms")
	b.ReportMetric(float64(fill.Milliseconds()), "filling-proof-ms")
	b.ReportMetric(float64(p.Milliseconds()), "proof-ms")
	b.ReportMetric(float64(q.Milliseconds()), "warm-checkout-ms")
	b.ReportMetric(float64(p)/float64(q), "proof/checkout")
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
