package cli

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/host/hosttest"
)

// Killed when the host has just opened the pull request, and when it has just
// merged it, Forge makes no second pull request and merges nothing twice.
func TestIssueKilledAtTheHost(t *testing.T) {
	t.Parallel()
	s := issueHub(t, "end_to_end")
	kills := []string{"POST /repos/octo/repo/pulls", "PUT /repos/octo/repo/pulls/1/merge"}
	for _, at := range kills {
		s.killed(func(req *http.Request) bool { return req.Method+" "+req.URL.Path == at })
	}
	s.proxy.Misbehave(nil)
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
}

// killed runs the factory as a process of its own, and kills it when the host
// has done what at names.
func (s *shopWorld) killed(at func(*http.Request) bool) {
	s.t.Helper()
	child := exec.Command(os.Args[0], "-test.run", "^TestShopChild$")
	child.Env = append(append([]string{}, s.env...), "SHOP_CHILD="+s.root)
	var hit atomic.Bool
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	started := make(chan struct{})
	s.proxy.Misbehave(func(req *http.Request) hosttest.Fault {
		if !at(req) {
			return hosttest.Fault{}
		}
		return hosttest.Fault{After: true, Cut: true, Then: func() {
			hit.Store(true)
			<-started
			_ = child.Process.Kill() // it may be gone
		}}
	})
	err := child.Start()
	if err != nil {
		s.t.Fatal(err)
	}
	close(started)
	err = child.Wait()
	if !hit.Load() {
		s.t.Fatalf("it was not killed: %v\n%s", err, out.Bytes())
	}
}

// TestShopChild is the process that is killed.
func TestShopChild(t *testing.T) {
	root := os.Getenv("SHOP_CHILD")
	if root == "" {
		t.Skip("it is run by others")
	}
	app := &App{Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: root, Now: time.Now}
	os.Exit(app.Run(context.Background(), []string{"factory", "--once"}))
}
