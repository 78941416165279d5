package work

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestParseStop(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want StopRequest
		bad  bool
	}{
		{`{"type":"deliverable","summary":"the report","paths":["a.md"]}`, StopRequest{"deliverable", "the report", []string{"a.md"}}, false},
		{`{"type":" notes "}`, StopRequest{Type: "notes"}, false},
		{`{"type":""}`, StopRequest{}, true},
		{`{"summary":"x"}`, StopRequest{}, true},
		{`{"type":"a","level":"full"}`, StopRequest{}, true},
		{`{"type":7}`, StopRequest{}, true},
		{`["deliverable"]`, StopRequest{}, true},
		{`{"type":"a","type":"b"}`, StopRequest{}, true},
	} {
		got, err := ParseStop(json.RawMessage(tt.raw))
		if (err != nil) != tt.bad || err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v; want %+v, an error %v", tt.raw, got, err, tt.want, tt.bad)
		}
	}
}

func TestParseCompletion(t *testing.T) {
	sure := func(f float64) *float64 { return &f }
	for _, tt := range []struct {
		raw        string
		confidence *float64
		bad        bool
	}{
		{`{"summary":"done","deliverables":["a"],"confidence":0.9,"notes":""}`, sure(0.9), false},
		{`{"summary":"done"}`, nil, false},
		{`{"summary":"done","confidence":1.7}`, nil, false},
		{`{"summary":"done","confidence":"high"}`, nil, false},
		{`{"summary":"done","confidence":null}`, nil, false},
		{`{"summary":" "}`, nil, true},
		{`{"summary":"x","deliverables":"a"}`, nil, true},
		{`{"summary":"x","approved":true}`, nil, true},
		{`true`, nil, true},
	} {
		got, err := ParseCompletion(json.RawMessage(tt.raw))
		if (err != nil) != tt.bad || err == nil && !reflect.DeepEqual(got.Confidence, tt.confidence) {
			t.Errorf("%s: got %+v, %v; want confidence %v, an error %v", tt.raw, got, err, tt.confidence, tt.bad)
		}
	}
}
