//! CMake, Maven and Make: the code under test is built on every judged tree; dependencies
//! come from the system or from a cache.

use super::draft::EnvironmentDraft;
use crate::machine::{Machine, Toolchain};
use crate::repository::ProjectFolder;

const CMAKE: Toolchain = Toolchain { name: "cmake", landmarks: &["share/cmake"] };
const MAVEN: Toolchain = Toolchain { name: "mvn", landmarks: &["lib/maven-core", "boot"] };

/// Adds CMake: the build runs on every judged tree, since its products are under test.
pub(super) fn draft_cmake(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    if !place.is_root() || !place.has_file("CMakeLists.txt") {
        return;
    }
    draft.found("CMake", &[place.path_of("CMakeLists.txt")]);
    draft.show_toolchain(machine, &CMAKE);
    draft.add_build(&["cmake", "-S", ".", "-B", "build"], None, "configures the tree that is judged");
    draft.add_build(&["cmake", "--build", "build"], None, "makes what the tests run, on every tree that is judged");
    if !place.ignores("build") {
        draft.add_note("build is not in .gitignore: what an engine builds there counts as part of its patch");
    }
}

/// Adds Maven, with the operator's local repository as a read-only cache if there is one.
pub(super) fn draft_maven(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    if !place.is_root() || !place.has_file("pom.xml") {
        return;
    }
    draft.found("Maven", &[place.path_of("pom.xml")]);
    draft.show_toolchain(machine, &MAVEN);
    let cache = machine.of_home(".m2/repository");
    let inside = cache.and_then(|cache| {
        draft.show_folder(&cache, "/opt/m2", "what Maven downloaded before, so that nothing needs the network")
    });
    match inside {
        Some(inside) => {
            let value = format!("-Dmaven.repo.local={inside}");
            draft.variable("MAVEN_OPTS", &value, "where Maven looks for plugins and dependencies");
        }
        None => draft.add_note("Maven has no repository in ~/.m2: run mvn verify once, then suggest again"),
    }
    if !place.ignores("target") {
        draft.add_note("target is not in .gitignore: what an engine builds there counts as part of its patch");
    }
}

/// A Makefile alone: the system has all that it needs, or a person has to say what it lacks.
pub(super) fn draft_make(place: &ProjectFolder<'_>, _: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let file = ["GNUmakefile", "Makefile", "makefile"].into_iter().find(|name| place.has_file(name));
    if let Some(file) = file.filter(|_| place.is_root() && draft.count_projects() == 0) {
        draft.found("Make", &[place.path_of(file)]);
    }
}
