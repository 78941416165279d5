package triage

import (
	"encoding/json"
	"slices"

	"forge/gates"
)

// Combined is the target of a call that asks for all three at once.
const Combined gates.Point = "combined"

type object = map[string]any

// Schema is the JSON schema of an answer about target, or of a combined one. It
// is closed: every field is named, every field is required.
func Schema(target gates.Point, depth int) json.RawMessage {
	s := schemaOf(target, depth)
	if target == Combined {
		all := object{}
		for _, t := range gates.Targets() {
			all[string(t)] = schemaOf(t, depth)
		}
		s = closed(all)
	}
	text, _ := json.Marshal(s) // maps of words and numbers
	return text
}

func schemaOf(target gates.Point, depth int) object {
	fields := object{
		"summary":    texts(1500, "in plain words, for the person who confirms it"),
		"confidence": object{"type": "number", "minimum": 0, "maximum": 1, "description": "how sure you are that a person would agree"},
		"question":   texts(800, "what has to be asked before anybody can go on; empty when nothing has"),
	}
	switch target {
	case gates.PointIntent:
		fields["wants"] = list(8, texts(200, "one thing that has to be true afterwards"))
	case gates.PointContext:
		fields["touches"] = list(20, texts(120, "a file, part or service"))
		fields["risks"] = list(8, texts(200, "what may go wrong"))
	case gates.PointAction:
		risk := object{"type": "string", "enum": []string{"low", "medium", "high"}}
		fields["kind"] = object{"type": "string", "enum": gates.ActionKinds()}
		fields["name"] = texts(80, "of the action; for kind standard one of the known ones")
		fields["steps"] = list(12, texts(200, "one step"))
		fields["irreversibility"], fields["regret_potential"] = risk, risk
		fields["risk_amplifier"] = object{"type": "boolean", "description": "true when anything makes it riskier than it looks"}
		fields["requires_post_review"] = object{"type": "boolean"}
		most := MaxSubIssues
		if depth >= MaxDepth {
			most = 0
		}
		fields["sub_issues"] = list(most, closed(object{
			"title": texts(200, ""), "description": texts(3000, ""),
			"criteria": list(6, texts(300, "a condition that its result is held against")),
			"level":    texts(64, "name of a policy that is no freer than this issue's; empty for the same"),
			"needs":    list(MaxSubIssues, object{"type": "integer", "minimum": 1, "maximum": MaxSubIssues, "description": "place of a part before this one that has to be done first"}),
		}))
	}
	return closed(fields)
}

func closed(fields object) object {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return object{"type": "object", "properties": fields, "required": names, "additionalProperties": false}
}

func list(most int, of object) object {
	return object{"type": "array", "maxItems": most, "items": of}
}

func texts(most int, about string) object {
	t := object{"type": "string", "maxLength": most}
	if about != "" {
		t["description"] = about
	}
	return t
}
