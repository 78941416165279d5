//go:build real

package postgres_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"forge/cmd/forge-temporal/internal/postgres"
	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/journal"
	"forge/internal/work"
)

// What the test program does as another process: a verb and the URL.
const childMode = "FORGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if verb, url, is := strings.Cut(os.Getenv(childMode), " "); is {
		if err := child(context.Background(), verb, url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func child(ctx context.Context, verb, url string) error {
	server, err := postgres.New("TEST_URL", url, time.Minute, nil)
	if err != nil {
		return err
	}
	s, err := journal.OpenServer(ctx, server)
	if err != nil {
		return err
	}
	defer s.Close()
	if verb == "append" {
		return appendWithoutEnd(ctx, s, func(seq int64) { fmt.Println(seq) })
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	_, err = s.Answer(ctx, work.Answer{Checkpoint: "run.1", Revision: 1, Status: work.CheckpointApproved, By: fmt.Sprint(os.Getpid()), At: time.Now()})
	switch {
	case err == nil:
		fmt.Println("won")
	case errors.Is(err, work.ErrAlreadyResolved):
		fmt.Println("lost")
	default:
		return err
	}
	return nil
}

func start(t *testing.T, verb, url string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childMode+"="+verb+" "+url)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func event(seq int64, data string) work.Event {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return work.Event{V: work.EventVersion, Seq: seq, Time: time.Unix(1700000000+seq, 42).UTC(), Run: "run", Kind: work.RunStarted, Data: text}
}

// appendWithoutEnd appends events, each with its blob, until one is refused.
func appendWithoutEnd(ctx context.Context, s *journal.Store, done func(int64)) error {
	l, err := s.CreateRun(ctx, "run", journal.Self())
	if errors.Is(err, journal.ErrRunExists) {
		l, err = s.AcquireRun(ctx, "run", journal.Self())
	}
	if err != nil {
		return err
	}
	seq, _, err := s.Head(ctx, "run")
	for err == nil && ctx.Err() == nil {
		seq++
		var sha string
		if sha, err = s.PutBlob(ctx, fmt.Append(nil, "blob ", seq)); err == nil {
			err = s.Append(ctx, l, journal.Append{Events: []work.Event{event(seq, sha)}})
		}
		if err == nil {
			done(seq)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// whole holds what is stored against what was acknowledged: each event once, in
// order, its chain whole, its blob there.
func whole(t *testing.T, s *journal.Store, acknowledged int64, atMostMore int64) int64 {
	t.Helper()
	events, err := s.Events(t.Context(), "run", 0)
	if err != nil {
		t.Fatal(err)
	}
	stored := int64(len(events))
	if stored < acknowledged || stored > acknowledged+atMostMore {
		t.Fatalf("%d events are stored, %d were acknowledged", stored, acknowledged)
	}
	for _, e := range events {
		var sha string
		if err := json.Unmarshal(e.Data, &sha); err != nil {
			t.Fatal(err)
		}
		if data, err := s.Blob(t.Context(), sha); err != nil || string(data) != fmt.Sprint("blob ", e.Seq) {
			t.Fatalf("the blob of event %d is %q, %v", e.Seq, data, err)
		}
	}
	return stored
}

// kills is how often something is killed: FORGE_KILLS, or few.
func kills(few int) int {
	if n, err := strconv.Atoi(os.Getenv("FORGE_KILLS")); err == nil {
		return n
	}
	return few
}

// A client that is killed at any moment leaves every event that it acknowledged,
// and at most the one that was under way, which the server may store a moment after
// the client is gone.
func TestRealPostgresClientKilled(t *testing.T) {
	url := pgtest.Start(t).Schema(t)
	s := open(t, url)
	stored, late := int64(0), int64(0)
	for round := range kills(3) {
		cmd, lines := start(t, "append", url)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := stored
		left := 1 + rand.IntN(40)
		for lines.Scan() {
			if lines.Text() == fmt.Sprint(stored+2) && acknowledged == stored {
				acknowledged += late
			}
			if lines.Text() != fmt.Sprint(acknowledged+1) {
				t.Fatalf("round %d: %q was acknowledged after %d", round, lines.Text(), acknowledged)
			}
			acknowledged++
			if left--; left == 0 {
				_ = cmd.Process.Kill()
			}
		}
		if err := cmd.Wait(); err == nil || left > 0 {
			t.Fatalf("round %d: it ended by itself: %v", round, err)
		}
		stored = whole(t, s, acknowledged, 1)
		late = 1 - (stored - acknowledged)
	}
}

// A server that is stopped at any moment, and comes back, costs a run nothing:
// what it appends waits, and is there once.
func TestRealPostgresServerKilled(t *testing.T) {
	cluster := pgtest.Start(t)
	var said sync.Map
	server, err := postgres.New("TEST_URL", cluster.Schema(t), time.Minute, func(what string) { said.Store(what[:30], true) })
	if err != nil {
		t.Fatal(err)
	}
	s, err := journal.OpenServer(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	var last atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- appendWithoutEnd(ctx, s, func(seq int64) { last.Store(seq) }) }()
	for range kills(3) {
		// Where it is killed is counted in appends, and then any moment of one.
		for until := last.Load() + 1 + rand.Int64N(30); last.Load() < until; time.Sleep(time.Millisecond) {
			select {
			case err := <-ended:
				t.Fatalf("after %d events: %v", last.Load(), err)
			default:
			}
		}
		time.Sleep(time.Duration(rand.Int64N(int64(3 * time.Millisecond))))
		cluster.Stop(syscall.SIGQUIT)
		cluster.Up()
	}
	until := last.Load() + 5
	for last.Load() < until && ctx.Err() == nil {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	whole(t, s, last.Load(), 1)
	words := 0
	said.Range(func(any, any) bool { words++; return true })
	if words != 2 {
		t.Errorf("%d sorts of words were said of the server, want that it was away and that it is back", words)
	}
}

// cutter stands between client and server, and cuts the connection on which the
// next commit is asked for.
type cutter struct {
	after atomic.Bool  // cut when the server has it, else before
	cuts  atomic.Int64 // how many are still to be cut
	// commit is the name under which commits are prepared, a string, once it is known.
	commit atomic.Value
}

// prepared is a commit that is prepared, which pgx does once on each connection.
var prepared = regexp.MustCompile(`(stmtcache_[0-9a-f]+)\x00COMMIT\x00`)

func (c *cutter) listen(t *testing.T, to string) (url string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "px") //nolint:usetesting // the name of a test makes that of a socket too long
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); os.RemoveAll(dir) })
	_, rest, _ := strings.Cut(to, "host=")
	host, rest, _ := strings.Cut(rest, "&")
	socket := strings.ReplaceAll(host, "%2F", "/")
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(socket, ".s.PGSQL.5432"))
			if err != nil {
				client.Close()
				continue
			}
			go c.pass(client, server)
		}
	}()
	return "postgres:///postgres?host=" + strings.ReplaceAll(dir, "/", "%2F") + "&" + rest
}

