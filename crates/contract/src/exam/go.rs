//! The exam of Go: the tests that go finds by name, and the files that decide where
//! imported code comes from.

use super::{Rule, Signs};

pub(super) const SIGNS: Signs = Signs {
    names: &["go.mod", "go.work"],
    endings: &["go"],
    programs: &["go", "gotestsum", "gotest", "ginkgo", "mage"],
};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "*_test.go" "what go test runs"
        is ["pkg/a_test.go"] not ["pkg/latest.go", "pkg/testing.go"]

    Runner "go.{mod,sum,work,work.sum}" "the manifest; which versions are built, and what stands in place of a module"
        is ["go.mod", "pkg/go.sum", "go.work", "go.work.sum"] not ["cargo.mod"]
    Runner "vendor/" "built in place of the modules' own code, and not compared with it; assertion libraries lie there"
        is ["vendor/modules.txt", "vendor/github.com/stretchr/testify/assert/assertions.go"] not ["vendors/a.go"]
    Runner ".go-version" "chooses the toolchain"
        is [".go-version"] not ["go-version"]
    Runner "magefile.go" "what mage runs"
        is ["magefile.go"] not ["mage.go"]
    Runner "magefiles/" "what mage runs"
        is ["magefiles/build.go"] not ["files/a.go"]
};
