package config

// checkContainer refuses what a container would not hold to, and a container of which
// nothing would be used: it takes the place of nothing by itself.
func (c *Config) checkContainer(col *collector) {
	f := c.File.Sandbox
	bad := func(key, what, fix string) {
		file, at := c.where("sandbox", key)
		col.add(file, at, "sandbox."+key+" "+what, fix)
	}
	if said(f.Kind) != "container" {
		for key, set := range map[string]bool{"image": f.Image != nil, "runtime": f.Runtime != nil, "memory_mb": f.Memory != nil, "pids": f.PIDs != nil} {
			if set {
				bad(key, "is for a container, and sandbox.kind is machine: nothing would hold to it", `write kind = "container", or remove it`)
			}
		}
		return
	}
	if said(f.Image) == "" {
		bad("kind", "is container, and no image is named", `name one that the runtime has, such as image = "localhost/forge-work:1"`)
	}
	if said(f.Mode) == "off" {
		bad("mode", "is off, and sandbox.kind is container", "remove one of them")
	}
}
