//! The archive on a machine that has nothing of ours: a root file system of its own with
//! the system's programs and no Rust.

use std::path::Path;

use crate::ChoreResult;
use crate::process::{command_output, program, run_command};

/// Runs inside of namespaces of its own. `$1` is the new root, `$2` the archive.
const ENTER: &str = r#"
set -eu
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
chmod 755 "$root"
for name in old usr proc dev sys tmp home opt root run etc; do mkdir -p "$root/$name"; done
for name in bin sbin lib lib64; do [ -e "/$name" ] && ln -s "usr/$name" "$root/$name"; done
mount --bind -o ro /usr "$root/usr"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
[ -e /etc/alternatives ] && cp -a /etc/alternatives "$root/etc/"
[ -e /etc/ld.so.cache ] && cp /etc/ld.so.cache "$root/etc/"
cp "$2" "$root/opt/cto.tar.gz"
cd "$root"
# A root of the mount namespace, not a chroot: inside of a chroot the kernel makes no user namespaces, which the sandbox needs.
pivot_root . old
umount -l /old
exec /usr/bin/env -i PATH=/opt/cto:/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 /bin/sh -c "$3"
"#;

/// Script of the trial: the first steps of a new user.
const INSTALLED: &str = r#"
set -eu
if command -v cargo || command -v rustc; then echo "there is Rust here"; exit 9; fi
mkdir /opt/cto && tar -xzf /opt/cto.tar.gz -C /opt/cto --strip-components=1
cto --version
cto demo
cto run r1-string-slugify --quiet
cto verify @
man=/opt/cto/man/man1/cto-run.1; [ -s "$man" ] && [ -s /opt/cto/completions/_cto ] && [ -s /opt/cto/sbom.cdx.json ]
"#;

/// Unpacks the archive there and holds demo, run and verify.
pub(super) fn install_on_bare_root(archive: &Path) -> ChoreResult {
    let made = command_output(&mut program("mktemp", ["-d"]))?;
    let root = made.trim();
    let is_root = command_output(&mut program("id", ["-u"]))?.trim() == "0";
    let user: &[&str] = if is_root { &[] } else { &["--user", "--map-root-user"] };
    let mut words = vec!["--mount", "--pid", "--fork", "--kill-child"];
    words.extend(user);
    let mut command = program("unshare", words);
    let tried = run_command(command.args(["sh", "-c", ENTER, "enter", root]).arg(archive).arg(INSTALLED));
    // Everything that was mounted there is gone with the namespace.
    let _ = run_command(&mut program("rm", ["-rf", "--one-file-system", root]));
    tried.map(|()| println!("installed and run on a root file system without Rust"))
}
