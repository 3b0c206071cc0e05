//! The copy of a target that an engine works on, and the baseline that its result is
//! compared with.

use std::path::PathBuf;

use contract::approval::RepositoryKind;
use contract::decision::OffLimitsTree;
use contract::taken::Person;
use tree::{
    CaptureLimits, Checkout, Listing, Manifest, ObjectDatabase, Oid, References, SourceDigest, SourceRepository,
};

/// Limits on a result; beyond them is `budget_exceeded`.
pub(crate) const CAPTURE_LIMITS: CaptureLimits =
    CaptureLimits { entries: 200_000, total_bytes: 1 << 30, file_bytes: 256 << 20, depth: 128 };

/// Reference of the harness's diff. Kept outside of everything that an engine can write.
pub(crate) struct Baseline {
    /// Object store of the run.
    pub(crate) store: ObjectDatabase,
    /// Every path of the baseline.
    pub(crate) listing: Listing,
    pub(crate) tree: Oid,
}

/// A laid-out copy, ready for an engine.
pub(crate) struct Copy {
    /// Folder of the copy on the host.
    pub(crate) root: PathBuf,
    pub(crate) baseline: Baseline,
    /// Commit that the engine sees as HEAD.
    pub(crate) commit: Oid,
    /// Manifest of the written files, if an engine may write over them. A checkout from the
    /// cache has none and stays as it is.
    pub(crate) manifest: Option<Manifest>,
    /// Keeps a checkout from the cache in its place.
    pub(crate) _checkout: Option<Checkout>,
    /// The source repository and what it was before, where there is one.
    pub(crate) source: Option<(SourceRepository, SourceBefore)>,
    /// Tree that the engine starts from, where that is not the baseline.
    pub(crate) begun: Option<Listing>,
    /// The repository that gets the result's commit, where one does.
    pub(crate) landing: Option<LandingRepository>,
    /// Paths whose content git does not hold.
    pub(crate) absent: Vec<String>,
}

/// State of a source repository before a run.
pub(crate) enum SourceBefore {
    /// Work tree, index and references, which must be the same afterwards.
    Whole(SourceDigest),
    /// References alone, because the source is a commit by this name.
    References { named: String, references: References },
}

impl Copy {
    /// Tree that lies in the engine's workspace when it starts.
    pub(crate) fn begins_with(&self) -> &Listing {
        self.begun.as_ref().unwrap_or(&self.baseline.listing)
    }
}

/// The repository that gets the commit of a verified result: the disposable one of the run,
/// or the admitted target.
pub(crate) struct LandingRepository {
    pub(crate) kind: RepositoryKind,
    pub(crate) source: SourceRepository,
    /// State of the repository before the run.
    pub(crate) before: SourceDigest,
    /// True if the repository was clean when the run started.
    pub(crate) start_clean: bool,
    /// Author and committer, or the key of git's configuration that is not set.
    pub(crate) author: Result<Person, &'static str>,
    /// Tree that forbids changing it.
    pub(crate) off_limits: Option<OffLimitsTree>,
}
