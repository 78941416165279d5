package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

func TestEmbed(t *testing.T) {
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	body := func(text string) fakemodel.Service {
		return fakemodel.Service{Turns: []fakemodel.Turn{{Body: text}}}
	}
	for name, tc := range map[string]struct {
		service fakemodel.Service
		kind    Kind
		says    string
	}{
		"good":         {service: fakemodel.Service{Dims: 8, Models: []string{"vectors"}}},
		"other order":  {service: body(`{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}],"usage":{"prompt_tokens":3,"total_tokens":3}}`)},
		"after a 503":  {service: fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Status: 503}}}}},
		"one missing":  {body(`{"data":[{"index":0,"embedding":[1,0]}]}`), BadAnswer, "1 for 2 texts"},
		"one twice":    {body(`{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`), BadAnswer, "is none or has one"},
		"no such text": {body(`{"data":[{"index":0,"embedding":[1,0]},{"index":2,"embedding":[1,0]}]}`), BadAnswer, "is none or has one"},
		"two lengths":  {body(`{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1]}]}`), BadAnswer, "1 numbers, another 2"},
		"empty":        {body(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`), BadAnswer, "0 numbers"},
		"no direction": {body(`{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,0]}]}`), BadAnswer, "points nowhere"},
		"an error":     {body(`{"error":{"message":"overloaded","code":400}}`), Rejected, "overloaded"},
		"no model":     {fakemodel.Service{Models: []string{"other"}}, UnknownModel, "vectors"},
		"no key":       {fakemodel.Service{Key: "k"}, Unauthorized, "401"},
	} {
		c, err := New(Config{BaseURL: s.Service(name[:4], tc.service), Model: "chat", Roles: map[string]string{RoleEmbedding: "vectors"}, Secrets: []string{"hunter2hunter2"}})
		if err != nil {
			t.Fatal(err)
		}
		c.wait = (&waits{}).wait
		v, err := c.Embed(t.Context(), []string{"one hunter2hunter2", "two"})
		c.Close()
		if KindOf(err) != tc.kind || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %s %s", name, err, tc.kind, tc.says)
		}
		if err == nil && (len(v.Of) != 2 || v.Model != "vectors" || len(v.Of[0]) != len(v.Of[1])) {
			t.Errorf("%s: %+v", name, v)
		}
		if name == "other order" && (v.Of[0][0] != 1 || v.Of[1][1] != 1 || *v.Tokens != 3) {
			t.Errorf("%s: %+v, want them as the texts are", name, v)
		}
		for _, r := range s.Requests(name[:4]) {
			var asked struct{ Input []string }
			if err := json.Unmarshal(r.Body, &asked); err != nil || len(asked.Input) != 2 || strings.Contains(asked.Input[0], "hunter2") {
				t.Errorf("%s: sent %s, %v", name, r.Body, err)
			}
		}
	}
}

// A model that answers questions makes no vectors: without one of their own none is
// asked.
func TestEmbedWithoutARole(t *testing.T) {
	c, err := New(Config{BaseURL: "http://127.0.0.1:1/v1", Model: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Embed(t.Context(), []string{"x"}); KindOf(err) != UnknownModel || !strings.Contains(err.Error(), "embedding") {
		t.Error(err)
	}
}
