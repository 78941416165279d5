#!/bin/sh
# Installs forge @VERSION@ for you alone: fetches the archive for this machine,
# holds it against its sum, and puts the program into FORGE_BIN (~/.local/bin).
#
#	FORGE_URL   where the files are (@BASE@)
#	FORGE_BIN   the folder of the program
set -eu

version=@VERSION@
base=${FORGE_URL:-@BASE@}
bin=${FORGE_BIN:-$HOME/.local/bin}

die() {
	echo "install forge: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) die "there is no archive for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) die "there is no archive for $(uname -m)" ;;
esac
if command -v sha256sum >/dev/null 2>&1; then
	sum() { sha256sum "$1"; }
elif command -v shasum >/dev/null 2>&1; then
	sum() { shasum -a 256 "$1"; }
else
	die "neither sha256sum nor shasum is here: what was fetched could not be checked"
fi
if command -v curl >/dev/null 2>&1; then
	fetch() { curl -fsSL --retry 2 -o "$2" "$1"; }
elif command -v wget >/dev/null 2>&1; then
	fetch() { wget -q -O "$2" "$1"; }
else
	die "neither curl nor wget is here"
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
name=forge_${version}_${os}_$arch
fetch "$base/SHA256SUMS" "$dir/SHA256SUMS" || die "cannot fetch $base/SHA256SUMS"
fetch "$base/$name.tar.gz" "$dir/$name.tar.gz" || die "cannot fetch $base/$name.tar.gz"
want=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$dir/SHA256SUMS")
got=$(sum "$dir/$name.tar.gz" | awk '{ print $1 }')
[ -n "$want" ] || die "SHA256SUMS does not name $name.tar.gz; nothing was installed"
[ "$want" = "$got" ] || die "$name.tar.gz is not what its sum says; nothing was installed"
tar -xzf "$dir/$name.tar.gz" -C "$dir" || die "$name.tar.gz cannot be unpacked; nothing was installed"
mkdir -p "$bin"
# Beside its place first: a forge that runs keeps its own.
cp "$dir/$name/forge" "$bin/.forge-new-$$"
chmod 755 "$bin/.forge-new-$$"
mv -f "$bin/.forge-new-$$" "$bin/forge"
echo "installed $("$bin/forge" version) as $bin/forge"
case :$PATH: in
*":$bin:"*) ;;
*) echo "$bin is not in your PATH: add it there" ;;
esac
command -v git >/dev/null 2>&1 || echo "forge needs git, which is not here"
