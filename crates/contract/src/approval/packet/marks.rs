//! Marks for changes that cannot be undone, or that deserve a second look: rules as data,
//! each with its own examples.
//!
//! A mark helps the reader of a packet; no gate relies on it. The report lists the
//! deletions and permissions that a run really made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::PlannedRepository;
use crate::exam::{Ecosystem, Role, rules};
use crate::paths::{ParseGlobError, PathSet, matches_some};
use crate::task::TaskContract;
use crate::text::path_text;

/// Reason for a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkKind {
    /// Once it has run somewhere, taking the commit back does not take it back.
    Irreversible,
    /// Much follows from few lines.
    Sensitive,
}

impl MarkKind {
    /// Name of the kind as packets and plans write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Irreversible => "irreversible",
            Self::Sensitive => "sensitive",
        }
    }
}

/// One glob that is marked.
#[derive(Debug, Clone, Copy)]
pub struct MarkRule {
    pub kind: MarkKind,
    /// Matches at any depth.
    pub glob: &'static str,
    /// Heading under which the packet lists it.
    pub what: &'static str,
    /// Paths it must match.
    pub matches: &'static [&'static str],
    /// Paths it must leave alone.
    pub leaves: &'static [&'static str],
}

macro_rules! mark_rules {
    ($($kind:ident $glob:literal $what:literal is [$($is:literal),+] not [$($not:literal),*])*) => {
        &[$(MarkRule {
            kind: MarkKind::$kind,
            glob: $glob,
            what: $what,
            matches: &[$($is),+],
            leaves: &[$($not),*],
        },)*]
    };
}

/// Number of paths up to which only the globs are read that match one of them.
const FEW_PATHS: usize = 64;

/// Headings of the packet, in the order in which it lists marks.
const HEADINGS: &[(MarkKind, &str)] = &[
    (MarkKind::Irreversible, "database migrations"),
    (MarkKind::Sensitive, "lock files"),
    (MarkKind::Sensitive, "continuous integration"),
    (MarkKind::Sensitive, "build and test configuration"),
    (MarkKind::Sensitive, "generated code"),
];

/// Rules for migrations, lock files and generated code; continuous integration and builds
/// are taken from the exam set.
#[rustfmt::skip]
pub const MARK_RULES: &[MarkRule] = mark_rules! {
    Irreversible "migrations/" "database migrations"
        is ["migrations/0001_init.sql", "app/migrations/0002_more.py"] not ["docs/migrations.md", "src/migration/mod.rs"]
    Irreversible "db/migrate/" "database migrations"
        is ["db/migrate/20260101_add_users.rb"] not ["src/migrate/mod.rs"]
    Irreversible "alembic/versions/" "database migrations"
        is ["alembic/versions/ab12_init.py"] not ["alembic/env.py"]
    Irreversible "[VU][0-9]*__*.sql" "database migrations"
        is ["sql/V1__init.sql", "U2_1__undo.sql"] not ["sql/V1.sql", "sql/view__a.sql"]
    Irreversible "changelog/*.{xml,sql}" "database migrations"
        is ["db/changelog/001.xml", "changelog/002.sql"] not ["changelog/001.md"]

    Sensitive "*.lock" "lock files"
        is ["Cargo.lock", "web/yarn.lock", "poetry.lock", "Gemfile.lock"] not ["src/lock.rs", "a.lock.md"]
    Sensitive "{package-lock,npm-shrinkwrap}.json" "lock files"
        is ["package-lock.json", "web/npm-shrinkwrap.json"] not ["package.json"]
    Sensitive "pnpm-lock.yaml" "lock files"
        is ["pnpm-lock.yaml"] not ["lock.yaml"]
    Sensitive "go.sum" "lock files"
        is ["go.sum"] not ["go.mod"]
    Sensitive "{bun.lockb,gradle.lockfile,Package.resolved}" "lock files"
        is ["bun.lockb", "app/gradle.lockfile", "Package.resolved"] not ["bun.toml"]

    Sensitive "{generated,__generated__}/" "generated code"
        is ["generated/api.ts", "web/__generated__/schema.ts"] not ["src/generator/mod.rs"]
    Sensitive "*.{generated,gen,pb,designer}.*" "generated code"
        is ["api.generated.ts", "zz.gen.go", "a.pb.go", "Form.Designer.designer.cs"] not ["generated.rs", "pb.go"]
    Sensitive "*_{pb2,pb2_grpc}.{py,pyi}" "generated code"
        is ["api/v1_pb2.py", "a_pb2_grpc.pyi"] not ["pb2.py"]
    Sensitive "*.min.{js,css}" "generated code"
        is ["web/app.min.js", "app.min.css"] not ["min.js"]
};

