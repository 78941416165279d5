// Package pgtest runs a real Postgres for tests: a cluster of its own in a
// temporary folder, which only this machine reaches, by a unix socket.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Programs names the folder of Postgres's programs; scripts/real.sh sets it.
const Programs = "FORGE_REAL_POSTGRES"

// Cluster is a server with its data.
type Cluster struct {
	tb       testing.TB
	bin, dir string
	owner    *syscall.Credential // nil: this process's user
	server   *exec.Cmd
	schemas  atomic.Int64
}

// Start makes a cluster, which ends with the test. More are settings of
// postgresql.conf, as name=value.
func Start(tb testing.TB, more ...string) *Cluster {
	tb.Helper()
	bin := os.Getenv(Programs)
	if bin == "" {
		tb.Skipf("%s does not name the folder of Postgres's programs", Programs)
	}
	// A short name: that of a socket may have 107 bytes.
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // the name of a test makes that of a socket too long
	if err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{tb: tb, bin: bin, dir: dir}
	tb.Cleanup(func() {
		c.Stop(syscall.SIGQUIT)
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	if os.Getuid() == 0 {
		c.owner = unprivileged(tb)
		if err := os.Chown(dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	c.run("initdb", "-D", c.data(), "-U", "forge", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(f, "listen_addresses = ''\nunix_socket_directories = '%s'\nmax_connections = 200\n", dir)
	for _, line := range more {
		fmt.Fprintln(f, line)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	c.Up()
	return c
}

// unprivileged is a user that is not root, as which Postgres runs.
func unprivileged(tb testing.TB) *syscall.Credential {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	tb.Fatal("there is no user postgres or nobody, as whom Postgres could run")
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "d") }

func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true}
	return cmd
}

func (c *Cluster) run(program string, args ...string) {
	c.tb.Helper()
	if out, err := c.command(program, args...).CombinedOutput(); err != nil {
		c.tb.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Begin starts the server and does not wait for it.
func (c *Cluster) Begin() {
	c.tb.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer log.Close()
	c.server = c.command("postgres", "-D", c.data())
	c.server.Stdout, c.server.Stderr = log, log
	if err := c.server.Start(); err != nil {
		c.tb.Fatal(err)
	}
}

// Up starts the server and waits until it answers.
func (c *Cluster) Up() {
	c.tb.Helper()
	c.Begin()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), c.URL("postgres", ""))
		if err == nil {
			_ = conn.Close(context.Background())
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			c.tb.Fatalf("Postgres does not come up: %v\n%s", err, log)
		}
	}
}

// Stop ends the server: SIGQUIT is an immediate stop, after which it has to
// recover; SIGINT a fast one. It may be called when it does not run.
func (c *Cluster) Stop(how syscall.Signal) {
	if c.server == nil {
		return
	}
	_ = c.server.Process.Signal(how)
	_ = c.server.Wait()
	c.server = nil
}

// URL is how a database is reached, with one schema on its path.
func (c *Cluster) URL(database, schema string) string {
	query := url.Values{"host": {c.dir}, "user": {"forge"}}
	if schema != "" {
		query.Set("search_path", schema)
	}
	return "postgres:///" + database + "?" + query.Encode()
}

// Exec carries statements out in the database postgres.
func (c *Cluster) Exec(tb testing.TB, statements string) {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), c.URL("postgres", ""))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(context.Background(), statements); err != nil {
		tb.Fatal(err)
	}
}

// Schema makes an empty schema and returns the URL of it.
func (c *Cluster) Schema(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprint("s", c.schemas.Add(1))
	c.Exec(tb, "CREATE SCHEMA "+name)
	return c.URL("postgres", name)
}
