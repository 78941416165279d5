// Package lessons reads and changes the file in which a project keeps what runs
// taught: its lessons as values, everything that is wrong with it by line.
package lessons
