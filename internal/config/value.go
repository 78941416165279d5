package config

// ValueOf is what a setting says, and the zero value where it is left out.
func ValueOf[T any](v *T) T {
	if v == nil {
		var none T
		return none
	}
	return *v
}
