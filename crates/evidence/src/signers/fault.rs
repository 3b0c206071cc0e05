//! Faults of a line that allows nobody.

/// Reason why a line cannot be read in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignerLineFault {
    #[error("it has no key that can be read")]
    Key,
    #[error("an option is unknown, repeated or not in quotes")]
    Option,
    /// ssh-keygen would read it as local time.
    #[error("a time has no `Z`: write it in UTC, such as \"20300101Z\"")]
    LocalTime,
    #[error("a time is not in the calendar: write it in UTC, such as \"20300101Z\"")]
    NoMoment,
}

/// A line that allows nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableSigner {
    /// Its number, from 1.
    pub line: usize,
    pub fault: SignerLineFault,
}
