// Package evidence holds changes against the evidence that their proofs rest
// on, by the rules of internal/proof and on the contents that git holds; and it
// keeps the trusted state: of each path of evidence the content that a person
// last accepted.
//
// # The trusted state
//
// It is a commit for each target branch, below refs/forge/trusted in Forge's
// own repository; its parent is the head of the target that it was made for. A
// run begins by bringing it up to that head (Trusted):
//
//   - at first it is the run's base;
//   - a person's own commit moves the paths that it changes. One that carries
//     Forge's trailers is none, whoever merged it;
//   - a run whose result a person approved moves what the result changed, once
//     it is in the target (Accept records it, below refs/forge/accepted);
//   - forge evidence accept moves what it names.
//
// A green run never does.
package evidence
