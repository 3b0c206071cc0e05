//! Targets of symbolic links in a captured tree, resolved through the tree itself and never
//! through the file system.

use std::collections::{BTreeMap, VecDeque};

use crate::object::name::{folds_to_git, parent};

const MOST_HOPS: usize = 40;

/// The links of a tree by path.
pub(crate) type Links = BTreeMap<Vec<u8>, Vec<u8>>;

/// True if following the link at `path` leaves the tree or enters a `.git`.
///
/// Other links on the path are followed: `..` behind a link goes up from where that link
/// leads, which no lexical check sees.
pub(crate) fn escapes(links: &Links, path: &[u8]) -> bool {
    let Some(target) = links.get(path) else { return false };
    let mut at: Vec<Vec<u8>> = components(parent(path)).collect();
    let mut left: VecDeque<Vec<u8>> = VecDeque::new();
    let mut hops = 0;
    if !push_target(target, &mut left) {
        return true;
    }
    while let Some(step) = left.pop_front() {
        match step.as_slice() {
            b"." => continue,
            b".." if at.pop().is_none() => return true,
            b".." => continue,
            name if folds_to_git(name) => return true,
            _ => at.push(step),
        }
        if let Some(next) = links.get(&at.join(&b'/')) {
            hops += 1;
            if hops > MOST_HOPS {
                // The kernel gives up here too: such a link leads nowhere.
                return false;
            }
            at.pop();
            if !push_target(next, &mut left) {
                return true;
            }
        }
    }
    false
}

/// Puts the components of a target before what is left; false for an absolute target.
fn push_target(target: &[u8], left: &mut VecDeque<Vec<u8>>) -> bool {
    let parts: Vec<Vec<u8>> = components(target).collect();
    for part in parts.into_iter().rev() {
        left.push_front(part);
    }
    !target.starts_with(b"/")
}

fn components(path: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    path.split(|b| *b == b'/').filter(|part| !part.is_empty()).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(links: &[(&str, &str)], path: &str, expected: bool) {
        let links: Links = links.iter().map(|(p, t)| (p.as_bytes().to_vec(), t.as_bytes().to_vec())).collect();
        assert_eq!(escapes(&links, path.as_bytes()), expected, "{path} in {links:?}");
    }

    #[test]
    fn where_links_lead() {
        check(&[("l", "a/b")], "l", false);
        check(&[("d/l", "../a")], "d/l", false);
        check(&[("d/l", "../../a")], "d/l", true);
        check(&[("l", "/etc/passwd")], "l", true);
        check(&[("l", "..")], "l", true);
        check(&[("l", "a/../..")], "l", true);
        check(&[("l", ".git/hooks")], "l", true);
        check(&[("d/l", "../.GIT/config")], "d/l", true);
        check(&[("l", "l")], "l", false);
        // Lexically a/b, in truth the parent of the root.
        check(&[("a/b/up", "../.."), ("l", "a/b/up/..")], "l", true);
        check(&[("a", "b"), ("b", "/etc")], "a", true);
        check(&[("l", "")], "l", false);
    }
}
