// Package ignored reads and changes the file in which a project keeps which findings
// of reviews are let stand: who said so, why, and until when; everything that is wrong
// with it by line.
package ignored
