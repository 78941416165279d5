package verify

import (
	"crypto/sha256"
	"os"
	"testing"
)

// BenchmarkPrintTools is the print of every program that PATH of this machine
// leads to, and of the libraries beside them.
func BenchmarkPrintTools(b *testing.B) {
	bench := &Bench{environ: os.Environ()}
	files := 0
	for b.Loop() {
		p := &prints{to: sha256.New(), left: mostIdentity, seen: map[string]bool{}}
		if err := bench.printTools(p, "none"); err != nil {
			b.Fatal(err)
		}
		files = mostIdentity - p.left
	}
	b.ReportMetric(float64(files), "files")
}
