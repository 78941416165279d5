package fakemodel

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Service is an OpenAI-compatible model that is asked single questions, not by
// an agent: each request counts, with or without tools.
type Service struct {
	Key     string   // the key that it wants, "" = none
	Models  []string // that it has, none = any
	Formats []string // types of response_format that it takes, none = any
	Dims    int      // how many numbers a vector has, 0 = DefaultDims
	Turns   []Turn   // answers in this order; a Turn with When waits for its request
	// Answer makes the answer to a request's body in the place of Turns; nil = they
	// are used. It is called for one request at a time.
	Answer func(body []byte) Turn
}

// Service sets what is answered under URL(name)+"/v1", as Script does, and
// returns that address. Requests that it turns away use no turn up.
func (s *Server) Service(name string, svc Service) string {
	url := s.Script(name, svc.Turns...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[name].service = &svc
	return url + "/v1"
}

// answer takes the first turn that is meant for the request.
func (sc *script) answer(r Request, serial int) Turn {
	if f, away := sc.service.turnsAway(r); away {
		return Turn{Fault: f, serial: serial}
	}
	if sc.service.Answer != nil {
		t := sc.service.Answer(r.Body)
		t.serial = serial
		return t
	}
	for i := range sc.turns {
		t := sc.turns[i]
		if t.When != "" && !bytes.Contains(r.Body, []byte(t.When)) {
			continue
		}
		switch {
		case t.Repeat > 0:
			sc.turns[i].Repeat--
		case t.Repeat == 0:
			sc.turns = slices.Delete(sc.turns, i, i+1)
		}
		t.serial = serial
		return t
	}
	return Turn{Text: "The script is over.", serial: serial}
}

// turnsAway says what is wrong with a request, as a real service does: it
// lacks the key, or wants a model or a format that there is not.
func (svc *Service) turnsAway(r Request) (f Fault, away bool) {
	var ask struct {
		Model  string `json:"model"`
		Format struct {
			Type string `json:"type"`
		} `json:"response_format"`
	}
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch err := json.Unmarshal(r.Body, &ask); {
	case err != nil:
		return Fault{Status: http.StatusBadRequest, Message: err.Error()}, true
	case svc.Key != "" && given != svc.Key:
		return Fault{Status: http.StatusUnauthorized, Kind: "invalid_api_key", Message: "Incorrect API key provided: " + given}, true
	case len(svc.Models) > 0 && !slices.Contains(svc.Models, ask.Model):
		return Fault{Status: http.StatusNotFound, Kind: "model_not_found", Message: "The model " + strconv.Quote(ask.Model) + " does not exist"}, true
	case ask.Format.Type != "" && len(svc.Formats) > 0 && !slices.Contains(svc.Formats, ask.Format.Type):
		return Fault{Status: http.StatusBadRequest, Message: "Invalid parameter: response_format of type " + ask.Format.Type + " is not supported"}, true
	}
	return f, false
}

// writeBody sends an answer, half of it where the script cuts.
func writeBody(w http.ResponseWriter, t Turn, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if !t.Fault.Cut {
		_, _ = w.Write(body) // the client may be gone
		return
	}
	_, _ = w.Write(body[:len(body)/2])
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	hangUp(w)
}
