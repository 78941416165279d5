package proc

// systemFolders hold programs and settings. Those that do not exist are passed
// over, those that are symbolic links stay such.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
	"/run/current-system", "/run/wrappers", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm",
}

// systemSecrets are folders of them that no child sees; on Linux nobody but root may
// read what is secret there.
var systemSecrets []string
