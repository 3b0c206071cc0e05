//! Files of the operator that are not of this program.

use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "only the environment says where git's user configuration lies")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Git's configuration files of this user, the strongest first.
pub(crate) fn git_configuration() -> Vec<PathBuf> {
    if let Some(only) = variable("GIT_CONFIG_GLOBAL") {
        return vec![only];
    }
    let user = variable("HOME");
    let more = variable("XDG_CONFIG_HOME").or_else(|| user.as_ref().map(|user| user.join(".config")));
    let files = [user.map(|user| user.join(".gitconfig")), more.map(|more| more.join("git/config"))];
    files.into_iter().flatten().collect()
}
