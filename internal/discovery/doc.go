// Package discovery finds what a project needs that nobody has configured: an
// agent that is installed, the commands that set the project up, and its tests.
// It looks at files and asks agents for their versions; it writes nothing, and
// runs no command of the project.
package discovery