func (c *cutter) pass(client, server net.Conn) {
	var silent atomic.Bool
	go func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || silent.Load() {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	defer server.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if named := prepared.FindSubmatch(buffer[:n]); named != nil {
			c.commit.Store(string(named[1]))
		}
		// The name of what is carried out follows that of its portal, which is empty.
		if name, known := c.commit.Load().(string); known && bytes.Contains(buffer[:n], []byte("\x00"+name+"\x00")) && c.cuts.Add(-1) >= 0 {
			silent.Store(true)
			if c.after.Load() {
				_, _ = server.Write(buffer[:n])
				time.Sleep(20 * time.Millisecond)
			}
			client.Close()
			return
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A connection that is lost at the commit itself: whether it was carried out is
// asked, and what was is not done again, what was not is.
func TestRealPostgresLostCommit(t *testing.T) {
	cluster := pgtest.Start(t)
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after=%v", after), func(t *testing.T) {
			direct := cluster.Schema(t)
			var c cutter
			s := open(t, c.listen(t, direct))
			l, err := s.CreateRun(t.Context(), "run", journal.Self())
			if err != nil {
				t.Fatal(err)
			}
			c.after.Store(after)
			for seq := int64(1); seq <= 5; seq++ {
				c.cuts.Store(1)
				if err := s.Append(t.Context(), l, journal.Append{Events: []work.Event{event(seq, "x")}}); err != nil {
					t.Fatalf("event %d: %v", seq, err)
				}
				if c.cuts.Load() >= 0 && c.cuts.Load() != 0 {
					t.Fatal("nothing was cut")
				}
			}
			events, err := open(t, direct).Events(t.Context(), "run", 0)
			if err != nil || len(events) != 5 {
				t.Errorf("%d events, %v; want 5", len(events), err)
			}
		})
	}
}

