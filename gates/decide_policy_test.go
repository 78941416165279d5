package gates

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

const allSeven = `"state","confidence","consent","irreversibility","regret","risk_amplifier","action_kind"`

// soundClaim is a proposal with nothing against it, and more fields.
func soundClaim(more string) string {
	return `{"confidence":0.9,"kind":"standard","name":"tidy","irreversibility":"low","regret_potential":"LOW","risk_amplifier":false` + more + `}`
}

func TestDecideJobs(t *testing.T) {
	goesOn := `{"freeze":false,"freeze_context":null,"job_status":"processing","pr":"auto_merge"}`
	frozen := func(at string) string {
		return `{"freeze":true,"freeze_context":"` + at + `","job_status":"pending_review","pr":"requires_approval"}`
	}
	tests := []struct{ kind, in, want string }{
		{"freeze", `{"level":"full","phase_type":"strategic","phase_number":1,"job_complete":false}`, goesOn},
		{"freeze", `{"level":"full","phase_type":"tactical","phase_number":2,"job_complete":true}`, `{"freeze":false,"freeze_context":null,"job_status":"completed","pr":"auto_merge"}`},
		{"freeze", `{"level":"review","phase_type":"tactical","phase_number":2,"job_complete":true}`, frozen("job_complete")},
		{"freeze", `{"level":null,"phase_type":"strategic","phase_number":1,"job_complete":false}`, frozen("initial_strategic")},
		{"freeze", `{"phase_type":"strategic","phase_number":1,"job_complete":false}`, frozen("initial_strategic")},
		{"freeze", `{"level":null,"phase_type":"strategic","phase_number":2,"job_complete":false}`, goesOn},
		{"freeze", `{"level":"partial","phase_type":"strategic","phase_number":0,"job_complete":false}`, frozen("initial_strategic")},
		{"freeze", `{"level":"guided","phase_type":"strategic","phase_number":3,"job_complete":false,"note":"x"}`, frozen("later_strategic")},
		{"freeze", `{"level":"guided","phase_type":"tactical","phase_number":2,"job_complete":false}`, goesOn},
		{"freeze", `{"level":"dependent","phase_type":"tactical","phase_number":1,"job_complete":false}`, frozen("tactical")},
		{"freeze", `{"level":"dependent","phase_type":"strategic","phase_number":1,"job_complete":true}`, frozen("job_complete")},
		{"freeze", `{"level":"semi_supervised","phase_type":"strategic","phase_number":1,"job_complete":false}`, goesOn},

		{"resume", `{"freeze_context":"initial_strategic","decision":"approve"}`, `{"next_phase":"tactical","next_kind":"first_tactical","todos":"staged","job_status":"processing","merge":true}`},
		{"resume", `{"freeze_context":"later_strategic","decision":"approve"}`, `{"next_phase":"tactical","next_kind":"next_tactical","todos":"staged","job_status":"processing","merge":true}`},
		{"resume", `{"freeze_context":"later_strategic","decision":"feedback"}`, `{"next_phase":"strategic","next_kind":"rework_strategic","todos":"resume","job_status":"processing","merge":false}`},
		{"resume", `{"freeze_context":"tactical","decision":"approve"}`, `{"next_phase":"strategic","next_kind":"next_strategic","todos":"transition","job_status":"processing","merge":true}`},
		{"resume", `{"freeze_context":"tactical","decision":"feedback"}`, `{"next_phase":"strategic","next_kind":"feedback_strategic","todos":"resume","job_status":"processing","merge":false}`},
		{"resume", `{"freeze_context":"tactical","decision":"reject"}`, `{"next_phase":null,"next_kind":"end","todos":null,"job_status":"cancelled","merge":false}`},
		{"resume", `{"freeze_context":"job_complete","decision":"approve"}`, `{"next_phase":null,"next_kind":"end","todos":null,"job_status":"completed","merge":true}`},
		{"resume", `{"freeze_context":"job_complete","decision":"feedback"}`, `{"next_phase":"strategic","next_kind":"feedback_strategic","todos":"resume","job_status":"processing","merge":false}`},
		{"resume", `{"freeze_context":"job_complete","decision":"reject"}`, `{"next_phase":null,"next_kind":"end","todos":null,"job_status":"failed","merge":false}`},

		{"level", `{}`, `{"effective":"partial"}`},
		{"level", `{"framework":null,"expert":null,"override":null,"override_on_resume":null}`, `{"effective":"partial"}`},
		{"level", `{"framework":"review"}`, `{"effective":"review"}`},
		{"level", `{"framework":"review","expert":"full"}`, `{"effective":"full"}`},
		{"level", `{"framework":"review","expert":"debugger"}`, `{"effective":"full"}`},
		{"level", `{"framework":"partial","expert":"full","override":"guided"}`, `{"effective":"guided"}`},
		{"level", `{"framework":"partial","expert":"full","override":"guided","override_on_resume":"dependent"}`, `{"effective":"dependent"}`},
		{"level", `{"framework":"partial","expert":"full","override":null,"override_on_resume":"review"}`, `{"effective":"review"}`},

		{"checkpoint", `{"level":"manual","type":"anything"}`, `{"checkpoint":true}`},
		{"checkpoint", `{"level":"semi_supervised","type":"deliverable"}`, `{"checkpoint":true}`},
		{"checkpoint", `{"level":"semi_supervised","type":"Deliverable"}`, `{"checkpoint":false}`},
		{"checkpoint", `{"level":"semi_supervised","type":"intermediate"}`, `{"checkpoint":false}`},
		{"checkpoint", `{"level":"semi_supervised","type":"deliverable","checkpoint_types":["report"]}`, `{"checkpoint":false}`},
		{"checkpoint", `{"level":"semi_supervised","type":"report","checkpoint_types":["report"]}`, `{"checkpoint":true}`},
		{"checkpoint", `{"level":"semi_supervised","type":"deliverable","checkpoint_types":[]}`, `{"checkpoint":false}`},
		{"checkpoint", `{"level":"manual","type":"deliverable","checkpoint_types":["report"]}`, `{"checkpoint":true}`},
		{"checkpoint", `{"level":"autonomous","type":"report","checkpoint_types":["report"]}`, `{"checkpoint":false}`},
		{"checkpoint", `{"level":"autonomous","type":""}`, `{"checkpoint":false}`},
		{"checkpoint", `{"level":"review","type":"final_output"}`, `{"checkpoint":true}`},
	}
	for _, tt := range tests {
		if got, err := DecideLine(tt.kind, []byte(tt.in)); err != nil || string(got) != tt.want {
			t.Errorf("%s %s\n got %s, %v\nwant %s", tt.kind, tt.in, got, err, tt.want)
		}
	}
}

