package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"forge/internal/project"
	"forge/orchestrator"
)

// relocated is an effect of a run that began on another machine as it is to be carried
// out on this one: what is at a path of the checkout there is at that path of the one
// here, and the sandbox is the one that this machine's own configuration says. from is
// the checkout there.
func relocated(of orchestrator.Effect, from string, p *project.Checkout) (orchestrator.Effect, error) {
	data, err := orchestrator.EncodeEffect(of)
	if err != nil {
		return nil, err
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("read the effect: %w", err)
	}
	text, err := json.Marshal(p.Config.SandboxSettings())
	if err != nil {
		return nil, err
	}
	to := relocation{from: from, to: p.Base.RepoRoot}
	if err := json.Unmarshal(text, &to.sandbox); err != nil {
		return nil, err
	}
	to.walk(tree)
	if data, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	return orchestrator.DecodeEffect(data)
}

type relocation struct {
	from, to string
	sandbox  any
}

// walk changes the fields that hold paths of a machine. What others wrote, such as a
// prompt, stays as it is, whatever it says.
func (r relocation) walk(node any) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			r.walk(one)
		}
	case map[string]any:
		for key, value := range node {
			text, isText := value.(string)
			list, _ := value.([]any)
			switch {
			case strings.EqualFold(key, "sandbox") && value != nil:
				node[key] = r.sandbox
			case isText && (key == "checkout" || key == "repo_root" || key == "file"):
				node[key] = r.moved(text)
			case key == "command" && len(list) > 0:
				if first, is := list[0].(string); is {
					list[0] = r.moved(first)
				}
			default:
				r.walk(value)
			}
		}
	}
}

func (r relocation) moved(path string) string {
	if path == r.from {
		return r.to
	}
	if rest, ok := strings.CutPrefix(path, r.from+"/"); ok {
		return r.to + "/" + rest
	}
	return path
}
