//! Building a confinement, as the stage sees it: fork into namespaces, map the user, and wait until the program stands ready
//! behind every wall and the probe has found them closed.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::fs::fchown;
use rustix::process::{Gid, Uid};

use super::ahead::Ahead;
use super::all_refused;
use super::canary::CanaryLog;
use super::cell::{Cell, Event, TICK};
use super::cgroup::Cgroup;
use super::channel::{Built, Channel, Confined, Said};
use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::Given;
use super::identity::Identity;
use super::idmap::Translations;
use super::init::{self, Init};
use super::seccomp::CallLog;
use crate::applied::{Applied, Namespace, Ownership, Probe, Recorder, RecorderState, Seccomp, Seen};
use crate::confinement::{Canary, Confinement, Profile};
use crate::host::kernel_is_at_least;
use crate::kernel::process::{Forked, fork_into};
use crate::wire::Order;
use crate::{LimitBy, LimitKind, LimitRule};

/// Building takes milliseconds; a machine under heavy load is given a thousand times that.
const BUILD_TIMEOUT: Duration = Duration::from_secs(15);
/// The cgroup namespace is entered later, when the run's own group is there.
pub(super) const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS;

/// With what the probe found, if it got that far.
pub(super) type BuildError = (ConfineFailure, Vec<Probe>);

pub(super) fn build(
    order: &Order,
    confinement: &Confinement,
    stdin: Option<File>,
    control: &UnixStream,
    ahead: Option<Ahead>,
) -> Result<Cell, BuildError> {
    let mut cell = begin(order, confinement, stdin, ahead).map_err(|failure| (failure, Vec::new()))?;
    await_probe(&mut cell, control, &confinement.canaries)?;
    Ok(cell)
}

/// With what was built ahead, where that fits the order.
fn begin(
    order: &Order,
    confinement: &Confinement,
    stdin: Option<File>,
    ahead: Option<Ahead>,
) -> Result<Cell, ConfineFailure> {
    let stdin = stdin.map_or_else(|| File::open("/dev/null"), Ok).at(ConfineStep::Devices, "/dev/null")?;
    let rules = asked(order, confinement);
    if let Some(ahead) = ahead.filter(|ahead| ahead.fits(confinement)) {
        let (cgroup, rlimits) = held(&rules, &ahead.identity);
        if let Some(cell) = ahead.go_on(order, confinement, &stdin, cgroup, rlimits)? {
            return Ok(cell);
        }
    }
    fork(order, confinement, stdin, &rules)
}

/// What each rule is held by: a control group, or else a limit of the process.
fn held(rules: &[LimitRule], identity: &Identity) -> (Option<Cgroup>, Vec<LimitRule>) {
    let cgroup = Cgroup::make(rules);
    let grouped = cgroup.as_ref().map(|cgroup| cgroup.rules.clone()).unwrap_or_default();
    let rlimits = rlimits(rules, &grouped, identity);
    (cgroup, rlimits)
}

fn fork(order: &Order, confinement: &Confinement, stdin: File, rules: &[LimitRule]) -> Result<Cell, ConfineFailure> {
    let identity = Identity::choose(confinement.uid)?;
    give_output(&identity).at(ConfineStep::Identity, "giving the output to the run")?;
    let (cgroup, rlimits) = held(rules, &identity);
    let (channel, theirs) = Channel::pair().at(ConfineStep::Namespaces, "channel")?;
    let init = match fork_into(NAMESPACES).at(ConfineStep::Namespaces, "making namespaces")? {
        Forked::Child => {
            drop(channel);
            init::run(&Init { order, confinement, identity, stdin, channel: &theirs, rlimits })
        }
        Forked::Parent(pid) => pid,
    };
    // From here on a failure takes the new process with it, because the cell kills it when it is dropped.
    let mut cell = Cell::new(init, channel, unbuilt(&identity));
    identity.write_maps(init).at(ConfineStep::IdMap, "mapping the user")?;
    cell.join(cgroup).at(ConfineStep::Cgroup, "moving the run into its control group")?;
    cell.channel.release().at(ConfineStep::Lost, "letting the first process go on")?;
    if identity.root {
        let given = Given::open(confinement, &identity, Translations::new(identity.uid))?;
        cell.channel.hand(&given).at(ConfineStep::Lost, "handing mounts over")?;
    }
    Ok(cell)
}

pub(super) fn unbuilt(identity: &Identity) -> Applied {
    Applied {
        profile: Profile::Strict,
        namespaces: Namespace::ALL.to_vec(),
        ids: identity.ids(Ownership::Same),
        landlock_abi: None,
        seccomp: Seccomp { instructions: 0, recorded: false },
        mounts: Vec::new(),
        limits: Vec::new(),
        recorders: Vec::new(),
        probes: Vec::new(),
        seen: Seen::default(),
    }
}

