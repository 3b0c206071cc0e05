//! Exam paths of every repository: names that mean tests in any language, files that choose
//! toolchains, and the configuration of continuous integration.
//!
//! `.gitattributes` is not among them: trees and patches are made of raw blobs, so it
//! alters nothing that a test reads.

use super::Rule;

/// Rules of this table.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = rules! {
    Tests "test/" "a test folder of any language"
        is ["test/data.json", "src/test/java/A.java", "test"] not ["latest/a", "src/testing/a"]
    Tests "tests/" "a test folder of any language"
        is ["tests/data.json", "src/tests/mod.rs", "pkg/tests"] not ["contests/a"]
    Tests "testdata/" "data that tests read or compare with"
        is ["pkg/testdata/in.txt"] not ["data/in.txt"]
    Tests "__snapshots__/" "expected output of snapshot tests"
        is ["src/__snapshots__/a.ambr"] not ["snapshots/a.md"]
    Tests "*.snap" "expected output of snapshot tests"
        is ["src/snapshots/a.snap"] not ["snap.rs", "a.snap.new"]
    Tests "*.golden" "expected output of golden-file tests"
        is ["out/help.golden"] not ["golden.rs"]
    Tests "*.feature" "scenarios that Cucumber, behave or pytest-bdd run"
        is ["features/login.feature"] not ["feature.rs"]

    Runner ".env" "variables that runners load, such as PYTEST_ADDOPTS and NODE_OPTIONS"
        is ["app/.env"] not [".env.example", "a.env"]
    Runner ".env.test*" "variables that runners load for tests"
        is [".env.test", ".env.test.local"] not [".env.production"]
    Runner ".tool-versions" "chooses the interpreter or toolchain that runs the tests"
        is [".tool-versions"] not ["tool-versions"]
    Runner "{mise,.mise}*.toml" "chooses the interpreter or toolchain that runs the tests, and may define tasks"
        is ["mise.toml", ".mise.local.toml"] not ["promise.toml"]

    Integration ".github/workflows/" "GitHub Actions"
        is [".github/workflows/ci.yml"] not [".github/CODEOWNERS", "docs/workflows/a.md"]
    Integration ".github/actions/" "GitHub Actions that the repository defines"
        is [".github/actions/setup/action.yml"] not ["src/actions/a.ts"]
    Integration ".{gitea,forgejo}/workflows/" "Gitea and Forgejo Actions"
        is [".gitea/workflows/ci.yml", ".forgejo/workflows/ci.yml"] not [".gitea/issue_template.md"]
    Integration ".gitlab-ci*.yml" "GitLab CI"
        is [".gitlab-ci.yml", ".gitlab-ci-lint.yml"] not ["gitlab-ci.md"]
    Integration ".gitlab/ci/" "parts of GitLab CI"
        is [".gitlab/ci/build.yml"] not [".gitlab/CODEOWNERS"]
    Integration ".circleci/" "CircleCI"
        is [".circleci/config.yml"] not ["circleci.md"]
    Integration "azure-pipelines*.{yml,yaml}" "Azure Pipelines"
        is ["azure-pipelines.yml", "ci/azure-pipelines-pr.yaml"] not ["azure.yml"]
    Integration ".azure-pipelines/" "Azure Pipelines"
        is [".azure-pipelines/build.yml"] not [".azure/config"]
    Integration "Jenkinsfile*" "Jenkins"
        is ["Jenkinsfile", "Jenkinsfile.nightly"] not ["docs/jenkins.md"]
    Integration ".buildkite/" "Buildkite"
        is [".buildkite/pipeline.yml"] not ["buildkite.md"]
    Integration ".travis.yml" "Travis CI"
        is [".travis.yml"] not ["travis.yml"]
    Integration "{appveyor,.appveyor}.yml" "AppVeyor"
        is ["appveyor.yml", ".appveyor.yml"] not ["appveyor.md"]
    Integration "bitbucket-pipelines.yml" "Bitbucket Pipelines"
        is ["bitbucket-pipelines.yml"] not ["bitbucket.md"]
    Integration ".cirrus.{yml,star}" "Cirrus CI"
        is [".cirrus.yml", ".cirrus.star"] not ["cirrus.md"]
    Integration ".drone.{yml,star,jsonnet}" "Drone"
        is [".drone.yml", ".drone.star", ".drone.jsonnet"] not ["drone.rs"]
    Integration ".woodpecker/" "Woodpecker"
        is [".woodpecker/test.yml"] not ["woodpecker.md"]
    Integration ".woodpecker.{yml,yaml}" "Woodpecker"
        is [".woodpecker.yml", ".woodpecker.yaml"] not ["woodpecker.yml"]
    Integration ".semaphore/" "Semaphore"
        is [".semaphore/semaphore.yml"] not ["src/semaphore/mod.rs"]
    Integration ".teamcity/" "TeamCity"
        is [".teamcity/settings.kts"] not ["teamcity.md"]
    Integration ".builds/" "builds.sr.ht"
        is [".builds/debian.yml"] not ["builds/a"]
    Integration ".build.yml" "builds.sr.ht"
        is [".build.yml"] not ["build.yml"]
    Integration "{cloudbuild,buildspec}.{yml,yaml}" "Google Cloud Build and AWS CodeBuild"
        is ["cloudbuild.yaml", "buildspec.yml"] not ["build.yaml"]
    Integration ".pre-commit-config.yaml" "pre-commit"
        is [".pre-commit-config.yaml"] not [".pre-commit-hooks.yaml"]
    Integration ".ci/" "scripts of continuous integration"
        is [".ci/run"] not ["src/ci/mod.rs"]
};
