//! Fields and last message that the reader of an engine's format found.

use contract::claim::Saying;

/// Claims of one run; the first ones are kept.
pub(super) const MAX_CLAIMS: usize = 200;
/// Files of one list.
pub(super) const MAX_FILES: usize = 1_000;

/// Claims that the reader of a format found.
#[derive(Debug, Default)]
pub(super) struct FoundClaims {
    /// Field and what it says.
    pub(super) fields: Vec<(&'static str, Saying)>,
    /// The last message.
    pub(super) prose: String,
}

impl FoundClaims {
    /// Adds a structured claim and the field it was found in.
    pub(super) fn field(&mut self, found_in: &'static str, saying: Saying) {
        self.fields.push((found_in, saying));
    }

    /// Adds the engine's own account of its end, if it gives one.
    pub(super) fn ended(&mut self, ended: Option<(&'static str, bool)>) {
        if let Some((found_in, success)) = ended {
            self.field(found_in, Saying::Success(success));
        }
    }

    /// A list of files that tool events name; none named is nothing said.
    pub(super) fn touched(&mut self, found_in: &'static str, files: Vec<String>) {
        if !files.is_empty() {
            self.field(found_in, Saying::FilesTouched(files));
        }
    }
}
