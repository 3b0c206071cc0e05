//! Values that the caller knows, and their forms in the usual encodings.

use std::fmt;
use std::sync::Arc;

use crate::Class;
use crate::marker;

/// Values shorter than this are not searched for: they would be met by chance.
pub const SHORTEST: usize = 12;

/// Kind of a known value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KnownClass {
    Credential,
    Endpoint,
    Token,
    Canary,
}

impl From<KnownClass> for Class {
    fn from(class: KnownClass) -> Class {
        match class {
            KnownClass::Credential => Class::Credential,
            KnownClass::Endpoint => Class::Endpoint,
            KnownClass::Token => Class::Token,
            KnownClass::Canary => Class::Canary,
        }
    }
}

/// One exact value to find, under the name that hits and markers show for it.
#[derive(Clone)]
pub struct Known {
    pub(crate) name: Arc<str>,
    pub(crate) class: KnownClass,
    pub(crate) value: Vec<u8>,
}

impl Known {
    /// White space around the value is no part of it. The name is shown in lower case, with
    /// dashes for anything but letters and digits.
    pub fn new(name: &str, class: KnownClass, value: &[u8]) -> Known {
        Known { name: marker::marker_name(name).into(), class, value: value.trim_ascii().to_vec() }
    }

    /// False for a value that is too short.
    pub fn is_searched_for(&self) -> bool {
        self.value.len() >= SHORTEST
    }
}

/// The value stays out of every log.
impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, class, len) = (&self.name, self.class, self.value.len());
        write!(f, "Known({name}, {class:?}, {len} bytes)")
    }
}
