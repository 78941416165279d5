// Package pullrequest is one pull request of a run: published, described, read,
// answered, landed and closed, on whichever code host the project names.
package pullrequest
