package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"forge/internal/fakemodel"
)

// usage: try script.json reqs.out cmd... (env BASE set)
func main() {
	var turns []fakemodel.Turn
	b, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(b, &turns); err != nil {
		panic(err)
	}
	s, _ := fakemodel.Start()
	defer s.Close()
	u := s.Script("x", turns...)
	c := exec.Command(os.Args[3], os.Args[4:]...)
	c.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+u)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	fmt.Fprintln(os.Stderr, "EXIT", err)
	f, _ := os.Create(os.Args[2])
	for _, r := range s.Requests("x") {
		var m map[string]any
		json.Unmarshal(r.Body, &m)
		tools := []string{}
		if a, ok := m["tools"].([]any); ok {
			for _, t := range a {
				tools = append(tools, fmt.Sprint(t.(map[string]any)["name"]))
			}
		}
		ms, _ := json.Marshal(m["messages"])
		fmt.Fprintf(f, "REQ %s side=%v model=%v tools=%s\n  messages=%s\n", r.Path, r.Side, m["model"], strings.Join(tools, ","), ms)
	}
	f.Close()
}
