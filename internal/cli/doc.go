// Package cli is the command line of Forge: it parses, wires the rooms
// together, shows what happens, and turns results into exit codes.
package cli
