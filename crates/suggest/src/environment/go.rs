//! Go: dependencies from `vendor` or from the module cache, and a build cache that setup
//! fills and that is then only read.

use super::draft::EnvironmentDraft;
use crate::machine::{Machine, Toolchain};
use crate::repository::ProjectFolder;

const GO: Toolchain = Toolchain { name: "go", landmarks: &["pkg/tool", "src/runtime"] };

const BUILD_CACHE: &str = "/workspace/.cto/go-build";

/// Adds Go modules, if there is a `go.mod`.
pub(super) fn draft_go(place: &ProjectFolder<'_>, machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let Some(module) = place.has_file("go.mod").then(|| place.read_text("go.mod").unwrap_or_default()) else { return };
    let vendored = place.has_folder("vendor") && place.read_text("vendor/modules.txt").is_some();
    let inputs = ["go.mod", "go.sum", "vendor/modules.txt"].into_iter();
    let inputs: Vec<String> = inputs
        .filter(|name| place.has_file(name) || (vendored && name.contains('/')))
        .map(|name| place.path_of(name))
        .collect();
    draft.found("Go", &inputs);
    draft.show_toolchain(machine, &GO);
    if vendored {
        // The harness asks go for names by the same variable, and leaves it alone where a
        // contract sets it.
        draft.variable("GOFLAGS", "-mod=vendor -v", "dependencies are in vendor/, and go names its tests");
    } else if requires(&module) {
        modules(machine, draft);
    }
    draft.variable("GOPROXY", "off", "a sandbox has no network, so that go need not try");
    draft.variable("GOTOOLCHAIN", "local", "go takes the toolchain that is there");
    build_cache(place, draft);
    draft.sees_whole_tree();
}

/// Go compiles its own library too, which takes longer than most tests. In the tree the
/// cache is kept with the layer; that it cannot be written to afterwards keeps an engine's
/// builds out of its patch.
fn build_cache(place: &ProjectFolder<'_>, draft: &mut EnvironmentDraft) {
    draft.variable("GOCACHE", BUILD_CACHE, "what setup compiled, kept with the layer");
    draft.variable("GODEBUG", "goindex=0", "go's index of packages wants to write to its cache");
    let why = "compiles everything once, tests included, and runs none; the baseline has to compile";
    draft.add_setup(&["go", "test", "-exec", "true", "./..."], place.cwd(), why);
    let cache = BUILD_CACHE.trim_start_matches("/workspace/");
    draft.setup_last(&["chmod", "-R", "a-w", cache], "so that an engine's builds leave nothing in the tree");
}

fn modules(machine: &Machine<'_>, draft: &mut EnvironmentDraft) {
    let cache = machine.of_home("go/pkg/mod").or_else(|| machine.beside_path("pkg/mod", "pkg/mod/cache"));
    let inside = cache.and_then(|cache| {
        draft.show_folder(
            &cache,
            "/opt/go-modules",
            "modules that go downloaded before, so that setup needs no network",
        )
    });
    match inside {
        Some(inside) => draft.variable("GOMODCACHE", &inside, "where go looks for modules"),
        None => draft.add_note("go has no modules in ~/go/pkg/mod: run go mod download once, then suggest again"),
    }
}

fn requires(module: &str) -> bool {
    module.lines().any(|line| line.trim_start().starts_with("require"))
}
