//! A confinement that is begun before there is an order: namespaces, and a root with the
//! parts that every run has.
//!
//! Making them is most of a start, and a harness knows that it will need a confinement long
//! before it knows for what. An order that the prepared parts do not fit gets its own, so
//! this affects nothing but time.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use sandbox_facts::HeldLimit;
use untrusted_fs::own_files::OwnPath as _;

use super::birth::create_process;
use super::build::{give_output, rlimits};
use super::cgroup::Cgroup;
use super::channel::StageMessage;
use super::confined_process::ConfinedProcess;
use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::OpenedMounts;
use super::identity::Identity;
use super::idmap::Translations;
use super::init;
use crate::confinement::{Confinement, HOME_DEFAULT};
use crate::wire::Order;

/// Directory that no confinement can name, so that the new root can lie over it while
/// sources are opened.
const STAGING: &str = "/sys";

/// Dropped, everything that was begun is gone.
#[derive(Debug)]
pub(crate) struct Ahead {
    identity: Identity,
    cell: ConfinedProcess,
    translations: Translations,
}

impl Ahead {
    /// `None` where it cannot be begun; who then gets an order finds out why.
    pub(crate) fn begin_ahead() -> Option<Self> {
        let identity = Identity::choose_ids(None).ok().filter(|_| Path::new(STAGING).own_is_dir())?;
        give_output(&identity).ok()?;
        let live = |channel: &_| init::run_ahead(identity, channel, Path::new(STAGING));
        let cell = create_process(&identity, Cgroup::begin_group(), live).ok()?;
        let mut translations = Translations::new(identity.uid);
        if identity.root {
            // What root names is mostly root's own. Where it cannot be translated, that is
            // found out again.
            let _ = translations.namespace_of((0, 0));
        }
        Some(Self { identity, cell, translations })
    }

    /// True if the prepared parts are the ones that this confinement with these limits
    /// begins with.
    pub(super) fn fits_confinement(&self, confinement: &Confinement, rules: &[HeldLimit]) -> bool {
        let grouped = self.cell.cgroup.as_ref().is_none_or(|cgroup| cgroup.fits_rules(rules));
        grouped && confinement.uid.is_none() && confinement.home == Path::new(HOME_DEFAULT)
    }

    /// Goes on with an order. `None` if the order cannot be sent, or its limits cannot be set here.
    pub(super) fn go_on(
        mut self,
        order: &Order,
        confinement: &Confinement,
        stdin: &File,
        rules: &[HeldLimit],
    ) -> Result<Option<ConfinedProcess>, ConfineFailure> {
        if let Some(cgroup) = &mut self.cell.cgroup {
            if cgroup.enforce(rules).is_err() {
                return Ok(None);
            }
            self.cell.applied.posture.limits = cgroup.rules.clone();
        }
        let rlimits = rlimits(rules, &self.cell.applied.posture.limits, &self.identity);
        // One that is gone, or an order too long for it, is none to go on with.
        if !self.cell.channel.send_order(&StageMessage { order, rlimits }, stdin.as_fd()).unwrap_or(false) {
            return Ok(None);
        }
        if self.identity.root {
            let given = OpenedMounts::open_given(confinement, &self.identity, self.translations)?;
            self.cell.channel.hand_mounts(&given).at(ConfineStep::Lost, "handing mounts over")?;
        }
        Ok(Some(self.cell))
    }
}
