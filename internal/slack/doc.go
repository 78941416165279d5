// Package slack is a channel in Slack as a place where people are asked and
// answer: what Forge calls of Slack's Web API, its socket mode, and how a message
// looks there.
//
// It is a client of our own. The one that is common in Go costs the program 1.9 MB,
// since it knows all of Slack in one package; Forge calls six methods of it. The
// tests hold it against that client.
package slack
