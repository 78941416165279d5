// Package host is what all code hosts have in common: markers and other text
// that Forge posts, which reviews count, webhooks, branches by git, and HTTP
// that keeps its token to itself. The adapters are in the folders below it.
package host