// Of processes that answer one checkpoint at once one is heard.
func TestRealPostgresOneAnswer(t *testing.T) {
	url := pgtest.Start(t).Schema(t)
	s := open(t, url)
	l, err := s.CreateRun(t.Context(), "run", journal.Self())
	if err != nil {
		t.Fatal(err)
	}
	asked := work.Checkpoint{ID: "run.1", Run: "run", Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now().UTC()}
	if err := s.Append(t.Context(), l, journal.Append{Events: []work.Event{event(1, "x")}, Open: []work.Checkpoint{asked}}); err != nil {
		t.Fatal(err)
	}
	const people = 4
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	var ins []interface{ Write([]byte) (int, error) }
	for range people {
		cmd, out := start(t, "answer", url)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !out.Scan() || out.Text() != "ready" {
			t.Fatal("a process did not begin")
		}
		cmds, outs, ins = append(cmds, cmd), append(outs, out), append(ins, in)
	}
	for _, in := range ins {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	won := 0
	for i, cmd := range cmds {
		if outs[i].Scan() && outs[i].Text() == "won" {
			won++
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	inbox, err := s.Inbox(t.Context(), "run")
	if err != nil || won != 1 || len(inbox) != 1 {
		t.Errorf("%d of %d were heard, with %d rows (%v); want one", won, people, len(inbox), err)
	}
}

// Who watches sees what another process appends within a second, also after the
// server was away, and asks the server nothing for it.
func TestRealPostgresWatch(t *testing.T) {
	cluster := pgtest.Start(t)
	url := cluster.Schema(t)
	watcher, other := open(t, url), open(t, url)
	seen := func() int64 {
		t.Helper()
		n, err := watcher.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// It begins with the first question, and says once that something may have
	// been missed.
	for before := seen(); seen() == before; time.Sleep(time.Millisecond) {
	}
	l, err := other.CreateRun(t.Context(), "run", journal.Self())
	if err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq <= 6; seq++ {
		if seq == 4 {
			cluster.Stop(syscall.SIGQUIT)
			cluster.Up()
			time.Sleep(3 * time.Second) // it is tried again within two
		}
		time.Sleep(20 * time.Millisecond) // what was told before has come
		before := seen()
		if err := other.Append(t.Context(), l, journal.Append{Events: []work.Event{event(seq, "x")}}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for seen() == before {
			if time.Since(began) > time.Second {
				t.Fatalf("event %d was not seen within a second", seq)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// What a user can mend is one clear error, which does not name the password.
func TestRealPostgresRefusals(t *testing.T) {
	cluster := pgtest.Start(t)
	cluster.Exec(t, `CREATE ROLE reader LOGIN PASSWORD 'hunter2'; CREATE SCHEMA locked; CREATE SCHEMA newer; CREATE SCHEMA foreign_one; CREATE TABLE foreign_one.theirs (a int);
		GRANT USAGE ON SCHEMA locked TO reader`)
	newer := cluster.URL("postgres", "newer")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Exec(t, `INSERT INTO newer.forge_journal VALUES (1000, 0)`)
	ready := cluster.Schema(t)
	if err := open(t, ready).Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Exec(t, `GRANT USAGE ON SCHEMA s1 TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA s1 TO reader`)
	as := func(url string) string { return strings.Replace(url, "user=forge", "user=reader&password=hunter2", 1) }
	for name, c := range map[string]struct {
		url, want string
		is        error
	}{
		"nothing":         {"", "is not set", nil},
		"another scheme":  {"mysql://u:hunter2@h/d", "does not hold the URL", nil},
		"no URL":          {"postgres://u:hunter2@h:port/d", "cannot be used", nil},
		"no database":     {cluster.URL("nothing", ""), "there is no such database", nil},
		"no schema":       {cluster.URL("postgres", "nowhere"), "no schema of that name", nil},
		"another program": {cluster.URL("postgres", "foreign_one"), "tables of another program", nil},
		"newer":           {newer, "use a newer Forge", journal.ErrNewer},
		"no rights":       {as(cluster.URL("postgres", "locked")), "let its user make tables", journal.ErrReadOnly},
		"no such user":    {strings.Replace(ready, "user=forge", "user=nobody_here", 1), "does not let this user in", nil},
		"away":            {"postgres://u:hunter2@127.0.0.1:1/d", "start it, or look at the address", journal.ErrServer},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := tryOpen(t, c.url)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	// Who may read alone cannot work with it, and is told so when it is tried.
	s, err := tryOpen(t, as(ready))
	if err == nil {
		_, err = s.CreateRun(t.Context(), "run", journal.Self())
	}
	if !errors.Is(err, journal.ErrReadOnly) {
		t.Errorf("who may only read gets %v", err)
	}
}

// Texts that Postgres does not take as they are come back as they were.
func TestRealPostgresOddTexts(t *testing.T) {
	s := open(t, pgtest.Start(t).Schema(t))
	l, err := s.CreateRun(t.Context(), "run", journal.Self())
	if err != nil {
		t.Fatal(err)
	}
	want := event(1, "x")
	want.Phase, want.Data = "a\x00b\xff␀", []byte("\"\xff ␀ \\u0000\"")
	if err := s.Append(t.Context(), l, journal.Append{Events: []work.Event{want}}); err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), "run", 0)
	if err != nil || len(events) != 1 || events[0].Phase != want.Phase || !bytes.Equal(events[0].Data, want.Data) {
		t.Errorf("%+v, %v", events, err)
	}
}

// Blobs of any size come back; one that was changed, or is gone, is said.
func TestRealPostgresBlobs(t *testing.T) {
	cluster := pgtest.Start(t)
	s := open(t, cluster.Schema(t))
	for _, size := range []int{0, 1, 4 << 20, 9<<20 + 1} {
		data := bytes.Repeat([]byte("b\x00"), size/2+1)[:size]
		for range 2 {
			sha, err := s.PutBlob(t.Context(), data)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.Blob(t.Context(), sha); err != nil || !bytes.Equal(got, data) {
				t.Errorf("of %d bytes %d came back, %v", size, len(got), err)
			}
		}
	}
	sha, err := s.PutBlob(t.Context(), []byte("to be damaged"))
	if err != nil {
		t.Fatal(err)
	}
	cluster.Exec(t, `UPDATE s1.blobs SET data = 'other' WHERE sha = '`+sha+`'`)
	if _, err := s.Blob(t.Context(), sha); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("a damaged blob gives %v", err)
	}
	if _, err := s.PutBlob(t.Context(), []byte("to be damaged")); err != nil {
		t.Fatal(err)
	}
	cluster.Exec(t, `DELETE FROM s1.blobs WHERE sha = '`+sha+`'`)
	if _, err := s.Blob(t.Context(), sha); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, journal.ErrBroken) {
		t.Errorf("a missing blob gives %v", err)
	}
}

// A lease is by the server's clock, and nobody loses one because the server was
// away: nobody could say that he lives.
func TestRealPostgresLeaseOutlivesTheServer(t *testing.T) {
	cluster := pgtest.Start(t)
	s := open(t, cluster.Schema(t))
	far := journal.Owner{ID: "far", PID: 1, Host: "elsewhere"}
	if _, err := s.CreateRun(t.Context(), "run", far); err != nil {
		t.Fatal(err)
	}
	cluster.Exec(t, `UPDATE s1.runs SET heartbeat = heartbeat - 600000000000`)
	_, err := s.AcquireRun(t.Context(), "run", journal.Self())
	var held *journal.LeaseError
	if !errors.As(err, &held) || time.Since(held.Heartbeat) > time.Minute {
		t.Errorf("a run was taken whose owner could not say that he lives: %v", err)
	}
}
