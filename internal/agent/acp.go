package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"forge/internal/proc"
	"forge/internal/text"
	"forge/internal/work"
)

// The kind "acp" is any program that speaks the Agent Client Protocol: it is
// asked by JSON-RPC over its standard input and output. acptalk.go leads the
// conversation, acphears.go gives it what people say meanwhile, acpstream.go reads what comes, acppermit.go answers requests
// for permission, acpjudge.go says what it all means.

// acpFacts names no variables and no files: whose program it is, and how that
// logs in, only the user's settings can say. Whether a server takes what a person
// says while it works, it tells when it runs.
func acpFacts() Facts { return Facts{Continues: true, ReadOnly: true, Listens: true, MCP: true} }

// acpPostResult is how long a server may stay after its standard input has
// ended. Many never exit by themselves; they have nothing more to do.
const acpPostResult = 5 * time.Second

func launchACP(s setting) (launch, error) {
	path, args, err := acpCommand(s.req.Agent, s.environ)
	if err != nil {
		return launch{}, err
	}
	switch s.req.Permission {
	case work.PermissionStandard, work.PermissionAutonomous, work.PermissionReadonly:
	default:
		return launch{}, fmt.Errorf("unknown permission mode %q", s.req.Permission)
	}
	stream := newACPStream(s)
	return launch{
		path: path, args: args, input: stream.input, hand: stream.hand,
		readFiles: shown(path), read: modulesOf(path),
		readOnly: s.sandboxed && s.req.Permission == work.PermissionReadonly,
		stream:   stream, begin: stream.begin, ending: stream.cancel,
		postResult: acpPostResult,
	}, nil
}

func acpCommand(a work.AgentSettings, e environ) (path string, args []string, err error) {
	if len(a.Command) == 0 || a.Command[0] == "" {
		return "", nil, errors.New(`no command is set: write command = ["…"], the program that speaks the Agent Client Protocol and its arguments`)
	}
	path, ok := e.look(a.Command[0], a.Checkout)
	if !ok {
		return "", nil, fmt.Errorf("%s is not an executable file in %s", a.Command[0], lookedIn(a.Command[0], a.Checkout))
	}
	return path, slices.Concat(a.Command[1:], a.Args), nil
}

// detectACP shakes hands with the server, which is how it tells its version.
// Whether it is logged in, most say only when they are asked for work.
func detectACP(ctx context.Context, a work.AgentSettings, e environ) Detection {
	d := Detection{LoggedIn: LoginUnknown}
	path, args, err := acpCommand(a, e)
	if err != nil {
		d.Why = err.Error()
		return d
	}
	d.Path = path
	hello, err := acpHello(ctx, e, a, path, args)
	if err != nil {
		d.Why = fmt.Sprintf("%s does not speak the Agent Client Protocol: %v", strings.Join(a.Command, " "), err)
		return d
	}
	d.Found = true
	if hello.Agent.Version != "" {
		d.Version = text.Clip(text.PlainLine(strings.TrimSpace(hello.Agent.Name+" "+hello.Agent.Version)), 80)
	}
	return d
}

// acpHello starts the server, asks it who it is, and ends it.
func acpHello(ctx context.Context, e environ, a work.AgentSettings, path string, args []string) (acpServer, error) {
	request, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": acp.AgentMethodInitialize, "params": acpInitialize(),
	})
	if err != nil {
		return acpServer{}, fmt.Errorf("write the request: %w", err)
	}
	input := newAgentInput()
	_, _ = input.Write(append(request, '\n')) // takes all
	answer := &acpAnswer{come: make(chan struct{})}
	p, err := proc.Start(ctx, proc.Spec{
		Path: path, Args: args, Dir: os.TempDir(), Env: e.of(work.IterationRequest{Agent: a}, launch{}),
		Stdin: input, Stdout: answer,
		Limits: proc.Limits{Total: detectPatience, Drain: time.Second, Grace: time.Second},
	})
	if err != nil {
		input.Close()
		return acpServer{}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Wait()
	}()
	select {
	case <-answer.come:
	case <-ended:
	}
	input.Close()
	p.Stop()
	<-ended
	if answer.server.Version == 0 {
		return acpServer{}, errors.New("it does not answer " + acp.AgentMethodInitialize)
	}
	return answer.server, answer.server.check()
}

// acpAnswer is a writer that waits for the answer to the first request.
type acpAnswer struct {
	server acpServer
	come   chan struct{} // closed when it is there
	line   []byte
}

// Write reads on. It never fails.
func (a *acpAnswer) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if len(a.line)+len(line) <= maxACPHello {
			a.line = append(a.line, line...)
		}
		if line[len(line)-1] == '\n' {
			a.read(a.line)
			a.line = a.line[:0]
		}
	}
	return len(p), nil
}

// maxACPHello bounds what a server says of itself.
const maxACPHello = 1 << 20

func (a *acpAnswer) read(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result *acpServer      `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	select {
	case <-a.come:
		return
	default:
	}
	if json.Unmarshal(line, &m) != nil || string(m.ID) != "1" || m.Result == nil && m.Error == nil {
		return
	}
	if m.Result != nil {
		a.server = *m.Result
	}
	close(a.come)
}

func acpInitialize() acp.InitializeRequest {
	// Files and terminals are not offered: the server works in the folder
	// itself, within the same sandbox.
	return acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo:      &acp.Implementation{Name: "forge", Version: "1"},
	}
}

// acpServer is what a server says of itself.
type acpServer struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Meta     json.RawMessage `json:"_meta"` // of any form
		Load     bool            `json:"loadSession"`
		Sessions struct {
			Resume *struct{} `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Agent struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
}

func (s acpServer) check() error {
	if s.Version != acp.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the protocol, Forge %d", s.Version, acp.ProtocolVersionNumber)
	}
	return nil
}

// continues says that sessions outlive the server's process.
func (s acpServer) continues() bool {
	return s.Capabilities.Load || s.Capabilities.Sessions.Resume != nil
}