func TestDecideAdvance(t *testing.T) {
	advances := `{"decision":"advance","passed":[` + allSeven + `],"failed":[]}`
	three := `{"decision":"advance","passed":["state","confidence","consent"],"failed":[]}`
	surfaces := func(passed, failed string) string {
		list := func(words string) string {
			if words == "" {
				return "[]"
			}
			return `["` + strings.ReplaceAll(words, " ", `","`) + `"]`
		}
		return `{"decision":"surface","passed":` + list(passed) + `,"failed":` + list(failed) + `}`
	}
	ask := func(preset, override, target, proposal string) string {
		return `{"preset":"` + preset + `","override":` + override + `,"target":"` + target + `","proposal":` + proposal + `}`
	}
	tests := []struct{ in, want string }{
		{ask("full", "null", "action", soundClaim("")), advances},
		{ask("full", "{}", "action", soundClaim(`,"requires_post_review":true,"intrinsic":{},"thread_risk":{"irreversibility":"medium"}`)), advances},
		{`{"preset":"full","target":"intent","proposal":{"confidence":0.6}}`, three},
		{`{"preset":"full","target":"context","proposal":{"confidence":1,"irreversibility":"high","intrinsic":{"irreversibility":"high"}}}`, three},
		{ask("review", "{}", "action", soundClaim("")), surfaces("confidence irreversibility regret risk_amplifier action_kind", "state consent")},
		{ask("dependent", "{}", "intent", soundClaim("")), surfaces("confidence", "state consent")},
		{ask("default", `{"auto_advance":["context"]}`, "context", `{"confidence":0.3}`), three},
		{ask("default", `{"auto_advance":["context"]}`, "intent", `{"confidence":0.3}`), surfaces("confidence consent", "state")},
		{ask("full", `{"gates":{"action":"human","note":"why"},"name":"mine"}`, "action", soundClaim("")), surfaces("confidence consent irreversibility regret risk_amplifier action_kind", "state")},
		{ask("full", `{"action_kinds":[]}`, "action", soundClaim("")), surfaces("state confidence consent irreversibility regret risk_amplifier", "action_kind")},
		{ask("full", `{"consent":["action_picked","context_confirmed"]}`, "action", soundClaim("")), advances},
		{ask("full", `{"tier_floor":"user"}`, "intent", `{"confidence":0.7}`), three},
		{ask("full", `{"irreversibility_max":"low","regret_max":"LOW"}`, "action", soundClaim(`,"thread_risk":{"regret_potential":"medium"}`)), surfaces("state confidence consent irreversibility regret action_kind", "risk_amplifier")},
		{ask("full", `{"pause_on_risk_amplifier":false}`, "action", soundClaim(`,"intrinsic":{"regret_potential":"medium"}`)), advances},
		{ask("full", `{}`, "action", soundClaim(`,"intrinsic":{"regret_potential":"medium"}`)), surfaces("state confidence consent irreversibility regret action_kind", "risk_amplifier")},
		{ask("full", `{}`, "action", soundClaim(`,"intrinsic":{"irreversibility":""}`)), surfaces("state confidence consent regret action_kind", "irreversibility risk_amplifier")},
		{ask("full", `{}`, "action", `{}`), surfaces("state consent", "confidence irreversibility regret risk_amplifier action_kind")},
		{ask("full", `{}`, "action", `{"kind":"clarification","confidence":1}`), `{"decision":"clarify","passed":[],"failed":[]}`},
		{ask("hands_off", `{}`, "intent", `{"kind":"clarification"}`), `{"decision":"clarify","passed":[],"failed":[]}`},

		// What a proposal says wrongly counts against it.
		{ask("full", `{}`, "intent", `{"confidence":1.7}`), surfaces("state consent", "confidence")},
		{ask("full", `{}`, "intent", `{"confidence":"high"}`), surfaces("state consent", "confidence")},
		{ask("full", `{}`, "intent", `{"confidence":true}`), surfaces("state consent", "confidence")},
		{ask("full", `{}`, "intent", `{"confidence":null}`), surfaces("state consent", "confidence")},
		{ask("full", `{}`, "intent", `{"confidence":[0.9]}`), surfaces("state consent", "confidence")},
		{ask("full", `{}`, "intent", `{"confidence":-0.1}`), surfaces("state consent", "confidence")},
		{ask("full", `{}`, "intent", `{"confidence":1e999}`), surfaces("state consent", "confidence")},
		{ask("full", `{"confidence_floor":0}`, "intent", `{}`), surfaces("state consent", "confidence")},
		{
			ask("full", `{}`, "action", `{"confidence":0.9,"kind":5,"irreversibility":"severe","regret_potential":null,"risk_amplifier":"no","requires_post_review":"x","name":{}}`),
			surfaces("state confidence consent", "irreversibility regret risk_amplifier action_kind"),
		},
		{ask("full", `{}`, "action", soundClaim(`,"intrinsic":null,"thread_risk":{"note":"x"}`)), surfaces("state confidence consent action_kind", "irreversibility regret risk_amplifier")},
		{ask("full", `{}`, "action", soundClaim(`,"thread_risk":"low"`)), surfaces("state confidence consent irreversibility regret action_kind", "risk_amplifier")},
	}
	for _, tt := range tests {
		if got, err := DecideLine("advance", []byte(tt.in)); err != nil || string(got) != tt.want {
			t.Errorf("advance %s\n got %s, %v\nwant %s", tt.in, got, err, tt.want)
		}
	}
}

