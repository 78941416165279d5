// Package review judges a phase's change: specialists look at it and name
// findings, and the arbiter decides what follows. It reaches nothing by itself:
// models and agents are asked through interfaces that it declares.
package review
