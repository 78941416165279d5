// Package pullcalls hears calls by name on the pull requests of people, and lets
// follow what was called for: a review there, an issue on the board whose result is for
// that branch, or what such an issue is told. Pull requests of Forge's own are
// forge/internal/hostwatch's.
package pullcalls