func TestDecideChains(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"parent":"full","parent_override":null,"child":"guided","child_override":null}`, `{"allowed":true,"violations":[],"other_violations":[]}`},
		{`{"parent":"manual","child":"<inherit>"}`, `{"allowed":true,"violations":[],"other_violations":[]}`},
		{`{"parent":"manual","child":"<inherit>","child_override":{"combined_inference":true,"tier_floor":"user","consent":["intent_confirmed","context_confirmed","action_picked","action_approved"]}}`, `{"allowed":true,"violations":[],"other_violations":[]}`},
		{`{"parent":"hands_off","child":"<inherit>","child_override":{"auto_advance":["intent"],"budget_usd":0.3,"regret_max":"high","confidence_floor":0.5}}`, `{"allowed":false,"violations":["auto_advance","confidence_floor","regret_max","budget_usd"],"other_violations":[]}`},
		{`{"parent":"plan_then_review","child":"end_to_end"}`, `{"allowed":false,"violations":["auto_advance","consent"],"other_violations":["final","blocker","ckpt.question","promote"]}`},
		{`{"parent":"full","parent_override":{"contexts":[],"action_kinds":["standard"],"pause_on_risk_amplifier":true},"child":"full","child_override":{"pause_on_risk_amplifier":false}}`, `{"allowed":false,"violations":["pause_on_risk_amplifier","action_kinds","contexts"],"other_violations":[]}`},
		{`{"parent":"dependent","child":"<inherit>","child_override":{"gates":{"plan.later":"auto","ckpt.x":"auto"},"on_stale":"pivot_then_fail"}}`, `{"allowed":false,"violations":[],"other_violations":["plan.later","stale","ckpt.x","on_stale"]}`},
		{`{"parent":"full","child":"full","child_override":{"tier_floor":"local_fast","tier_ceiling":"user"},"id":1}`, `{"allowed":false,"violations":["tier_floor","tier_ceiling"],"other_violations":[]}`},
	}
	for _, tt := range tests {
		if got, err := DecideLine("override", []byte(tt.in)); err != nil || string(got) != tt.want {
			t.Errorf("override %s\n got %s, %v\nwant %s", tt.in, got, err, tt.want)
		}
	}
	const guided = `{"policy":{"gates":{"action":"human","blocker":"human","ckpt.*":"auto","ckpt.deliverable":"human","ckpt.final_output":"human","ckpt.phase_transition":"human","ckpt.question":"human",` +
		`"context":"auto","decompose":"human","evidence":"human","final":"human","findings":"auto","intent":"auto","iteration":"auto","phase.start":"auto","plan.initial":"human","plan.later":"human",` +
		`"promote":"human","stale":"auto","subphase":"auto","tactical":"auto","tries":"human"},"consent":["action_approved"],"confidence_floor":0.6,"irreversibility_max":"medium",` +
		`"regret_max":"medium","pause_on_risk_amplifier":true,"action_kinds":["standard","improvised","suggestion"],"contexts":["action_proposal","agent_autonomous"],` +
		`"tier_floor":"frontier_fast","tier_ceiling":"agent_headless","budget_usd":0.5,"combined_inference":false,"on_stale":"pivot_then_fail","fail_verdict":"fail_phase","promote":"always_review"}}`
	bounded := strings.NewReplacer(`"budget_usd":0.5`, `"budget_usd":0.1`, `"action_kinds":["standard","improvised","suggestion"]`, `"action_kinds":[]`, `"stale":"auto"`, `"stale":"human"`,
		`"ckpt.question":"human"`, `"ckpt.question":"human","ckpt.report":"human"`, `"on_stale":"pivot_then_fail"`, `"on_stale":"ask"`).Replace(guided)
	for in, want := range map[string]string{
		`{"chain":["guided"]}`:         guided,
		`{"chain":["full","guided"]}`:  guided,
		`{"chain":["guided","full" ]}`: guided,
		`{"chain":["full",{"preset":"full","budget_usd":0.1,"action_kinds":[],"note":"x"},"guided",{"preset":"end_to_end","gates":{"ckpt.report":"human"},"on_stale":"ask","combined_inference":true}]}`: bounded,
	} {
		if got, err := DecideLine("effective", []byte(in)); err != nil || string(got) != want {
			t.Errorf("effective %s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
	long := `{"chain":[` + strings.Repeat(`"full",`, 500) + `"guided"]}`
	if got, err := DecideLine("effective", []byte(long)); err != nil || string(got) != guided {
		t.Errorf("a long chain: %s, %v", got, err)
	}
}

func TestDecidePolicyRefuses(t *testing.T) {
	freeze := func(level, kind, number, complete string) string {
		return `{"level":` + level + `,"phase_type":` + kind + `,"phase_number":` + number + `,"job_complete":` + complete + `}`
	}
	advance := func(preset, override, target, proposal string) string {
		return `{"preset":` + preset + `,"override":` + override + `,"target":` + target + `,"proposal":` + proposal + `}`
	}
	tests := []struct{ kind, in, code, says string }{
		{"freeze", `{}`, CodeMissingField, "phase_type"},
		{"freeze", freeze(`"fulll"`, `"tactical"`, "1", "false"), CodeBadValue, `did you mean "full"`},
		{"freeze", freeze(`"Full"`, `"tactical"`, "1", "false"), CodeBadValue, "level"},
		{"freeze", freeze(`""`, `"tactical"`, "1", "false"), CodeBadValue, "level"},
		{"freeze", freeze(`3`, `"tactical"`, "1", "false"), CodeBadValue, "level is 3"},
		{"freeze", freeze(`"full"`, `"Tactical"`, "1", "false"), CodeBadValue, "phase_type"},
		{"freeze", freeze(`"full"`, `null`, "1", "false"), CodeBadValue, "phase_type is null"},
		{"freeze", freeze(`"full"`, `"tactical"`, `"1"`, "false"), CodeBadValue, "phase_number"},
		{"freeze", freeze(`"full"`, `"tactical"`, `1.5`, "false"), CodeBadValue, "phase_number"},
		{"freeze", freeze(`"full"`, `"tactical"`, `null`, "false"), CodeBadValue, "phase_number"},
		{"freeze", freeze(`"full"`, `"tactical"`, `1`, "null"), CodeBadValue, "job_complete"},
		{"freeze", freeze(`"full"`, `"tactical"`, `1`, "0"), CodeBadValue, "job_complete"},
		{"freeze", `{"level":"full","phase_type":"tactical","phase_number":1}`, CodeMissingField, "job_complete"},
		{"freeze", `{"level":"full","phase_type":"tactical","phase_number":1,"job_complete":true,"policy":"x"}`, CodeUnknownField, "policy"},
		{"resume", `{"freeze_context":null,"decision":"approve"}`, CodeBadValue, "freeze_context is null"},
		{"resume", `{"freeze_context":"damaged","decision":"approve"}`, CodeBadValue, "initial_strategic"},
		{"resume", `{"freeze_context":"tactical","decision":"approved"}`, CodeBadValue, "approve, feedback or reject"},
		{"resume", `{"freeze_context":"tactical","decision":true}`, CodeBadValue, "decision"},
		{"resume", `{"decision":"approve"}`, CodeMissingField, "freeze_context"},
		{"level", `{"framework":"partail"}`, CodeBadValue, `did you mean "partial"`},
		{"level", `{"framework":"nonsense","override":"full"}`, CodeBadValue, "framework"},
		{"level", `{"framework":"debugger"}`, CodeBadValue, "framework"},
		{"level", `{"override":1}`, CodeBadValue, "override is 1"},
		{"level", `{"level":"full"}`, CodeUnknownField, "level"},
		{"checkpoint", `{"level":null,"type":"x"}`, CodeBadValue, "level"},
		{"checkpoint", `{"level":"semi-supervised","type":"x"}`, CodeBadValue, `did you mean "semi_supervised"`},
		{"checkpoint", `{"level":"manual"}`, CodeMissingField, "type"},
		{"checkpoint", `{"level":"manual","type":7}`, CodeBadValue, "type"},
		{"checkpoint", `{"level":"manual","type":"x","checkpoint_types":null}`, CodeBadValue, "checkpoint_types"},
		{"checkpoint", `{"level":"manual","type":"x","checkpoint_types":"x"}`, CodeBadValue, "checkpoint_types"},
		{"checkpoint", `{"level":"manual","type":"x","checkpoint_types":["x",null]}`, CodeBadValue, "checkpoint_types[1]"},
		{"advance", advance(`"nobody"`, "{}", `"intent"`, "{}"), CodeBadValue, "no preset"},
		{"advance", advance(`null`, "{}", `"intent"`, "{}"), CodeBadValue, "preset is null"},
		{"advance", advance(`"<inherit>"`, "{}", `"intent"`, "{}"), CodeBadValue, "no preset"},
		{"advance", advance(`"full"`, "[]", `"intent"`, "{}"), CodeBadValue, "override is not an object"},
		{"advance", advance(`"full"`, `{"consnet":[]}`, `"intent"`, "{}"), CodeUnknownField, `did you mean "consent"`},
		{"advance", advance(`"full"`, `{"confidence_floor":1.7}`, `"intent"`, "{}"), CodeBadValue, "override.confidence_floor"},
		{"advance", advance(`"full"`, `{"confidence_floor":"high"}`, `"intent"`, "{}"), CodeBadValue, "override.confidence_floor"},
		{"advance", advance(`"full"`, `{"confidence_floor":null}`, `"intent"`, "{}"), CodeBadValue, "is null"},
		{"advance", advance(`"full"`, `{"confidence_floor":1e999}`, `"intent"`, "{}"), CodeBadValue, "override.confidence_floor"},
		{"advance", advance(`"full"`, `{"regret_max":"hihg"}`, `"intent"`, "{}"), CodeBadValue, `did you mean "high"`},
		{"advance", advance(`"full"`, `{"gates":{"fnial":"auto"}}`, `"intent"`, "{}"), CodeBadValue, `did you mean "final"`},
		{"advance", advance(`"full"`, `{"gates":{"final":"auto","final":"human"}}`, `"intent"`, "{}"), CodeBadJSON, "twice"},
		{"advance", advance(`"full"`, `{"gates":{"final":1e999}}`, `"intent"`, "{}"), CodeBadValue, "auto or human"},
		{"advance", advance(`"full"`, `{"consent":[],"consent":[]}`, `"intent"`, "{}"), CodeBadJSON, "twice"},
		{"advance", advance(`"full"`, `{"auto_advance":["phase"]}`, `"intent"`, "{}"), CodeBadValue, "intent, context, action"},
		{"advance", advance(`"full"`, `{}`, `"intnet"`, "{}"), CodeBadValue, "intent, context, action"},
		{"advance", advance(`"full"`, `{}`, `null`, "{}"), CodeBadValue, "target is null"},
		{"advance", advance(`"full"`, `{}`, `"intent"`, "null"), CodeBadValue, "proposal is not an object"},
		{"advance", advance(`"full"`, `{}`, `"intent"`, `{"confidenc":1}`), CodeUnknownField, `did you mean "confidence"`},
		{"advance", advance(`"full"`, `{}`, `"intent"`, `{"intrinsic":{"regret":"low"}}`), CodeUnknownField, "proposal.intrinsic.regret"},
		{"advance", `{"preset":"full","target":"intent"}`, CodeMissingField, "proposal"},
		{"advance", `{"target":"intent","proposal":{}}`, CodeMissingField, "preset"},
		{"override", `{"parent":"full"}`, CodeMissingField, "child"},
		{"override", `{"parent":"<inherit>","child":"full"}`, CodeBadValue, "parent"},
		{"override", `{"parent":"full","child":"<Inherit>"}`, CodeBadValue, "child"},
		{"override", `{"parent":"full","child":"full","child_override":{"budget":1}}`, CodeUnknownField, "child_override.budget"},
		{"override", `{"parent":"full","parent_override":{"budget_usd":-1},"child":"full"}`, CodeBadValue, "parent_override.budget_usd"},
		{"override", `{"parent":"full","child":"full","child_override":{"on_stale":"ask","gates":{"stale":"auto"}}}`, CodeBadValue, "contradicts"},
		{"effective", `{"chain":[]}`, CodeBadValue, "chain is empty"},
		{"effective", `{"chain":null}`, CodeBadValue, "chain"},
		{"effective", `{"chain":"full"}`, CodeBadValue, "chain"},
		{"effective", `{"chain":["full",null]}`, CodeBadValue, "chain[1]"},
		{"effective", `{"chain":["full","gided"]}`, CodeBadValue, `did you mean "guided"`},
		{"effective", `{"chain":[{"budget_usd":1}]}`, CodeMissingField, "chain[0].preset"},
		{"effective", `{"chain":[{"preset":"full","budget":1}]}`, CodeUnknownField, "chain[0].budget"},
		{"effective", `{"chain":[{"preset":"full","budget_usd":true}]}`, CodeBadValue, "chain[0].budget_usd"},
		{"effective", `{"chain":["full"],"parents":[]}`, CodeUnknownField, "parents"},
	}
	for _, tt := range tests {
		got, err := DecideLine(tt.kind, []byte(tt.in))
		var refused *DecideError
		if !errors.As(err, &refused) || got != nil {
			t.Errorf("%s %s: %s, %v, want %s", tt.kind, tt.in, got, err, tt.code)
			continue
		}
		if refused.Code != tt.code || !strings.Contains(refused.Message, tt.says) {
			t.Errorf("%s %s: %v, want %s saying %q", tt.kind, tt.in, err, tt.code, tt.says)
		}
	}
}

// Each answer has exactly the fields of the contract, in lists never null.
func TestDecideFields(t *testing.T) {
	for kind, tt := range map[string]struct{ in, fields string }{
		"freeze":     {`{"level":null,"phase_type":"tactical","phase_number":1,"job_complete":false}`, "freeze freeze_context job_status pr"},
		"resume":     {`{"freeze_context":"tactical","decision":"reject"}`, "job_status merge next_kind next_phase todos"},
		"level":      {`{}`, "effective"},
		"checkpoint": {`{"level":"full","type":"x"}`, "checkpoint"},
		"advance":    {`{"preset":"full","target":"intent","proposal":{}}`, "decision failed passed"},
		"override":   {`{"parent":"full","child":"full"}`, "allowed other_violations violations"},
		"effective":  {`{"chain":["interactive"]}`, "policy"},
	} {
		got, err := DecideLine(kind, []byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(got, &fields); err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != tt.fields {
			t.Errorf("%s has the fields %v, want %s", kind, names, tt.fields)
		}
		if kind == "effective" && strings.Contains(string(got), "null") {
			t.Errorf("%s", got)
		}
	}
}
