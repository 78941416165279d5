package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

// The agent of a phase may be given an MCP server: Forge's own program, started by
// the agent as it starts any server, which hands what it hears to this process over
// a socket. Nothing else crosses into the sandbox, so that neither a network nor the
// journal has to be seen there. The right to ask is the connection, from a process of
// the agent's own tree: there is no secret that could be printed, written into a
// file or kept in a log. It ends with the iteration, and with Forge.

// Tools makes what an agent is given.
type Tools interface {
	// For serves the agent of an iteration until ctx ends, and with that whatever it
	// could do. ask takes a question to a person, or says why not. What is returned
	// speaks with one program until that goes; several may be there at once.
	For(ctx context.Context, req work.IterationRequest, ask func(work.Question) error) (func(net.Conn), error)
}

const (
	// toolsChildArg tells Forge that it is the server that an agent starts.
	toolsChildArg = "__agent-tools"
	// toolsName is what agents call the server, toolsFile the settings that name it,
	// in the form that most programs read.
	toolsName = "forge"
	toolsFile = "mcp.json"
	// mostToolConns is how many programs of an agent speak with it at once: one, and
	// those of agents that it starts itself.
	mostToolConns = 8
)

// offer is what one iteration is given; nil = nothing.
type offer struct {
	dir     string // holds the socket and the settings
	command string // Forge's own program
	args    []string

	red      *redact.Redactor
	listener *net.UnixListener
	serve    func(net.Conn)
	ctx      context.Context // of the iteration; ends with close
	end      context.CancelFunc
	all      sync.WaitGroup

	mu      sync.Mutex
	process *proc.Process
	begun   chan struct{} // closed with the first process
	asked   []work.Question
}

// offer makes what the request wants for the agent.
func (a *Agents) offer(ctx context.Context, req work.IterationRequest, facts Facts) (_ *offer, err error) {
	if !req.MCP || a.config.Tools == nil || !facts.MCP {
		return nil, nil
	}
	o := &offer{red: a.config.Redact, begun: make(chan struct{})}
	if o.command, err = forgeItself(a.config.Executable); err != nil {
		return nil, err
	}
	if o.listener, o.dir, err = proc.ListenAlone("tools-"); err != nil {
		return nil, err
	}
	o.ctx, o.end = context.WithCancel(ctx)
	o.args = []string{toolsChildArg, o.listener.Addr().String()}
	settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{toolsName: map[string]any{"command": o.command, "args": o.args}}})
	if err == nil {
		err = os.WriteFile(o.settings(), settings, 0o600)
	}
	if err == nil {
		o.serve, err = a.config.Tools.For(o.ctx, req, o.ask)
	}
	if err != nil {
		o.close()
		return nil, fmt.Errorf("offer tools to the agent: %w", err)
	}
	o.all.Go(o.accept)
	return o, nil
}

// forgeItself is Forge's own program, where nobody names another one.
func forgeItself(executable string) (string, error) {
	if executable != "" {
		return executable, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find Forge's own program: %w", err)
	}
	return self, nil
}

// settings is the file that names the server, as mcpServers.
func (o *offer) settings() string { return filepath.Join(o.dir, toolsFile) }

// accept lets the agent's programs in until the offer ends.
func (o *offer) accept() {
	stop := context.AfterFunc(o.ctx, func() { _ = o.listener.Close() })
	defer stop()
	slots := make(chan struct{}, mostToolConns)
	for {
		conn, err := o.listener.AcceptUnix()
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		o.all.Go(func() {
			defer func() { <-slots }()
			defer func() { _ = conn.Close() }()
			end := context.AfterFunc(o.ctx, func() { _ = conn.Close() })
			defer end()
			if o.of(conn) {
				o.serve(conn)
			}
		})
	}
}

// of says that a connection comes from the agent. Other programs of this user could
// reach the socket too, where no sandbox keeps them away.
func (o *offer) of(conn *net.UnixConn) bool {
	select {
	case <-o.begun:
	case <-o.ctx.Done():
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.process.Speaks(conn)
}

// runs says which process the agent is.
func (o *offer) runs(p *proc.Process) {
	if o == nil || p == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.process == nil {
		close(o.begun)
	}
	o.process = p
}

// ask keeps a question for the end of the iteration, where it stands as if it had
// been said. The same counts once.
func (o *offer) ask(q work.Question) error {
	q = redactedQuestion(q, o.red)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ctx.Err() != nil:
		return errors.New("the iteration is over")
	case hasQuestion(o.asked, q):
		return nil
	case len(o.asked) >= work.MaxAskedAtOnce:
		return fmt.Errorf("%s wait for an answer already; end your message, and ask what is still open in the next one", text.Number(len(o.asked), "question"))
	}
	o.asked = append(o.asked, q)
	return nil
}

// report adds what was asked by the tool to what was said in words.
func (o *offer) report(r *work.IterationReport) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Signals.Questions = askedOnce(o.asked, r.Signals.Questions)
}

// shown adds what a sandbox has to show for it.
func (o *offer) shown(s *proc.Sandbox) {
	if o == nil || s == nil {
		return
	}
	s.Read, s.Sockets = append(s.Read, o.dir), append(s.Sockets, o.dir)
	files := shown(o.command)
	for in, out := range s.ReadFiles {
		files[in] = out
	}
	s.ReadFiles = files
}

// close ends the offer, and waits for those who speak.
func (o *offer) close() {
	if o == nil {
		return
	}
	o.end()
	_ = o.listener.Close()
	o.all.Wait()
	_ = os.RemoveAll(o.dir)
}
