// Package site is what pages and API of the factory read of a project here, and
// change in it, beyond its board and its runs.
package site
