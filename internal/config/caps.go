package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"forge/internal/refusal"
	"forge/internal/work"
)

// Caps are caps by their names in [cost], as settings of one run.
func Caps(words []string) ([]Setting, error) {
	if _, err := RaiseCaps(work.Cost{}, words); err != nil {
		return nil, err
	}
	var out []Setting
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		out = append(out, Setting{Flag: "--cost", Key: "cost." + key, Value: value})
	}
	return out, nil
}

// RaiseCaps sets caps by their names in [cost].
func RaiseCaps(cost work.Cost, words []string) (work.Cost, error) {
	usd := map[string]**float64{"iteration_usd": &cost.IterationUSD, "phase_usd": &cost.PhaseUSD, "run_usd": &cost.RunUSD, "day_usd": &cost.DayUSD}
	tokens := map[string]**int64{"iteration_tokens": &cost.IterationTokens, "phase_tokens": &cost.PhaseTokens, "run_tokens": &cost.RunTokens, "day_tokens": &cost.DayTokens}
	for _, w := range words {
		key, text, _ := strings.Cut(w, "=")
		if into, ok := usd[key]; ok {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v > 0) || v > 1e9 {
				return cost, refusal.New("write it as --cost run_usd=20", "--cost %q is not an amount", w)
			}
			*into = &v
		} else if into, ok := tokens[key]; ok {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil || v < 1 {
				return cost, refusal.New("write it as --cost run_tokens=2000000", "--cost %q is not a number of tokens", w)
			}
			*into = &v
		} else {
			return cost, refusal.New("write it as --cost run_usd=20; the keys are "+strings.Join(slices.Sorted(maps.Keys(usd)), ", ")+", "+strings.Join(slices.Sorted(maps.Keys(tokens)), ", "), "--cost %q: unknown cap", w)
		}
	}
	return cost, nil
}
