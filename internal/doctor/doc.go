// Package doctor looks for what is missing on a machine, in a project and at its
// code host, and says how to get it.
package doctor
