//go:build !linux

package proc

// systemFolders hold programs and settings of macOS. Those that do not exist are
// passed over.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/etc", "/opt", "/nix", "/System", "/Library", "/Applications",
	"/private/etc", "/private/var/select", "/private/var/db/timezone", "/private/var/db/xcode_select_link",
}

// systemSecrets are folders of them that no child sees.
var systemSecrets = []string{"/Library/Keychains", "/Library/Application Support/com.apple.TCC"}
