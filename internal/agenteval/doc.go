// Package agenteval holds what a trial of agents is: changes of the past that each
// of them does again, what came of each try, how good that makes them, with the
// intervals within which it may be chance. Values alone.
package agenteval
