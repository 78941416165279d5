// Package skills is what a project gives its agents to read beside a phase: the
// texts below .forge/skills, which phases are given them, and what is wrong with
// them. A folder holds a skill in the form of the agents' own (SKILL.md with a name
// and a description before its text); a single file may do without that.
package skills
