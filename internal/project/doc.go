// Package project is a checkout of a user with everything that Forge keeps for
// it: configuration, state folder, journal and key, and the checks before
// anything is begun in it. It knows no command and no terminal.
package project
