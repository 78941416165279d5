//go:build real

package main

import "testing"

func TestRealKillAtEveryJournalOffset(t *testing.T) { killEvery(t, 1) }

func TestRealKillAfterEveryGitCommand(t *testing.T) { killBetween(t, 1) }
