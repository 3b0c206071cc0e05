//! `/etc` as programs need it: made up where it names people and machines, copied where it
//! only says how things work here.

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

/// Files of the host that are copied: they contain nothing about a person and no secret,
/// and programs misbehave without them.
const COPIED: [&str; 20] = [
    "/etc/debian_version",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    // Debian's Maven starts with these; its settings may hold passwords of repositories and
    // stay out.
    "/etc/maven/logging/simplelogger.properties",
    "/etc/maven/m2.conf",
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

/// Debian's Java links to these in `/etc`. Passwords for remote management, which people
/// may keep beside them, stay out.
const JAVA_DIRECTORY: &str = "/usr/lib/jvm";
const JAVA_FILES: [&str; 9] = [
    "jvm-amd64.cfg",
    "jvm-arm64.cfg",
    "logging.properties",
    "net.properties",
    "security/blocked.certs",
    "security/java.policy",
    "security/java.security",
    "security/policy/unlimited/default_US_export.policy",
    "security/policy/unlimited/default_local.policy",
];
/// Debian's PHP finds its extensions by these; `php.ini` itself may hold secrets and stays out.
const PHP_DIRECTORY: &str = "/etc/php";
const PHP_EXTENSIONS: &str = "cli/conf.d";

/// Fills `/etc`: invented users and hosts, and copies of files that only describe how the
/// system works.
pub(crate) fn build_etc(root: &mut Root, home: &Path) -> Result<(), ConfineFailure> {
    for (path, content) in made_up(home) {
        root.write_text_file(Path::new(path), content.as_bytes()).at(ConfineStep::System, path)?;
    }
    for path in COPIED {
        copy(root, Path::new(path)).at(ConfineStep::System, path)?;
    }
    for entry in own_files::read_dir(LOADER_DIRECTORY).into_iter().flatten().flatten() {
        copy(root, &entry.path()).at(ConfineStep::System, LOADER_DIRECTORY)?;
    }
    copy_java(root).at(ConfineStep::System, JAVA_DIRECTORY)?;
    copy_php(root).at(ConfineStep::System, PHP_DIRECTORY)
}

/// Configuration of every Java of the system: `/etc/java-17-openjdk` for
/// `/usr/lib/jvm/java-17-openjdk-amd64`.
fn copy_java(root: &mut Root) -> io::Result<()> {
    for entry in own_files::read_dir(JAVA_DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((version, _)) = name.to_str().and_then(|name| name.split_once("-openjdk-")) else { continue };
        let folder = Path::new("/etc").join(format!("{version}-openjdk"));
        JAVA_FILES.iter().try_for_each(|file| copy(root, &folder.join(file)))?;
    }
    Ok(())
}

fn copy_php(root: &mut Root) -> io::Result<()> {
    for version in own_files::read_dir(PHP_DIRECTORY).into_iter().flatten().flatten() {
        for entry in own_files::read_dir(version.path().join(PHP_EXTENSIONS)).into_iter().flatten().flatten() {
            copy(root, &entry.path())?;
        }
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

/// Copies a file of the host; one that is absent, too large or not plain is left out.
fn copy(root: &mut Root, path: &Path) -> io::Result<()> {
    let Ok(file) = own_files::open_file(path) else { return Ok(()) };
    let known = file.metadata()?;
    if !known.is_file() || known.len() > COPY_MAX {
        return Ok(());
    }
    let (mut from, mut to) = (file.take(COPY_MAX), root.create_file(path)?);
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
