// Package cluster runs a Postgres server of its own in a temporary folder, which only
// this machine reaches, by a unix socket.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a server with its data.
type Cluster struct {
	bin, dir string
	owner    *syscall.Credential // nil: this process's user
	server   *exec.Cmd
}

// Programs is the folder of Postgres's programs on this machine, "" = there are none.
func Programs(path string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // where Debian has them, off the PATH
	slices.Sort(found)
	slices.Reverse(found)
	for _, dir := range append(filepath.SplitList(path), found...) {
		if info, err := os.Stat(filepath.Join(dir, "initdb")); err == nil && info.Mode()&0o111 != 0 {
			return dir
		}
	}
	return ""
}

// New makes a cluster and starts its server, by the programs in bin. More are settings
// of postgresql.conf, as name=value. The caller removes it.
func New(bin string, more ...string) (c *Cluster, err error) {
	// A short name: that of a socket may have 107 bytes.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	c = &Cluster{bin: bin, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Remove())
		}
	}()
	if os.Getuid() == 0 {
		if c.owner, err = unprivileged(); err != nil {
			return c, err
		}
		if err := os.Chown(dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			return c, err
		}
	}
	init := c.command("initdb", "-D", c.data(), "-U", "forge", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	if out, err := init.CombinedOutput(); err != nil {
		return c, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return c, err
	}
	_, err = fmt.Fprintf(f, "listen_addresses = ''\nunix_socket_directories = '%s'\nmax_connections = 200\n%s\n", dir, strings.Join(more, "\n"))
	if err := errors.Join(err, f.Close()); err != nil {
		return c, err
	}
	return c, c.Up()
}

// Remove stops the server and removes all that there is of it.
func (c *Cluster) Remove() error {
	c.Stop(syscall.SIGQUIT)
	return os.RemoveAll(c.dir)
}

// unprivileged is a user that is not root, as which Postgres runs.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("there is no user postgres or nobody, as whom Postgres could run")
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "d") }

func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true}
	return cmd
}

// Begin starts the server and does not wait for it.
func (c *Cluster) Begin() error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	server := c.command("postgres", "-D", c.data())
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return err
	}
	c.server = server
	return nil
}

// Up starts the server and waits until it answers.
func (c *Cluster) Up() error {
	if err := c.Begin(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := pgx.Connect(context.Background(), c.URL("postgres", ""))
		if err == nil {
			return conn.Close(context.Background())
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("Postgres does not come up: %w\n%s", err, log)
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
