//! A confinement that is begun before there is an order: namespaces, and a root with what every run has.
//!
//! Making them is most of a start, and a harness knows that it will need a confinement long before it knows for what. An order
//! that what was begun does not fit gets one of its own, so nothing rests on this but time.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use super::build::{NAMESPACES, give_output, unbuilt};
use super::cell::Cell;
use super::cgroup::Cgroup;
use super::channel::{Channel, Told};
use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::Given;
use super::identity::Identity;
use super::idmap::Translations;
use super::init;
use crate::LimitRule;
use crate::confinement::{Confinement, HOME_DEFAULT};
use crate::kernel::process::{Forked, fork_into};
use crate::wire::Order;

/// A directory that nobody can name in a confinement, so that the new root can lie over it while what was named is opened.
const STAGING: &str = "/sys";

/// Dropped, everything that was begun is gone.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub(super) identity: Identity,
    cell: Cell,
    translations: Translations,
}

impl Ahead {
    /// `None` where it cannot be begun; who then gets an order finds out why.
    pub(crate) fn begin() -> Option<Self> {
        let identity = Identity::choose(None).ok().filter(|_| Path::new(STAGING).is_dir())?;
        give_output(&identity).ok()?;
        let (channel, theirs) = Channel::pair().ok()?;
        let init = match fork_into(NAMESPACES).ok()? {
            Forked::Child => {
                drop(channel);
                init::run_ahead(identity, &theirs, Path::new(STAGING))
            }
            Forked::Parent(pid) => pid,
        };
        let cell = Cell::new(init, channel, unbuilt(&identity));
        identity.write_maps(init).ok()?;
        cell.channel.release().ok()?;
        let mut translations = Translations::new(identity.uid);
        if identity.root {
            // What root names is mostly root's own. Where it cannot be translated, that is found out again.
            let _ = translations.of((0, 0));
        }
        Some(Self { identity, cell, translations })
    }

    /// Whether what was begun is what this confinement begins with.
    pub(super) fn fits(&self, confinement: &Confinement) -> bool {
        confinement.uid.is_none() && confinement.home == Path::new(HOME_DEFAULT)
    }

    /// Goes on with an order. `None` where it cannot be told.
    pub(super) fn go_on(
        mut self,
        order: &Order,
        confinement: &Confinement,
        stdin: &File,
        cgroup: Option<Cgroup>,
        rlimits: Vec<LimitRule>,
    ) -> Result<Option<Cell>, ConfineFailure> {
        self.cell.join(cgroup).at(ConfineStep::Cgroup, "moving the run into its control group")?;
        // One that is gone, or an order too long for it, is none to go on with.
        if !self.cell.channel.tell(&Told { order, rlimits }, stdin.as_fd()).unwrap_or(false) {
            return Ok(None);
        }
        if self.identity.root {
            let given = Given::open(confinement, &self.identity, self.translations)?;
            self.cell.channel.hand(&given).at(ConfineStep::Lost, "handing mounts over")?;
        }
        Ok(Some(self.cell))
    }
}
