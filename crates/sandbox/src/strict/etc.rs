//! `/etc` as programs need it: made up where it names people and machines, copied where it only says how things work here.

use std::io::{self, Read, Write};
use std::path::Path;

use untrusted_fs::own_files;

use super::failure::{At, ConfineFailure, ConfineStep};
use super::identity::INNER;
use super::root::Root;

/// The name the machine has inside.
pub(crate) const HOSTNAME: &str = "sandbox";
/// A file of `/etc` larger than this is not copied.
const COPY_MAX: u64 = 2 << 20;
const BUFFER: usize = 16 << 10;

/// Nothing in these is about a person or a secret, and programs behave oddly without them.
const COPIED: [&str; 18] = [
    "/etc/debian_version",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/protocols",
    "/etc/redhat-release",
    "/etc/rpc",
    "/etc/services",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
];
/// Read by the linker as well as by the loader's own tool.
const LOADER_DIRECTORY: &str = "/etc/ld.so.conf.d";

pub(crate) fn build(root: &mut Root, home: &Path) -> Result<(), ConfineFailure> {
    for (path, content) in made_up(home) {
        root.file(Path::new(path), content.as_bytes()).at(ConfineStep::System, path)?;
    }
    for path in COPIED {
        copy(root, Path::new(path)).at(ConfineStep::System, path)?;
    }
    for entry in own_files::read_dir(LOADER_DIRECTORY).into_iter().flatten().flatten() {
        copy(root, &entry.path()).at(ConfineStep::System, LOADER_DIRECTORY)?;
    }
    Ok(())
}

fn made_up(home: &Path) -> [(&'static str, String); 8] {
    let home = home.display();
    [
        (
            "/etc/passwd",
            format!(
                "user:x:{INNER}:{INNER}:user:{home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        ),
        ("/etc/group", format!("user:x:{INNER}:\nnogroup:x:65534:\n")),
        ("/etc/hostname", format!("{HOSTNAME}\n")),
        ("/etc/hosts", format!("127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n")),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n".to_owned()),
        ("/etc/resolv.conf", String::new()),
        ("/etc/shells", "/bin/sh\n/bin/bash\n".to_owned()),
        ("/etc/machine-id", format!("{:032x}\n", 0)),
    ]
}

/// What is absent, too large or not a plain file is left out.
fn copy(root: &mut Root, path: &Path) -> io::Result<()> {
    let Ok(file) = own_files::open(path) else { return Ok(()) };
    let known = file.metadata()?;
    if !known.is_file() || known.len() > COPY_MAX {
        return Ok(());
    }
    let (mut from, mut to) = (file.take(COPY_MAX), root.create(path)?);
    // One buffer for all of them, where each new one would be new memory.
    let mut buffer = [0; BUFFER];
    loop {
        let length = from.read(&mut buffer)?;
        to.write_all(buffer.get(..length).unwrap_or_default())?;
        // Of a plain file, less than was asked for is the rest of it.
        if length < buffer.len() {
            return Ok(());
        }
    }
}
