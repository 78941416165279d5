// Package machine is what Temporal's engine has of this machine: the checkouts whose
// runs are worked on, the connection that the configuration names, and the commands
// that are about them.
package machine
