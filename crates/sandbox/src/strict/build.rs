//! Building a confinement, as the stage sees it: fork into namespaces, map the user, and
//! wait until the program stands ready behind every wall and the probe has found them
//! closed.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::fs::fchown;
use rustix::process::{Gid, Uid};
use sandbox_facts::{HeldLimit, LimitBy, LimitKind, MountRecord, Probe, RecorderKind, RecorderState};
use untrusted_fs::own_files;

use super::ahead::Ahead;
use super::all_refused;
use super::birth::create_process;
use super::canary::CanaryLog;
use super::cgroup::Cgroup;
use super::channel::{Built, FilterAccount, InnerMessage};
use super::confined_process::{ConfinedProcess, StageEvent, TICK};
use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::OpenedMounts;
use super::identity::Identity;
use super::idmap::Translations;
use super::init::{self, Init};
use super::seccomp::{CallLog, Executions};
use crate::confinement::{Canary, Confinement};
use crate::execution_rules::ExecutionRules;
use crate::host::kernel_is_at_least;
use crate::wire::Order;

/// Building takes milliseconds; a machine under heavy load is given a thousand times that.
const BUILD_TIMEOUT: Duration = Duration::from_secs(15);
/// Failure, with the probe's findings if it got that far.
pub(super) type BuildError = (ConfineFailure, Vec<Probe>);

/// Builds the confinement of an order and returns once the probe has run. The program
/// itself waits for the word to go.
pub(super) fn build_confinement(
    order: &Order,
    confinement: &Confinement,
    stdin: Option<File>,
    control: &UnixStream,
    ahead: Option<Ahead>,
    rules: ExecutionRules,
) -> Result<ConfinedProcess, BuildError> {
    let mut cell = begin(order, confinement, stdin, ahead).map_err(|failure| (failure, Vec::new()))?;
    let executions = Executions::new(rules, search_path(order));
    await_probe(&mut cell, control, &confinement.canaries, executions)?;
    Ok(cell)
}

/// Begins a confinement; uses the prepared one if it fits the order.
fn begin(
    order: &Order,
    confinement: &Confinement,
    stdin: Option<File>,
    ahead: Option<Ahead>,
) -> Result<ConfinedProcess, ConfineFailure> {
    let stdin = stdin.map_or_else(|| own_files::open_file("/dev/null"), Ok).at(ConfineStep::Devices, "/dev/null")?;
    let rules = asked(order, confinement);
    if let Some(ahead) = ahead.filter(|ahead| ahead.fits_confinement(confinement, &rules))
        && let Some(cell) = ahead.go_on(order, confinement, &stdin, &rules)?
    {
        return Ok(cell);
    }
    let identity = Identity::choose_ids(confinement.uid)?;
    give_output(&identity).at(ConfineStep::Identity, "giving the output to the run")?;
    let cgroup = Cgroup::make_group(&rules);
    let grouped = cgroup.as_ref().map(|cgroup| cgroup.rules.clone()).unwrap_or_default();
    let rlimits = rlimits(&rules, &grouped, &identity);
    let mut cell = create_process(&identity, cgroup, |channel| {
        init::run_init(&Init { order, confinement, identity, stdin, channel, rlimits })
    })?;
    cell.applied.posture.limits = grouped;
    if identity.root {
        let given = OpenedMounts::open_given(confinement, &identity, Translations::new(identity.uid))?;
        cell.channel.hand_mounts(&given).at(ConfineStep::Lost, "handing mounts over")?;
    }
    Ok(cell)
}

/// The pipes are the harness' user's; a program that opens `/dev/stdout` again needs them
/// to be its own.
pub(super) fn give_output(identity: &Identity) -> io::Result<()> {
    if identity.root {
        let owner = (Some(Uid::from_raw(identity.uid)), Some(Gid::from_raw(identity.gid)));
        fchown(rustix::stdio::stdout(), owner.0, owner.1)?;
        fchown(rustix::stdio::stderr(), owner.0, owner.1)?;
    }
    Ok(())
}

fn asked(order: &Order, confinement: &Confinement) -> Vec<HeldLimit> {
    let processes = confinement.processes.map(|value| HeldLimit {
        kind: LimitKind::Processes,
        by: LimitBy::Rlimit,
        // The first process inside counts too, and is ours.
        value: value.saturating_add(1),
    });
    order.limits.iter().copied().chain(processes).collect()
}