/// A mark of the packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedMark {
    pub kind: MarkKind,
    pub what: String,
    /// A path that may change.
    pub example: String,
    /// Number of such files at HEAD; none where only the allowed paths admit one.
    pub files: u64,
}

/// Rules of this table, and those of the exam set for continuous integration and builds.
fn all_rules() -> impl Iterator<Item = MarkRule> {
    let own = MARK_RULES.iter().copied();
    let configuring = rules(Ecosystem::ALL).filter_map(|rule| {
        let what = match rule.role {
            Role::Integration => "continuous integration",
            Role::BuildHook | Role::Runner => "build and test configuration",
            Role::Tests => return None,
        };
        let (matches, leaves) = (rule.matches, rule.leaves);
        Some(MarkRule { kind: MarkKind::Sensitive, glob: rule.glob, what, matches, leaves })
    });
    own.chain(configuring)
}

/// Paths that may change: of the contract, and of the target admission where there is one.
struct AdmittedPaths {
    allowed: Vec<PathSet>,
    forbidden: Vec<PathSet>,
}

impl AdmittedPaths {
    fn read(contract: &TaskContract, repository: &PlannedRepository) -> Result<Self, ParseGlobError> {
        let mut allowed = vec![PathSet::rooted(&contract.allowed_paths)?];
        if !repository.allowed_paths.is_empty() {
            allowed.push(PathSet::rooted(&repository.allowed_paths)?);
        }
        let forbidden =
            vec![PathSet::any_depth(&contract.forbidden_paths)?, PathSet::any_depth(&repository.forbidden_paths)?];
        Ok(Self { allowed, forbidden })
    }

    fn admits(&self, path: &[u8]) -> bool {
        self.allowed.iter().all(|set| set.is_match(path)) && !self.forbidden.iter().any(|set| set.is_match(path))
    }
}

/// Marks what may change: files that are there at HEAD, or else a file that the allowed
/// paths name, or admit at its usual place. One mark for each heading, those that cannot be
/// undone first.
pub fn find_marks(
    contract: &TaskContract,
    repository: &PlannedRepository,
    head_paths: &[&[u8]],
) -> Result<Vec<PlannedMark>, ParseGlobError> {
    let admitted = AdmittedPaths::read(contract, repository)?;
    let there: Vec<&[u8]> = head_paths.iter().copied().filter(|path| admitted.admits(path)).collect();
    let named: Vec<String> = contract.allowed_paths.iter().map(|glob| fill_wildcards(glob)).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).filter(|path| admitted.admits(path.as_bytes())).collect();
    let usual: Vec<(&str, &str)> = all_rules()
        .flat_map(|rule| rule.matches.iter().map(move |path| (rule.what, *path)))
        .filter(|(_, path)| admitted.admits(path.as_bytes()))
        .collect();
    let texts = named.iter().copied().chain(usual.iter().map(|(_, path)| *path)).map(str::as_bytes);
    let mut considered: Vec<&[u8]> = there.iter().copied().chain(texts).collect();
    considered.sort_unstable();
    considered.dedup();
    let is_many = considered.len() > FEW_PATHS;
    let (mut marks, mut earlier) = (Vec::new(), Vec::<PathSet>::new());
    for (kind, what) in HEADINGS {
        let is_wanted = |rule: &MarkRule| rule.what == *what && (is_many || matches_some(rule.glob, &considered));
        let rules: Vec<MarkRule> = all_rules().filter(is_wanted).collect();
        let anywhere = read_rules(&rules, "")?;
        // A path stands under one heading.
        let is_new = |path: &[u8]| !earlier.iter().any(|set| set.is_match(path));
        let mut files = there.iter().filter(|path| anywhere.is_match(path) && is_new(path)).peekable();
        let mut example = files.peek().map(|path| path_text(path));
        if example.is_none() {
            let at_root = read_rules(&rules, "/")?;
            let named = named.iter().copied().filter(|path| anywhere.is_match(path.as_bytes()));
            let usual = usual.iter().filter(|(other, _)| other == what).map(|(_, path)| *path);
            let usual = usual.filter(|path| at_root.is_match(path.as_bytes()));
            example = named.chain(usual).find(|path| is_new(path.as_bytes())).map(str::to_owned);
        }
        let files = files.count() as u64;
        marks.extend(example.map(|example| PlannedMark { kind: *kind, what: (*what).to_owned(), example, files }));
        earlier.push(anywhere);
    }
    Ok(marks)
}

/// Reads the globs of these rules with `anchor` before each of them: `/` ties them to the root.
fn read_rules(rules: &[MarkRule], anchor: &str) -> Result<PathSet, ParseGlobError> {
    let globs = rules.iter().map(|rule| match anchor {
        "" => rule.glob.to_owned(),
        anchor => format!("{anchor}{}", rule.glob.trim_start_matches('/')),
    });
    PathSet::any_depth(&globs.collect::<Vec<_>>())
}