/// The pipes are the harness' user's; a program that opens `/dev/stdout` again needs them to be its own.
pub(super) fn give_output(identity: &Identity) -> io::Result<()> {
    if identity.root {
        let owner = (Some(Uid::from_raw(identity.uid)), Some(Gid::from_raw(identity.gid)));
        fchown(rustix::stdio::stdout(), owner.0, owner.1)?;
        fchown(rustix::stdio::stderr(), owner.0, owner.1)?;
    }
    Ok(())
}

fn asked(order: &Order, confinement: &Confinement) -> Vec<LimitRule> {
    let processes = confinement.processes.map(|value| LimitRule {
        kind: LimitKind::Processes,
        by: LimitBy::Rlimit,
        // The first process inside counts too, and is ours.
        value: value.saturating_add(1),
    });
    order.limits.iter().copied().chain(processes).collect()
}

/// What no group enforces. Where the kernel counts an ordinary user's processes outside the namespace too, a limit on them
/// would hit the wrong ones, and is left out.
fn rlimits(rules: &[LimitRule], grouped: &[LimitRule], identity: &Identity) -> Vec<LimitRule> {
    let counted_apart = identity.root || kernel_is_at_least(5, 14);
    let is_grouped = |rule: &LimitRule| grouped.iter().any(|grouped| grouped.kind == rule.kind);
    let is_sound = |rule: &LimitRule| rule.kind != LimitKind::Processes || counted_apart;
    rules.iter().filter(|rule| !is_grouped(rule) && is_sound(rule)).copied().collect()
}

fn await_probe(cell: &mut Cell, control: &UnixStream, canaries: &[Canary]) -> Result<(), BuildError> {
    let lost = |text: &str| (ConfineFailure::new(ConfineStep::Lost, text), Vec::new());
    let until = Instant::now() + BUILD_TIMEOUT;
    loop {
        match cell.next(control, TICK) {
            Event::Said(said, fds) => match *said {
                Said::Built(built) => take_built(cell, built, fds, canaries),
                Said::Confined(confined) => take_confined(cell, confined, fds),
                Said::Probed { landlock_abi, probes, limits } => {
                    cell.applied.landlock_abi = landlock_abi;
                    return take_probes(cell, probes, limits);
                }
                Said::Failed(failure) => return Err((failure, Vec::new())),
                Said::NotStarted { .. } | Said::Ended(_) => return Err(lost("the confined side ended early")),
            },
            Event::Silence => return Err(lost("the confined side ended early")),
            Event::Asked | Event::HarnessGone => return Err(lost("the harness is gone")),
            Event::Nothing if Instant::now() >= until => return Err(lost("the confined side fell silent")),
            Event::Nothing => {}
        }
    }
}

fn take_built(cell: &mut Cell, built: Built, fds: Vec<OwnedFd>, canaries: &[Canary]) {
    let mut fds = fds.into_iter();
    cell.listener = built.listener.then(|| fds.next()).flatten();
    cell.upper = built.upper.then(|| fds.next()).flatten();
    cell.applied.mounts = built.mounts;
    cell.applied.ids.ownership = built.ownership;
    cell.applied.limits.extend(built.limits);
    let watched = built.canaries.as_ref().is_ok_and(|watched| *watched);
    cell.canaries = watched.then(|| fds.next()).flatten().map(|watcher| CanaryLog::new(watcher, canaries));
    if !canaries.is_empty() {
        // First in the list, whichever side is done first.
        cell.applied.recorders.insert(0, RecorderState { recorder: Recorder::Canaries, missing: built.canaries.err() });
    }
}

fn take_confined(cell: &mut Cell, confined: Confined, fds: Vec<OwnedFd>) {
    cell.calls = fds.into_iter().next().map(CallLog::new);
    cell.applied.seccomp = confined.seccomp;
    for recorder in [Recorder::RefusedCalls, Recorder::Executions, Recorder::Connections] {
        cell.applied.recorders.push(RecorderState { recorder, missing: confined.no_listener.clone() });
    }
}

fn take_probes(cell: &mut Cell, probes: Vec<Probe>, limits: Vec<LimitRule>) -> Result<(), BuildError> {
    if let Some(calls) = &mut cell.calls {
        calls.record();
    }
    all_refused(&probes).map_err(|failure| (failure, probes.clone()))?;
    cell.applied.probes = probes;
    cell.applied.limits.extend(limits);
    Ok(())
}