/// Limits that no control group enforces. A limit on processes is left out if the kernel
/// counts an ordinary user's processes outside of the namespace too, since it would hit the
/// wrong ones.
pub(super) fn rlimits(rules: &[HeldLimit], grouped: &[HeldLimit], identity: &Identity) -> Vec<HeldLimit> {
    let counted_apart = identity.root || kernel_is_at_least(5, 14);
    let is_grouped = |rule: &HeldLimit| grouped.iter().any(|grouped| grouped.kind == rule.kind);
    let is_sound = |rule: &HeldLimit| rule.kind != LimitKind::Processes || counted_apart;
    rules.iter().filter(|rule| !is_grouped(rule) && is_sound(rule)).copied().collect()
}

/// Search path of the program, inside.
fn search_path(order: &Order) -> Vec<PathBuf> {
    let path = order.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
    path.split(':').map(PathBuf::from).collect()
}

fn await_probe(
    cell: &mut ConfinedProcess,
    control: &UnixStream,
    canaries: &[Canary],
    executions: Executions,
) -> Result<(), BuildError> {
    let mut executions = Some(executions);
    let lost = |text: &str| (ConfineFailure::new(ConfineStep::Lost, text), Vec::new());
    let until = Instant::now() + BUILD_TIMEOUT;
    loop {
        match cell.next_event(control, TICK) {
            StageEvent::Said(said, fds) => match *said {
                InnerMessage::Built(built) => take_built(cell, built, fds, canaries),
                InnerMessage::Confined(confined) => {
                    if let Some(executions) = executions.take() {
                        take_confined(cell, confined, fds, executions);
                    }
                }
                InnerMessage::Probed { landlock_abi, probes, limits } => {
                    cell.applied.posture.landlock_abi = landlock_abi;
                    return take_probes(cell, probes, limits);
                }
                InnerMessage::Failed(failure) => return Err((failure, Vec::new())),
                InnerMessage::NotStarted { .. } | InnerMessage::Ended(_) => {
                    return Err(lost("the confined side ended early"));
                }
            },
            StageEvent::Silence => return Err(lost("the confined side ended early")),
            StageEvent::Asked | StageEvent::HarnessGone => return Err(lost("the harness is gone")),
            StageEvent::Nothing if Instant::now() >= until => return Err(lost("the confined side fell silent")),
            StageEvent::Nothing => {}
        }
    }
}

fn take_built(cell: &mut ConfinedProcess, built: Built, fds: Vec<OwnedFd>, canaries: &[Canary]) {
    let mut fds = fds.into_iter();
    cell.listener = built.listener.then(|| fds.next()).flatten();
    cell.upper = built.upper.then(|| fds.next()).flatten();
    cell.segments = built.segments.then(|| fds.next()).flatten();
    cell.applied.posture.mounts = built.mounts.into_iter().map(with_text).collect();
    cell.applied.ids.ownership = built.ownership;
    cell.applied.posture.limits.extend(built.limits);
    if !canaries.is_empty() {
        let guarded = || CanaryLog::new(fds, canaries).map_err(|error| error.to_string());
        let guarded = built.canaries.and_then(|()| guarded());
        let missing = guarded.as_ref().err().cloned();
        cell.canaries = guarded.ok();
        // First in the list, whichever side is done first.
        cell.applied.posture.recorders.insert(0, RecorderState { recorder: RecorderKind::Canaries, missing });
    }
}

/// The record of a mount with its place as text; the channel has carried the place as text
/// already.
fn with_text(mount: MountRecord<PathBuf>) -> MountRecord {
    MountRecord { target: mount.target.display().to_string(), kind: mount.kind, access: mount.access }
}

fn take_confined(cell: &mut ConfinedProcess, confined: FilterAccount, fds: Vec<OwnedFd>, executions: Executions) {
    cell.calls = fds.into_iter().next().map(|listener| CallLog::new(listener, executions));
    cell.applied.posture.seccomp = confined.seccomp;
    for recorder in [RecorderKind::RefusedCalls, RecorderKind::Executions, RecorderKind::Connections] {
        cell.applied.posture.recorders.push(RecorderState { recorder, missing: confined.no_listener.clone() });
    }
}

fn take_probes(cell: &mut ConfinedProcess, probes: Vec<Probe>, limits: Vec<HeldLimit>) -> Result<(), BuildError> {
    if let Some(calls) = &mut cell.calls {
        calls.start_recording();
    }
    all_refused(&probes).map_err(|failure| (failure, probes.clone()))?;
    cell.applied.posture.probes = probes;
    cell.applied.posture.limits.extend(limits);
    Ok(())
}
