package api

import (
	"net/http"
	"slices"
	"strings"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/text"
)

// InPolicy is an operation on one preset.
type InPolicy struct {
	InProject
	Policy string `path:"policy" maxLength:"64" doc:"The preset's name."`
}

// policyLine is one preset, as forge policy list --output json has it.
type policyLine struct {
	Name    string   `json:"name"`
	Use     string   `json:"use" doc:"When to use it."`
	Level   bool     `json:"level" doc:"One of the five."`
	Own     bool     `json:"own" doc:"Of this project."`
	SameAs  []string `json:"same_as"`
	Version string   `json:"version"`
}

// policyShown is one preset with every axis.
type policyShown struct {
	policyLine
	Axes []policyAxis `json:"axes"`
}

type policyAxis struct {
	Axis  string `json:"axis"`
	Gate  bool   `json:"gate"`
	Value any    `json:"value"`
}

type policyExplained struct {
	policyLine
	gates.Explanation
}

// CheckPolicy holds a child against its parents.
type CheckPolicy struct {
	InPolicy
	Parent []string `query:"parent,explode" required:"true" minItems:"1" maxItems:"20" doc:"The outermost first."`
}

// policyChecked is as of forge policy check --output json.
type policyChecked struct {
	Child           string   `json:"child"`
	Parents         []string `json:"parents"`
	Allowed         bool     `json:"allowed"`
	Violations      []string `json:"violations"`
	OtherViolations []string `json:"other_violations"`
}

func (a *API) policyRoutes() {
	const path = "/projects/{project}/policies"
	add(a, Route{ID: "list-policies", Method: http.MethodGet, Path: path, Role: web.RoleViewer, Summary: "The presets, with when to use which", Tag: "policies"},
		func(c call, _ *InProject) (*Answer[[]policyLine], error) {
			all, err := a.catalogue(c)
			out := []policyLine{}
			for _, info := range all.List() {
				out = append(out, lineOf(all, info))
			}
			return answer(out, err)
		})
	add(a, Route{ID: "show-policy", Method: http.MethodGet, Path: path + "/{policy}", Role: web.RoleViewer, Summary: "Every axis of a preset", Tag: "policies"},
		func(c call, in *InPolicy) (*Answer[policyShown], error) {
			line, p, err := a.policy(c, in.Policy)
			out := policyShown{policyLine: line, Axes: []policyAxis{}}
			for _, v := range p.Values() {
				out.Axes = append(out.Axes, policyAxis{Axis: v.Name, Gate: v.Gate, Value: v.Value})
			}
			return answer(out, err)
		})
	add(a, Route{ID: "explain-policy", Method: http.MethodGet, Path: path + "/{policy}/explain", Role: web.RoleViewer, Summary: "What will stop you under a preset", Tag: "policies"},
		func(c call, in *InPolicy) (*Answer[policyExplained], error) {
			line, p, err := a.policy(c, in.Policy)
			if err != nil {
				return nil, err
			}
			return answer(policyExplained{line, gates.Explain(p)}, nil)
		})
	add(a, Route{ID: "check-policy", Method: http.MethodGet, Path: path + "/{policy}/check", Role: web.RoleViewer, Summary: "Whether work under a preset may be spawned below its parents", Tag: "policies"},
		func(c call, in *CheckPolicy) (*Answer[policyChecked], error) {
			_, child, err := a.policy(c, in.Policy)
			if err != nil {
				return nil, err
			}
			var chain []gates.Policy
			for _, name := range in.Parent {
				_, p, err := a.policy(c, name)
				if err != nil {
					return nil, err
				}
				chain = append(chain, p)
			}
			s := gates.CheckSpawn(child, chain...)
			return answer(policyChecked{Child: in.Policy, Parents: in.Parent, Allowed: s.Allowed(), Violations: s.Violations, OtherViolations: s.Others}, nil)
		})
}

// catalogue is every preset that a word may name in the project.
func (a *API) catalogue(c call) (gates.Catalogue, error) {
	if a.Policies == nil {
		return gates.Catalogue{}, nil
	}
	return a.Policies(c, c.project)
}

func (a *API) policy(c call, name string) (policyLine, gates.Policy, error) {
	all, err := a.catalogue(c)
	if err != nil {
		return policyLine{}, gates.Policy{}, err
	}
	p, ok := all.Preset(name)
	if !ok {
		return policyLine{}, p, notFound("unknown_policy", "There is no policy "+text.OneLine(name, mostSaid)+".", "There are "+strings.Join(all.Names(), ", ")+".")
	}
	info := gates.PresetInfo{Name: name}
	for _, i := range all.List() {
		if i.Name == name {
			info = i
		}
	}
	return lineOf(all, info), p, nil
}

func lineOf(all gates.Catalogue, info gates.PresetInfo) policyLine {
	p, _ := all.Preset(info.Name)
	return policyLine{
		Name: info.Name, Use: info.Use, Level: slices.Contains(gates.Levels(), info.Name), Own: info.Own,
		SameAs: append([]string{}, all.Identical(info.Name)...), Version: p.Version(),
	}
}

// checkLevel refuses the name of a policy that there is not.
func (a *API) checkLevel(c call, location, name string) error {
	if name == "" {
		return nil
	}
	all, err := a.catalogue(c)
	if err != nil {
		return err
	}
	if _, ok := all.Preset(name); !ok {
		return invalid(location, text.OneLine(name, mostSaid)+" is not a policy; there are "+strings.Join(all.Names(), ", "))
	}
	return nil
}
