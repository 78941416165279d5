package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"forge/factory/web"
)

// Route is one operation of the API.
type Route struct {
	ID      string // operation id
	Method  string
	Path    string // below Prefix
	Role    web.Role
	Summary string
	Tag     string
	// MaxBody is how much may be sent, in bytes; 0 = 64 KB.
	MaxBody int64
}

// Routes are all operations, in the order of the description.
func (a *API) Routes() []Route { return append([]Route{}, a.routes...) }

// InProject is an operation within a project.
type InProject struct {
	Project string `path:"project" maxLength:"100" doc:"The project's id."`
}

// call is one request of somebody who may make it.
type call struct {
	context.Context
	who     web.Person
	project web.Project
}

type callKey struct{}

// add registers an operation. Nobody's body is read before the door let them
// in.
func add[I, O any](a *API, r Route, do func(c call, in *I) (*O, error)) {
	a.routes = append(a.routes, r)
	if r.MaxBody == 0 {
		r.MaxBody = 64 << 10
	}
	op := huma.Operation{
		OperationID: r.ID, Method: r.Method, Path: Prefix + r.Path, Summary: r.Summary, Tags: []string{r.Tag},
		Description: "Takes the role " + r.Role.String() + ".", MaxBodyBytes: r.MaxBody, BodyReadTimeout: 30 * time.Second,
		Middlewares: huma.Middlewares{a.enter(r.Role)}, Responses: map[string]*huma.Response{"default": a.problemResponse()},
	}
	huma.Register(a.api, op, func(ctx context.Context, in *I) (*O, error) {
		c, _ := ctx.Value(callKey{}).(call)
		c.Context = ctx
		out, err := do(c, in)
		if err != nil {
			request, _ := ctx.Value(requestKey{}).(*http.Request)
			return nil, a.problem(request, err)
		}
		return out, nil
	})
}

func (a *API) problemResponse() *huma.Response {
	schema := huma.SchemaFromType(a.api.OpenAPI().Components.Schemas, reflect.TypeFor[Problem]())
	return &huma.Response{Description: "A problem.", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: schema}}}
}

type requestKey struct{}

// enter lets in who has at least this role.
func (a *API) enter(least web.Role) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		in, project, err := a.Door.Enter(r, least)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		c := call{who: web.PersonOf(in.Context()), project: project}
		values := context.WithValue(in.Context(), callKey{}, c)
		next(huma.WithContext(ctx, context.WithValue(values, requestKey{}, r)))
	}
}

// None is an operation that takes nothing but its address.
type None struct{}

// Answer is what an operation returns as JSON.
type Answer[T any] struct{ Body T }

func answer[T any](body T, err error) (*Answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &Answer[T]{Body: body}, nil
}
