package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"forge/internal/refusal"
	"forge/internal/text"
)

// Offer is a tool as a model in this process is told of it.
type Offer struct {
	Name, About string
	Schema      json.RawMessage // of its input
}

// Offers are the tools that the grant allows, in the order in which a client is
// told of them.
func (s *Server) Offers() ([]Offer, error) {
	var out []Offer
	for _, t := range tools() {
		if !t.allows(s.Config) {
			continue
		}
		schema, err := t.in()
		if err != nil {
			return nil, fmt.Errorf("describe the tool %s: %w", t.name, err)
		}
		data, err := json.Marshal(schema)
		if err != nil {
			return nil, fmt.Errorf("describe the tool %s: %w", t.name, err)
		}
		out = append(out, Offer{Name: t.name, About: t.about, Schema: data})
	}
	return out, nil
}

// Call calls a tool as a client does, within the grant and with its record. The
// error is what a client would be told.
func (s *Server) Call(ctx context.Context, name string, input json.RawMessage) (string, error) {
	for _, t := range tools() {
		if t.name == name && t.allows(s.Config) {
			said, err := t.call(ctx, s, t, input)
			if err != nil {
				return "", err
			}
			return said.String(), nil
		}
	}
	return "", refusal.New("use one of those that you were told of", "there is no tool %s", label(name))
}

// read reads the input of a tool. A word that the tool does not know is told: who
// wrote it means something by it.
func read(input json.RawMessage, into any) error {
	if len(bytes.TrimSpace(input)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refusal.New("read what the tool takes", "the input cannot be read: %s", text.OneLine(err.Error(), 200))
	}
	if _, more := d.Token(); more != io.EOF {
		return refusal.New("send one JSON object", "there is more than one value")
	}
	return nil
}
