//! The direction of imports between the folders of a crate.

use super::modules::{Level, PackageModules, ROOT};
use super::tree::Packages;

/// The folders of a package, and the files beside them, in the order in which a reader
/// meets them: the lowest first. An import points from a later one to an earlier one; the
/// root stands above them all.
struct FolderOrder {
    package: &'static str,
    folders: &'static [&'static str],
}

/// The order of every package that has folders to keep in one.
const ORDERS: &[FolderOrder] = &[
    FolderOrder {
        package: "crates/bridge",
        folders: &["protocol", "upstream", "policy", "recording", "config", "request", "serve"],
    },
    FolderOrder {
        package: "crates/harness",
        folders: &["home", "run", "judge", "gather", "work", "seal", "spine", "after", "must_not_compile"],
    },
    FolderOrder {
        package: "crates/tree",
        folders: &["oid", "source_problem", "error", "object", "store", "worktree", "capture", "patch", "source"],
    },
];

/// Most modules of a package that may import each other in a circle.
const MOST_IN_CYCLE: usize = 8;

/// Everything in a tree that is against its direction, one entry each with the imports that
/// make it so: an import against the order, a large cycle of modules, and any cycle of folders.
pub(super) fn against_direction(packages: &Packages) -> Vec<String> {
    let ordered = ORDERS.iter().flat_map(|order| match packages.0.get(order.package) {
        Some(modules) => against_order(order, modules),
        None => vec![format!("there is no package {}", order.package)],
    });
    let large = packages.module_cycles().into_iter().filter(|cycle| cycle.modules.len() > MOST_IN_CYCLE);
    let circles = packages.folder_cycles();
    ordered.chain(large.chain(circles).map(|cycle| cycle.listing())).collect()
}

/// Everything that is not as the order says, one sentence each.
fn against_order(order: &FolderOrder, modules: &PackageModules) -> Vec<String> {
    let place = |name: &str| order.folders.iter().position(|folder| *folder == name);
    let names = modules.module_names(Level::Folder);
    let unlisted = names.iter().filter(|name| *name != ROOT && place(name).is_none());
    let missing = order.folders.iter().filter(|folder| !names.contains(**folder));
    let crossings = modules.crossings(Level::Folder);
    let upward = crossings.iter().filter(|crossing| {
        crossing.from != ROOT && (crossing.to == ROOT || place(&crossing.from) < place(&crossing.to))
    });
    let mut found: Vec<String> =
        unlisted.map(|name| format!("{}: `{name}` has no place in the order", order.package)).collect();
    found.extend(missing.map(|name| format!("{}: there is no `{name}`", order.package)));
    found.extend(upward.map(|crossing| format!("{}: {crossing}", order.package)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::tree::measure_tree;
    use crate::process::repository_root;

    #[test]
    fn an_import_against_the_order_is_named() {
        let check = |files: &[(&str, &str)], expected: &[&str]| {
            let order = FolderOrder { package: "p", folders: &["low", "mid", "top"] };
            assert_eq!(against_order(&order, &PackageModules::of_files(files)), expected, "{files:?}");
        };
        let (root, low) = (("lib.rs", "pub use top::t::T;"), ("low/l.rs", "pub struct L;"));
        let (mid, top) = (("mid.rs", "use crate::low::l::L;"), ("top/t.rs", "use crate::low::l::L;"));
        check(&[root, low, mid, top], &[]);
        check(&[root, ("low/l.rs", "use crate::T;"), mid, top], &["p: low -> top: crate::T (low/l.rs:1)"]);
        check(
            &[("lib.rs", "pub fn f() {}"), low, mid, ("top/t.rs", "use crate::f;")],
            &["p: top -> crate: crate::f (top/t.rs:1)"],
        );
        check(&[root, low, top], &["p: there is no `mid`"]);
        check(&[root, low, mid, top, ("new.rs", "")], &["p: `new` has no place in the order"]);
    }

    /// The imports of the workspace, as they are written.
    #[test]
    fn folders_import_from_those_before_them_and_no_cycle_is_large() {
        let found = against_direction(&measure_tree(&repository_root()).unwrap().packages);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
