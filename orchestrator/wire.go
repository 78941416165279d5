package orchestrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Effects and facts have a form as JSON, by which they get from one process to
// another: {"kind": …, "version": …, "data": …}. Nothing in it is guessed: an
// unknown kind, another version and an unknown field are errors. Whoever changes
// what a field means, or adds one, raises the version; see testdata/wire. Until a
// release uses the form, it is enough to make those files anew.

// wireVersion is the version of the form, for all kinds.
const wireVersion = 1

type wire struct {
	Kind    string          `json:"kind"`
	Version int             `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// wireEffects are all effects by their kind.
func wireEffects() map[string]Effect {
	return map[string]Effect{
		"folder": FolderEffect{}, "iterate": IterateEffect{}, "tell": TellEffect{}, "verify": VerifyEffect{}, "control": ControlEffect{}, "review": ReviewEffect{},
		"arbiter": ArbiterEffect{}, "merge": MergeEffect{}, "train": TrainEffect{}, "land": LandEffect{}, "land_pull": LandPullEffect{}, "publish": PublishEffect{},
		"vote": VoteEffect{}, "pull": ReadEffect{}, "close": CloseEffect{}, "deliver": DeliverEffect{}, "together": TogetherEffect{}, "hook": HookEffect{},
	}
}

// wireFacts are all facts by their kind, but for the one that the core tells
// itself.
func wireFacts() map[string]Fact {
	return map[string]Fact{
		"opened": Opened{}, "resumed": Resumed{}, "began": Began{}, "folder": FolderDone{}, "iterate": IterationDone{}, "tell": TellDone{}, "verify": VerifyDone{},
		"control": ControlDone{}, "review": ReviewDone{}, "arbiter": ArbiterDone{}, "vote": VoteDone{}, "merge": MergeDone{}, "train": TrainDone{}, "land": LandDone{},
		"publish": PublishDone{}, "pull": ReadDone{}, "close": CloseDone{}, "deliver": DeliverDone{}, "together": TogetherDone{}, "hook": HookDone{}, "broke": Broke{}, "answered": Answered{},
		"overdue": Overdue{}, "tick": Tick{}, "stop": Stop{}, "drained": Drained{},
	}
}

// EncodeEffect is e as JSON.
func EncodeEffect(e Effect) ([]byte, error) { return encodeWire("effect", e, wireEffects()) }

// DecodeEffect is the effect that EncodeEffect wrote.
func DecodeEffect(data []byte) (Effect, error) { return decodeWire("effect", data, wireEffects()) }

// EncodeFact is f as JSON. The whole last message of an agent is not in it: it is
// never recorded.
func EncodeFact(f Fact) ([]byte, error) { return encodeWire("fact", f, wireFacts()) }

// DecodeFact is the fact that EncodeFact wrote.
func DecodeFact(data []byte) (Fact, error) { return decodeWire("fact", data, wireFacts()) }

func encodeWire[T any](what string, value T, kinds map[string]T) ([]byte, error) {
	for kind, of := range kinds {
		if reflect.TypeOf(of) != reflect.TypeOf(value) {
			continue
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("write the %s %s: %w", what, kind, err)
		}
		return json.Marshal(wire{Kind: kind, Version: wireVersion, Data: data})
	}
	return nil, fmt.Errorf("write the %s %T: it has no kind", what, value)
}

func decodeWire[T any](what string, data []byte, kinds map[string]T) (T, error) {
	var none T
	var w wire
	if err := strictly(data, &w); err != nil {
		return none, fmt.Errorf("read the %s: %w", what, err)
	}
	of, known := kinds[w.Kind]
	switch {
	case !known:
		return none, fmt.Errorf("read the %s: unknown kind %q (known: %s)", what, w.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	case w.Version != wireVersion:
		return none, fmt.Errorf("read the %s %s: version %d, and this Forge reads %d: both sides need the same release", what, w.Kind, w.Version, wireVersion)
	}
	into := reflect.New(reflect.TypeOf(of))
	if err := strictly(w.Data, into.Interface()); err != nil {
		return none, fmt.Errorf("read the %s %s: %w", what, w.Kind, err)
	}
	return into.Elem().Interface().(T), nil
}

// strictly reads one JSON value without unknown fields, and nothing after it.
func strictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if dec.More() {
		return fmt.Errorf("more follows after its end")
	}
	return nil
}
