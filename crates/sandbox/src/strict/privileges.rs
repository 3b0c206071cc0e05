//! Giving up every privilege for good.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use super::failure::{At, ConfineFailure, ConfineStep};

/// Capability numbers fit into one word.
const CAPABILITIES_MAX: u32 = 64;

/// No capability is held, none can be had again by executing a file, and no file gives more
/// than the program has.
pub(crate) fn drop_all() -> Result<(), ConfineFailure> {
    clear_ambient_capability_set().at(ConfineStep::Privileges, "ambient capabilities")?;
    for number in 0..CAPABILITIES_MAX {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The first number this kernel does not know.
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno).at(ConfineStep::Privileges, "capability bounding set"),
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .at(ConfineStep::Privileges, "capabilities")?;
    set_no_new_privs(true).at(ConfineStep::Privileges, "no_new_privs")
}
