package gates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"forge/internal/work"
)

// ReadPolicy is the policy that a door wrote down as JSON. Unknown fields,
// further text and whatever Validate finds are errors: what is not understood
// gives nobody a right.
func ReadPolicy(raw []byte) (Policy, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var p Policy
	if err := dec.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("read a policy: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("read a policy: text after the JSON object")
	}
	problems := p.Validate()
	if len(problems) == 0 {
		return p, nil
	}
	var all []error
	for _, pr := range problems {
		all = append(all, policyProblem{pr})
	}
	return Policy{}, fmt.Errorf("read a policy: %w", errors.Join(all...))
}

// policyProblem is a problem as an error.
type policyProblem struct{ work.Problem }

func (p policyProblem) Error() string { return p.String() }
