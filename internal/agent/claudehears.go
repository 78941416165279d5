package agent

import (
	"encoding/json"
	"fmt"
)

// Claude Code reads messages from standard input for as long as that is open. It
// tells of each when it has it, and when its model is given it: between two tool
// calls, or in a turn of its own behind the one that is under way.

// say writes a message with the id by which the program tells of it.
func (c *claudeStream) say(id, text string) error {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	line, err := json.Marshal(struct {
		Type    string  `json:"type"`
		ID      string  `json:"uuid"`
		Message message `json:"message"`
	}{"user", id, message{"user", text}})
	if err != nil {
		return err
	}
	_, err = c.input.Write(append(line, '\n'))
	return err
}

// hand writes what a person says. The program wants ids of its own form.
func (c *claudeStream) hand(id, words string) error {
	own := newSessionID()
	c.mu.Lock()
	c.names[own] = id
	c.mu.Unlock()
	if err := c.say(own, words); err != nil {
		return fmt.Errorf("write to the agent: %w", err)
	}
	return nil
}

func (c *claudeStream) nameOf(own string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[own]
}

// lifecycle is what the program tells of a message that it read.
func (c *claudeStream) lifecycle() {
	id := c.nameOf(string(c.event[claudeCommand].text))
	switch string(c.event[claudeState].text) {
	case "queued":
		c.told.took(id)
	case "started", "completed":
		c.told.gave(id)
	}
}

// replayed is a message that the model is given, told again.
func (c *claudeStream) replayed() {
	if c.event[claudeReplay].kind == 't' {
		c.told.gave(c.nameOf(string(c.event[claudeOwnID].text)))
	}
}
