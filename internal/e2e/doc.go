// Package e2e tells stories of the whole program: kills, hostile agents, full
// disks, real agents, what it costs. It holds tests alone.
package e2e
