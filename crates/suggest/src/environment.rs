//! A draft of a contract's environment: each ecosystem looks at each folder of a repository
//! that may hold a project.

mod build_tools;
mod draft;
mod go;
mod node;
mod python;
mod python_backend;
mod python_cache;
mod python_lock;
mod python_marker;
mod rust;
mod show;

use std::io;
use std::path::Path;

use untrusted_fs::own_files;

use crate::machine::{DraftChoice, Machine, MachineTools};
use crate::repository::{ProjectFolder, list_project_folders};

pub use draft::EnvironmentDraft;

/// Looks at one folder of a repository; adds to the draft if it is built with the ecosystem
/// in question.
type DraftEcosystem = fn(&ProjectFolder<'_>, &Machine<'_>, &mut EnvironmentDraft);

const ECOSYSTEMS: [DraftEcosystem; 7] = [
    node::draft_node,
    python::draft_python,
    rust::draft_rust,
    go::draft_go,
    build_tools::draft_cmake,
    build_tools::draft_maven,
    build_tools::draft_make,
];

/// A person reads the draft, and a contract has room for some only.
const MOST_PROJECTS: usize = 20;

/// Reason why there is no draft.
#[derive(Debug, thiserror::Error)]
pub enum SuggestEnvironmentError {
    #[error("cannot look at the repository: {0}")]
    Look(#[source] io::Error),
    #[error("nothing says that the repository is built with Node, Python, Rust, Go, CMake, Maven or Make")]
    NothingFound,
}

impl SuggestEnvironmentError {
    /// Files that each ecosystem is known by.
    pub const LOOKED_FOR: &str = "looked for: package.json; requirements*.txt, pyproject.toml, setup.py, Pipfile.lock; Cargo.toml; \
                                  go.mod; here, and two levels down where there is a lock file; CMakeLists.txt, pom.xml, Makefile here";
}

/// Drafts the environment in which the tests of a repository run.
pub fn suggest_environment(dir: &Path, tools: &MachineTools) -> Result<EnvironmentDraft, SuggestEnvironmentError> {
    let root = own_files::canonicalize(dir).map_err(SuggestEnvironmentError::Look)?;
    let folders = list_project_folders(&root).map_err(SuggestEnvironmentError::Look)?;
    let draft = draft_environment(&folders, tools, DraftChoice::USUAL);
    match draft.count_projects() {
        0 => Err(SuggestEnvironmentError::NothingFound),
        _ => Ok(draft),
    }
}

/// Drafts from folders that were listed before; empty where nothing is known.
pub(crate) fn draft_environment(
    folders: &[ProjectFolder<'_>],
    tools: &MachineTools,
    choice: DraftChoice,
) -> EnvironmentDraft {
    let machine = Machine::new(tools, choice);
    let mut draft = EnvironmentDraft::default();
    for folder in folders {
        if draft.count_projects() >= MOST_PROJECTS {
            draft.add_note(format!("there are more than {MOST_PROJECTS} projects; the rest was not looked at"));
            break;
        }
        ECOSYSTEMS.iter().for_each(|draft_ecosystem| draft_ecosystem(folder, &machine, &mut draft));
    }
    draft
}
