// Package installed finds what the setup of a project installed for its tests
// alone, such as node_modules/jest, and sums it up: a package that a change
// brings may put itself, or a start-up file, in the place of what judges. It reads
// the trees that it is given, and runs nothing.
package installed
