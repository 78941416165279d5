//go:build !linux

package shortage

// maxProcesses: the number of the limit differs between systems, so that none
// is named.
const maxProcesses = -1
