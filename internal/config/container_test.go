package config

import (
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestContainer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, project string
		want          work.ContainerSettings
		wrong         string
	}{
		{"", "", work.ContainerSettings{}, ""},
		{"kind = \"machine\"", "", work.ContainerSettings{}, ""},
		{"kind = \"container\"\nimage = \"i\"", "mode = \"required\"\nnetwork = [\"a.example\"]", work.ContainerSettings{Image: "i"}, ""},
		{
			"kind = \"container\"\nimage = \"i\"\nruntime = \"docker\"\nmemory_mb = 512\npids = 100", "",
			work.ContainerSettings{Image: "i", Runtime: "docker", MemoryMB: 512, PIDs: 100}, "",
		},
		{"kind = \"container\"", "", work.ContainerSettings{}, "2: sandbox.kind is container, and no image is named"},
		{"kind = \"pod\"", "", work.ContainerSettings{}, "sandbox.kind"},
		{"kind = \"container\"\nimage = \"i\"\nmode = \"off\"", "", work.ContainerSettings{}, "4: sandbox.mode is off, and sandbox.kind is container"},
		{"kind = \"container\"\nimage = \"i\"\nruntime = \"lxc\"", "", work.ContainerSettings{}, "sandbox.runtime"},
		{"image = \"i\"", "", work.ContainerSettings{}, "2: sandbox.image is for a container, and sandbox.kind is machine"},
		{"memory_mb = 512", "", work.ContainerSettings{}, "2: sandbox.memory_mb is for a container"},
		{"", "kind = \"container\"\nimage = \"i\"", work.ContainerSettings{}, "2: sandbox.kind"},
		{"kind = \"container\"\nimage = \"i\"", "image = \"mine\"", work.ContainerSettings{}, "2: sandbox.image"},
	} {
		user := filepath.Join(t.TempDir(), "config.toml")
		write(t, user, "[sandbox]\n"+c.user+"\n")
		cfg, _, err := Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: "[sandbox]\n" + c.project + "\n"}), UserFile: user})
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q, %q: %v, want %q", c.user, c.project, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q, %q: %v", c.user, c.project, err)
			continue
		}
		set := cfg.SandboxSettings()
		how := "auto"
		if c.project != "" {
			how = "required"
		}
		if c.want.Image != "" {
			how = "container"
		}
		if set.Container != c.want || set.How() != how {
			t.Errorf("%q, %q: %+v", c.user, c.project, set)
		}
	}
}
