// Package pgtest runs a real Postgres for tests.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"forge/cmd/forge-temporal/internal/postgres/cluster"
)

// Programs names the folder of Postgres's programs; scripts/real.sh sets it.
const Programs = "FORGE_REAL_POSTGRES"

// Cluster is a server with its data.
type Cluster struct {
	*cluster.Cluster
	tb      testing.TB
	schemas atomic.Int64
}

// Start makes a cluster, which ends with the test. More are settings of
// postgresql.conf, as name=value.
func Start(tb testing.TB, more ...string) *Cluster {
	tb.Helper()
	bin := os.Getenv(Programs)
	if bin == "" {
		tb.Skipf("%s does not name the folder of Postgres's programs", Programs)
	}
	c, err := cluster.New(bin, more...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Remove(); err != nil {
			tb.Error(err)
		}
	})
	return &Cluster{Cluster: c, tb: tb}
}

// Begin starts the server and does not wait for it.
func (c *Cluster) Begin() {
	c.tb.Helper()
	if err := c.Cluster.Begin(); err != nil {
		c.tb.Fatal(err)
	}
}

// Up starts the server and waits until it answers.
func (c *Cluster) Up() {
	c.tb.Helper()
	if err := c.Cluster.Up(); err != nil {
		c.tb.Fatal(err)
	}
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

// FreePort is a port of a server that is killed and comes back.
func FreePort(tb testing.TB) string {
	tb.Helper()
	port, err := cluster.FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