/// The glob as one path that it matches: `x` for a wildcard, the first of several choices.
fn fill_wildcards(glob: &str) -> String {
    let mut filled = String::new();
    let mut characters = glob.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' if filled.ends_with('x') => {}
            '*' | '?' => filled.push('x'),
            '[' => filled.extend(characters.by_ref().take_while(|other| *other != ']').take(1)),
            '{' => {
                let choices: String = characters.by_ref().take_while(|other| *other != '}').collect();
                filled.push_str(choices.split(',').next().unwrap_or_default());
            }
            '\\' => filled.extend(characters.next()),
            other => filled.push(other),
        }
    }
    if filled.ends_with('/') { filled + "x" } else { filled }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::tests::plan;

    #[test]
    fn every_rule_matches_its_examples_and_leaves_the_others() {
        for rule in MARK_RULES {
            assert!(HEADINGS.contains(&(rule.kind, rule.what)), "{}", rule.glob);
            let set = PathSet::any_depth(&[rule.glob.to_owned()]).unwrap();
            for path in rule.matches {
                assert!(set.is_match(path.as_bytes()), "{} must match {path}", rule.glob);
            }
            for path in rule.leaves {
                assert!(!set.is_match(path.as_bytes()), "{} must not match {path}", rule.glob);
            }
        }
    }

    /// The marks for these allowed and forbidden paths and these files, as `what: example, number of files`.
    fn marks(allowed: &[&str], forbidden: &[&str], there: &[&str]) -> Vec<String> {
        let mut plan = plan();
        plan.contract.allowed_paths = allowed.iter().map(|glob| (*glob).to_owned()).collect();
        plan.contract.forbidden_paths = forbidden.iter().map(|glob| (*glob).to_owned()).collect();
        plan.repository.allowed_paths = vec!["**".to_owned()];
        let there: Vec<&[u8]> = there.iter().map(|path| path.as_bytes()).collect();
        let marks = find_marks(&plan.contract, &plan.repository, &there).unwrap();
        marks.iter().map(|mark| format!("{}: {}, {}", mark.what, mark.example, mark.files)).collect()
    }

    /// Allowed paths, forbidden paths, files at HEAD, and the marks that follow.
    type MarkRow = [&'static [&'static str]; 4];

    #[test]
    fn what_may_change_is_marked() {
        let rows: &[MarkRow] = &[
            [&["lib/**", "docs/*.md"], &[], &["lib/a.py", "Cargo.lock"], &[]],
            [&["lib/**"], &[], &["lib/Cargo.lock", "lib/b.lock", "lib/c.py"], &["lock files: lib/Cargo.lock, 2"]],
            [&["lib/**"], &["*.lock"], &["lib/Cargo.lock"], &[]],
            [&["app/migrations/**"], &[], &[], &["database migrations: app/migrations/x, 0"]],
            [&["app/migrations/**"], &["migrations/"], &[], &[]],
            [&["services/*/Cargo.lock"], &[], &[], &["lock files: services/x/Cargo.lock, 0"]],
            [&["{web,api}/package-lock.json"], &[], &[], &["lock files: web/package-lock.json, 0"]],
            [&[".github/"], &[], &[], &["continuous integration: .github/workflows/ci.yml, 0"]],
            [&["lib/__generated__/"], &[], &[], &["generated code: lib/__generated__/x, 0"]],
            [&["[M]akefile"], &[], &[], &["build and test configuration: Makefile, 0"]],
            [&["*.lock"], &[], &[], &["lock files: x.lock, 0"]],
            [
                &["*.json"],
                &[],
                &[],
                &["lock files: package-lock.json, 0", "build and test configuration: package.json, 0"],
            ],
        ];
        for [allowed, forbidden, there, expected] in rows {
            assert_eq!(marks(allowed, forbidden, there), *expected, "{allowed:?}");
        }
        let all = marks(&["**"], &[], &[]);
        assert_eq!(all.len(), HEADINGS.len(), "{all:?}");
        assert!(all[0].starts_with("database migrations"), "what cannot be undone comes first: {all:?}");
    }

    #[test]
    fn a_target_admission_narrows_what_is_marked() {
        let mut plan = plan();
        plan.contract.allowed_paths = vec!["**".to_owned()];
        let there: &[&[u8]] = &[b"lib/Cargo.lock", b"docs/a.md"];
        for (allowed, expected) in [("docs/", 0), ("lib/", 1)] {
            plan.repository.allowed_paths = vec![allowed.to_owned()];
            assert_eq!(find_marks(&plan.contract, &plan.repository, there).unwrap().len(), expected, "{allowed}");
        }
    }
}
