// Package site is the projects of a server as pages and API of the factory see
// them: what is read of a project, and what is changed in it.
package site
