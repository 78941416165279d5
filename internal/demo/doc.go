// Package demo shows Forge at work on a small repository that is made for it,
// with an agent that follows a script, and judges what it saw.
package demo
