// Package api is the factory for programs: everything that its pages show and
// do, as JSON under /api/v1 with an OpenAPI description, a stream of events
// that can be taken up again, and what a monitor asks for.
package api
