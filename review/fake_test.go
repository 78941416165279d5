package review

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"forge/internal/work"
)

// fakeModel answers from a function, and remembers what it was asked.
type fakeModel struct {
	answer func(n int, q Question) (string, error) // n from 1

	mu    sync.Mutex
	asked []Question
}

func (m *fakeModel) Ask(_ context.Context, q Question) (Reply, error) {
	m.mu.Lock()
	m.asked = append(m.asked, q)
	n := len(m.asked)
	m.mu.Unlock()
	text, err := m.answer(n, q)
	in, out, usd := int64(100), int64(10), 0.25
	return Reply{
		JSON: []byte(text), Model: "fake-1", Usage: work.Usage{InputTokens: &in, OutputTokens: &out, CostUSD: &usd},
		Request: fmt.Appendf(nil, "request %d", n), Answer: []byte(text),
	}, err
}

// saying gives the same answers in turn, the last one for ever.
func saying(texts ...string) *fakeModel {
	return &fakeModel{answer: func(n int, _ Question) (string, error) { return texts[min(n, len(texts))-1], nil }}
}

func says(verdict string, findings ...string) string {
	return `{"verdict":"` + verdict + `","confidence":0.8,"findings":[` + strings.Join(findings, ",") + `]}`
}

func at(severity, file string, line int, issue string) string {
	return fmt.Sprintf(`{"file":%q,"line":%d,"severity":%q,"issue":%q,"failure":"f","suggestion":"s"}`, file, line, severity, issue)
}
