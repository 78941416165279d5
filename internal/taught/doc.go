// Package taught is what runs taught a project: the lessons that it keeps, with who
// was told, and those that a run proposes, kept by a person's word.
package taught
