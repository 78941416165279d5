// Package tui is a run at a terminal: a live view of it, and its questions.
package tui
