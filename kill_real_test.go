//go:build real

package main

import "testing"

func TestKillAtEveryJournalOffset(t *testing.T) { killEvery(t, 1) }

func TestKillAfterEveryGitCommand(t *testing.T) { killBetween(t, 1) }
