//! Modules of a package that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Crossing, Level, PackageModules};

/// Modules each of which reaches each other by imports.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) package: String,
    pub(super) modules: Vec<String>,
    /// Number of modules of the package.
    pub(super) of: usize,
    /// The imports within the circle.
    pub(super) crossings: Vec<Crossing>,
}

/// Circles of modules, the largest first.
pub(super) fn module_cycles(package: &str, modules: &PackageModules) -> Vec<Cycle> {
    cycles(package, modules, Level::Unit)
}

/// Circles that two or more folders of a package are in, with the files beside them that
/// they go through.
pub(super) fn folder_cycles(package: &str, modules: &PackageModules) -> Vec<Cycle> {
    let folders = modules.folders();
    let mut found = cycles(package, modules, Level::Folder);
    found.retain(|cycle| cycle.modules.iter().filter(|module| folders.contains(*module)).count() > 1);
    found
}

fn cycles(package: &str, modules: &PackageModules, level: Level) -> Vec<Cycle> {
    let (names, crossings) = (modules.module_names(level), modules.crossings(level));
    let mut imports: Imports<'_> = BTreeMap::new();
    for crossing in &crossings {
        imports.entry(&crossing.from).or_default().insert(&crossing.to);
    }
    let reached: Imports<'_> = names.iter().map(|name| (name.as_str(), reachable(&imports, name))).collect();
    let mut circles: BTreeSet<Vec<&str>> = names.iter().map(|name| circle_of(&reached, name)).collect();
    circles.retain(|circle| circle.len() > 1);
    let within = |circle: &[&str]| {
        let inner =
            |crossing: &&Crossing| [&crossing.from, &crossing.to].iter().all(|end| circle.contains(&end.as_str()));
        crossings.iter().filter(inner).cloned().collect()
    };
    let cycle = |circle: Vec<&str>| Cycle {
        package: package.to_owned(),
        crossings: within(&circle),
        modules: circle.into_iter().map(str::to_owned).collect(),
        of: names.len(),
    };
    let mut found: Vec<Cycle> = circles.into_iter().map(cycle).collect();
    found.sort_by_key(|cycle| std::cmp::Reverse(cycle.modules.len()));
    found
}

/// By module: the modules that it imports from, or that it reaches so.
type Imports<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The modules that a module reaches and that reach it, itself among them; none if it does
/// not come back to itself.
fn circle_of<'a>(reached: &Imports<'a>, module: &str) -> Vec<&'a str> {
    let comes_back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(module));
    reached.get(module).into_iter().flatten().filter(comes_back).copied().collect()
}

fn reachable<'a>(imports: &Imports<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = imports.get(from).into_iter().flatten().copied().collect();
    while let Some(module) = next.pop() {
        if found.insert(module) {
            next.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

impl Cycle {
    /// Line of the listing that names the cycle and its modules.
    pub(super) fn head(&self) -> String {
        format!("{}: {} of {}: {}", self.package, self.modules.len(), self.of, self.modules.join(", "))
    }

    /// The circle and its imports, one a line.
    pub(super) fn listing(&self) -> String {
        let lines = self.crossings.iter().map(|crossing| format!("\n  {crossing}"));
        std::iter::once(self.head()).chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], modules: &[&[&str]], folders: &[&[&str]]) {
        let package = PackageModules::of_files(files);
        let names = |cycles: Vec<Cycle>| cycles.into_iter().map(|cycle| cycle.modules).collect::<Vec<_>>();
        assert_eq!(names(module_cycles("p", &package)), modules, "{files:?}");
        assert_eq!(names(folder_cycles("p", &package)), folders, "{files:?}");
    }

    #[test]
    fn a_cycle_is_found_and_a_line_is_none() {
        check(&[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "")], &[], &[]);
        let round = [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        let aside = [("d.rs", "use crate::a::A;"), ("e.rs", "use crate::f::F;"), ("f.rs", "use crate::e::E;")];
        check(&[round, aside].concat(), &[&["a", "b", "c"], &["e", "f"]], &[]);
    }

    #[test]
    fn folders_are_in_a_cycle_also_by_way_of_different_modules_and_of_files_between() {
        let low = [("a/x.rs", "use crate::b::y::Y;"), ("a/z.rs", ""), ("b/y.rs", "")];
        check(&low, &[], &[]);
        check(&[&low[..], &[("b/w.rs", "use crate::a::z::Z;")]].concat(), &[], &[&["a", "b"]]);
        let between = [("b/w.rs", "use crate::m::M;"), ("m.rs", "use crate::a::z::Z;")];
        check(&[&low[..], &between].concat(), &[], &[&["a", "b", "m"]]);
        check(&[("a/x.rs", "use crate::m::M;"), ("m.rs", "use crate::a::x::X;")], &[&["a/x", "m"]], &[]);
    }

    #[test]
    fn a_listing_names_the_imports_within() {
        let files = [("a.rs", "use crate::b::{B, C};"), ("b.rs", "\nuse crate::a::A;"), ("d.rs", "use crate::a::A;")];
        let cycles = module_cycles("p", &PackageModules::of_files(&files));
        let lines = "p: 2 of 4: a, b\n  a -> b: crate::b::B (a.rs:1)\n  a -> b: crate::b::C (a.rs:1)\n  b -> a: crate::a::A (b.rs:2)";
        assert_eq!(cycles[0].listing(), lines);
    }
}
