//go:build real

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/pace"
)

// team is a factory day on several machines: a Temporal server and Postgres of its own,
// two workers without a checkout, and two servers with pages over the one database.
type team struct {
	*company
	cluster  *pgtest.Cluster
	db       *pgx.Conn // of the record, until Postgres is killed
	temporal *process
	port     string
	servers  []*factoryServer
}

const teamIssues = 3

// victims are what dies on a bad day, and comes back, or is replaced.
var victims = []struct {
	name string
	kill func(m *team)
}{
	{"first worker", func(m *team) { m.workers[0].end(syscall.SIGKILL); m.worker() }},
	{"Postgres", func(m *team) { m.cluster.Stop(syscall.SIGQUIT); m.cluster.Up() }},
	{"first server", func(m *team) { m.servers[0].kill(); m.serve("three") }},
	{"Temporal", func(m *team) { m.temporal.end(syscall.SIGKILL); m.temporalUp() }},
	{"second worker", func(m *team) { m.workers[1].end(syscall.SIGKILL); m.worker() }},
	{"second server", func(m *team) { m.servers[1].kill(); m.serve("three") }},
}

func newTeam(t *testing.T) *team {
	t.Helper()
	m := &team{cluster: pgtest.Start(t), port: pgtest.FreePort(t), company: &company{station: newMachine(t, ""), at: filepath.Join(t.TempDir(), "team.git")}}
	m.install("forge-temporal")
	if err := os.Symlink(os.Getenv("FORGE_REAL_TEMPORAL"), filepath.Join(m.bin, "temporal")); err != nil {
		t.Fatal(err)
	}
	m.temporalUp()
	url := m.cluster.Schema(t)
	agent := filepath.Join(m.bin, "agent.sh")
	script := "#!/bin/sh\nn=${FORGE_PHASE_NAME#thing}\nsleep 0.3\necho made >>\"$FORGE_PHASE_NAME.txt\"\necho \"<promise>ISSUE $n DONE</promise>\"\n"
	config := "[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"agent.sh\"]\n[factory]\ndefault_policy = \"full\"\ntriage = \"off\"\nmax_running = 2\n[proof]\nproduct = [\"**\"]\ncontrols = false\n[verify]\ncommands = [\"test -f script.toml\"]\n"
	for path, text := range map[string]string{agent: script, filepath.Join(m.root, ".forge", "forge.toml"): config} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.git("commit", "-qam", "factory")
	m.git("init", "-q", "--bare", "-b", "main", m.at)
	m.station = m.with("TEAM_DB=" + url)
	m.engine = inPostgres + "[sandbox]\nmode = \"off\"\n[worker]\nslots = 2\ndrain_secs = 5\n[engine]\nkind = \"temporal\"\ntakeover_secs = 2\naddress = \"127.0.0.1:" + m.port + "\"\n"
	m.configure(m.engine + "objects = \"" + m.at + "\"\n")
	setup := m.start("forge-temporal", "setup")
	<-setup.over
	for n := range teamIssues {
		m.forge(0, "", "issue", "add", fmt.Sprint("thing", n+1), "--column", "ready")
	}
	var err error
	if m.db, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.db.Close(context.Background()) })
	m.worker()
	m.worker()
	m.serve("one")
	m.serve("two")
	return m
}

func (m *team) serve(name string) { m.servers = append(m.servers, m.factory(name)) }

