//! The exam of Go: the tests that go finds by name, and the files that decide where
//! imported code comes from.

use super::{Rule, Signs};

/// Signs of the ecosystem.
pub(super) const SIGNS: Signs = Signs {
    names: &["go.mod", "go.work"],
    endings: &["go"],
    programs: &["go", "gotestsum", "gotest", "ginkgo", "mage"],
};

/// Rules of this table.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "*_test.go" "`go test` runs these files"
        is ["pkg/a_test.go"] not ["pkg/latest.go", "pkg/testing.go"]

    Runner "go.{mod,sum,work,work.sum}" "the manifest: versions and replaced modules"
        is ["go.mod", "pkg/go.sum", "go.work", "go.work.sum"] not ["cargo.mod"]
    Runner "vendor/" "Go builds this copy of the modules, such as assertion libraries, without comparing it with the originals"
        is ["vendor/modules.txt", "vendor/github.com/stretchr/testify/assert/assertions.go"] not ["vendors/a.go"]
    Runner ".go-version" "chooses the toolchain"
        is [".go-version"] not ["go-version"]
    Runner "magefile.go" "mage runs its targets"
        is ["magefile.go"] not ["mage.go"]
    Runner "magefiles/" "mage runs its targets"
        is ["magefiles/build.go"] not ["files/a.go"]
};
