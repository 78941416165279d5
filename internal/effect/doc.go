// Package effect carries one effect out and returns its fact, given that value
// alone and what the machine has: agents, repository, checks, reviewers, code
// host and folders.
package effect