// temporalUp starts the server, with what it knew, and waits until it listens.
func (m *team) temporalUp() {
	m.Helper()
	m.temporal = m.start("temporal", "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", m.port, "--db-filename", filepath.Join(m.bin, "temporal.db"), "--log-level", "error")
	m.temporal.until("Temporal listens", func() bool {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+m.port, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// count is a number of the database.
func (m *team) count(db *pgx.Conn, ask string) (n int64) {
	m.Helper()
	if err := db.QueryRow(m.Context(), ask).Scan(&n); err != nil {
		m.Fatal(err)
	}
	return n
}

// written waits until the journals of all runs hold so many events, or all is done.
func (m *team) written(events int64) {
	m.Helper()
	for began := time.Now(); m.count(m.db, "SELECT count(*) FROM events") < events && !m.done(m.db); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			m.Fatalf("event %d is not written", events)
		}
	}
}

func (m *team) done(db *pgx.Conn) bool {
	return m.count(db, "SELECT count(*) FROM issues WHERE col = 'done'") == teamIssues
}

// came waits until all is done, and is what came of the day: what must be so whoever was
// killed is held.
func (m *team) came() (came string, events int64) {
	m.Helper()
	db, err := pgx.Connect(m.Context(), m.db.Config().ConnString())
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	for began := time.Now(); !m.done(db); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 4*time.Minute {
			m.Fatal("the day does not end")
		}
	}
	for n := range teamIssues {
		name := fmt.Sprint("thing", n+1)
		if got := m.git("show", "forge/landed:"+name+".txt"); got != "made\n" {
			m.Errorf("%s holds %q, want what its agent made once", name, got)
		}
		if n := strings.Count("\n"+m.git("log", "--no-merges", "--format=%s", "forge/landed"), "\n"+name+"\n"); n != 1 {
			m.Errorf("%s landed %d times", name, n)
		}
	}
	for what, ask := range map[string]string{
		"iterations that count twice": `SELECT count(*) FROM (SELECT id >> 32, phase, iteration FROM events WHERE kind = 'iteration.finished' AND data NOT LIKE '%"outcome":"interrupted"%' GROUP BY 1, 2, 3 HAVING count(*) > 1) AS twice`,
		"issues that landed twice":    `SELECT count(*) FROM (SELECT issue FROM issue_history WHERE entry LIKE '%"landed"%' GROUP BY 1 HAVING count(*) > 1) AS twice`,
	} {
		if n := m.count(db, ask); n != 0 {
			m.Errorf("%d %s", n, what)
		}
	}
	if n := m.count(db, `SELECT count(*) FROM issue_history WHERE entry LIKE '%"landed"%'`); n != teamIssues {
		m.Errorf("%d issues landed, want %d", n, teamIssues)
	}
	m.forge(0, "", "audit", "verify")
	came = fmt.Sprintf("%d runs\n%s", m.count(db, "SELECT count(*) FROM runs"), m.git("ls-tree", "-r", "forge/landed"))
	return came, m.count(db, "SELECT count(*) FROM events")
}

// Whatever dies by kill -9 at whatever event of a factory's day, a worker, a server with
// pages, Temporal's or Postgres: the day ends with the same trees, no iteration counts
// twice, and no result lands twice.
func TestRealFactoryKilledAtEveryEvent(t *testing.T) {
	pace.Slow(t, "days of a factory with real servers; a worker's death is noticed after 30 seconds")
	pace.Soak(t, "each kill takes a day of its own with six programs")
	if os.Getenv("FORGE_REAL_TEMPORAL") == "" {
		t.Skip("FORGE_REAL_TEMPORAL names no server: scripts/real.sh does")
	}
	whole := newTeam(t)
	want, events := whole.came()
	whole.over()
	const each = 2 // victims at each event
	kills := int(events) * each
	t.Logf("%d events, %d kills", events, kills)
	slots := make(chan struct{}, 6)
	for n := range kills {
		at := 1 + int64(n)*(events-1)/int64(max(kills-1, 1))
		victim := victims[n%len(victims)]
		t.Run(fmt.Sprintf("%s at event %d", victim.name, at), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			m := newTeam(t)
			m.written(at)
			victim.kill(m)
			if came, _ := m.came(); came != want {
				t.Errorf("it came to\n%s\nundisturbed it comes to\n%s", came, want)
			}
		})
	}
}

// over ends the servers and the workers of a day.
func (m *team) over() {
	for _, s := range m.servers {
		s.kill()
	}
	for _, p := range append(m.workers, m.temporal) {
		p.end(syscall.SIGKILL)
	}
}
