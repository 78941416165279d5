// Package runlog shows what the agents and the verify commands of a run wrote:
// which logs there are by the events, each as it is or as the conversation that
// it holds, and as it grows.
package runlog
