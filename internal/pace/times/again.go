package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// player plays one test of a package by itself and says how many seconds it took.
type player interface {
	play(pkg, name string) (float64, error)
	io.Closer
}

// again takes the time of each test that is over the budget without a reason once
// more, by itself.
func (r *report) again(with player) error {
	var over []*test
	for _, t := range r.tests {
		if t.name != "" && t.result == "pass" && t.seconds > budget && r.reason(t) == "" {
			over = append(over, t)
		}
	}
	slices.SortFunc(over, func(a, b *test) int {
		return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.name, b.name))
	})
	for _, t := range over {
		seconds, err := with.play(t.pkg, t.name)
		if err != nil {
			return errors.Join(fmt.Errorf("play %s %s by itself: %w", t.pkg, t.name, err), with.Close())
		}
		t.seconds, t.alone = seconds, true
	}
	return with.Close()
}

// programs is the player: it builds the test program of one package at a time.
type programs struct {
	pkg, dir string // of the program that is there; "" = none
	at       string // folder of the program
}

func alone() player { return &programs{} }

func (p *programs) Close() error {
	if p.at == "" {
		return nil
	}
	return os.RemoveAll(p.at)
}

// build makes the program of a package, and finds where it is to be run.
func (p *programs) build(pkg string) error {
	if p.pkg == pkg {
		return nil
	}
	if p.at == "" {
		at, err := os.MkdirTemp("", "forge-times-")
		if err != nil {
			return err
		}
		p.at = at
	}
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return fmt.Errorf("find %s: %w", pkg, err)
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", p.program(), pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
	}
	p.pkg, p.dir = pkg, strings.TrimSpace(string(dir))
	return nil
}

func (p *programs) program() string { return filepath.Join(p.at, "one.test") }

// play counts from the program's start: that is a few hundredths of a second more
// than the test. A test that did not run has no time.
func (p *programs) play(pkg, name string) (float64, error) {
	if err := p.build(pkg); err != nil {
		return 0, err
	}
	cmd := exec.Command(p.program(), "-test.v", "-test.run", pattern(name))
	cmd.Dir = p.dir
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: "+name+" (") {
		return 0, fmt.Errorf("it was not played:\n%s", out)
	}
	return time.Since(began).Seconds(), nil
}

// pattern is what -test.run takes for one test by its name as it is told.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
