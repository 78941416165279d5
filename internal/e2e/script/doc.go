// Package script drives the command line by the scripts in its testdata. It
// holds tests alone, apart from the other stories of the whole program, so that
// a script that changes throws no other story's cached result away.
package script
