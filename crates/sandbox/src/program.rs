//! Finding a program by name in given directories; the process' own `PATH` is never asked.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use untrusted_fs::own_files::OwnPath as _;

/// The file that `name` means: relative to `cwd` if it has a slash, else the first match in
/// `path_dirs`. Only a regular file that this user may execute is one.
pub fn find_program(name: &str, path_dirs: &[PathBuf], cwd: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|path| is_program(path));
    }
    let named = |dir: &PathBuf| cwd.join(dir).join(name);
    path_dirs.iter().filter(|_| !name.is_empty()).map(named).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.own_is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make and read files of their own")]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_executable_regular_files_are_programs() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (path, mode) in [("a/plain", 0o644), ("a/tool", 0o755), ("b/tool", 0o755), ("b/plain", 0o755)] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            untrusted_fs::own_files::write_file(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(root.join("a/folder")).unwrap();
        let dirs = [root.join("a"), PathBuf::from("b")];
        let cases = [
            ("tool", Some("a/tool")),
            ("plain", Some("b/plain")),
            ("folder", None),
            ("absent", None),
            ("", None),
            ("b/tool", Some("b/tool")),
            ("./a/plain", None),
            ("a", None),
        ];
        for (name, expected) in cases {
            assert_eq!(find_program(name, &dirs, root), expected.map(|path| root.join(path)), "{name}");
        }
    }
}
