//! Request for one supervised program.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Confinement, ProcessLimits, SuperviseError, Watched};

/// Bytes kept from the beginning, and as many from the end, of each output stream unless
/// the spec says otherwise.
pub const KEEP_DEFAULT: usize = 16 << 20;

/// Everything that supervising one program needs. There are no defaults from the
/// environment.
#[derive(Debug, Clone)]
pub struct Spec {
    /// `argv[0]` is a path, found beforehand by [`crate::find_program`]; there is no search
    /// at spawn time.
    pub argv: Vec<String>,
    /// Working directory, as the program will see it.
    pub cwd: PathBuf,
    /// The whole environment, but for the marker, which is added.
    pub env: Vec<(String, String)>,
    /// Standard input as a file holding these bytes; `/dev/null` if `None`.
    pub stdin: Option<Vec<u8>>,
    /// Time limit from the start of the program.
    pub wall: Duration,
    /// Limits of each process.
    pub limits: ProcessLimits,
    /// More than this on stdout and stderr together ends the run.
    pub output_bytes: u64,
    /// Bytes to keep of the beginning of each stream.
    pub keep_head: usize,
    /// Bytes to keep of the end of each stream.
    pub keep_tail: usize,
    /// Environment variable that no other run has, by which `sweep` finds
    /// processes that lost their supervisor.
    pub marker: (String, String),
    /// More growth than this ends the run, under either profile: for directories of the
    /// host that the program writes directly.
    pub watched: Option<Watched>,
    /// Profile `strict` if there is one, else `none`.
    pub confinement: Option<Confinement>,
}

impl Spec {
    /// A spec with an empty environment, no input, no resource limits and the default of
    /// kept output.
    pub fn new(argv: Vec<String>, cwd: PathBuf, wall: Duration, marker: (String, String)) -> Self {
        Self {
            argv,
            cwd,
            env: Vec::new(),
            stdin: None,
            wall,
            limits: ProcessLimits::default(),
            output_bytes: u64::MAX,
            keep_head: KEEP_DEFAULT,
            keep_tail: KEEP_DEFAULT,
            marker,
            watched: None,
            confinement: None,
        }
    }

    /// Refuses a spec that can never be run.
    pub(crate) fn check(&self) -> Result<(), SuperviseError> {
        match self.argv.first() {
            None => return Err(SuperviseError::bad_spec("argv is empty")),
            Some(first) if !first.contains('/') => {
                return Err(SuperviseError::bad_spec(format!("argv[0] is a name, not a path: {first}")));
            }
            Some(_) => {}
        }
        if !self.cwd.is_absolute() {
            return Err(SuperviseError::bad_spec(format!("cwd is not absolute: {}", self.cwd.display())));
        }
        let (key, value) = &self.marker;
        if key.is_empty() || value.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
            return Err(SuperviseError::bad_spec("marker needs a name without '=' and a value"));
        }
        self.watched.as_ref().map_or(Ok(()), Watched::check)?;
        self.confinement.as_ref().map_or(Ok(()), Confinement::check)
    }
}
