//! The program's own process, from the fork to the moment it is executed: confined further
//! with every step, and probed.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::{DumpableBehavior, chdir, set_dumpable_behavior, setsid};
use sandbox_facts::Access;

use super::channel::{Channel, FilterAccount, InnerMessage};
use super::failure::{At, ConfineFailure, ConfineStep};
use super::init::Init;
use super::{all_refused, landlock, privileges, probe, seccomp};
use crate::kernel::process::{close_on_exec_from, exit_at_once, join_new_session_keyring};
use crate::limits;
use crate::wire::Order;

/// Exit code that shells give for a program that could not be executed.
const NOT_STARTED: i32 = 127;

/// Becomes the program, or reports the error. A message on `built` says that the root
/// exists.
pub(crate) fn run_program(init: &Init<'_>, built: &Channel) -> ! {
    let said = match confine(init, built) {
        Ok(()) => {
            let error = execute(init.order);
            InnerMessage::NotStarted { errno: error.raw_os_error(), text: error.to_string() }
        }
        Err(failure) => InnerMessage::Failed(failure),
    };
    let _ = init.channel.send_message(&said, &[]);
    exit_at_once(NOT_STARTED)
}

fn confine(init: &Init<'_>, built: &Channel) -> Result<(), ConfineFailure> {
    // A session of its own, without a terminal to type into.
    setsid().at(ConfineStep::Privileges, "opening a session")?;
    join_new_session_keyring().at(ConfineStep::Privileges, "session keyring")?;
    close_on_exec_from(3).at(ConfineStep::Privileges, "closing descriptors")?;
    privileges::drop_all()?;
    let word = secret_word().at(ConfineStep::Seccomp, "choosing a word")?;
    let filtered = seccomp::apply_filter(word)?;
    let no_listener = filtered.listener.as_ref().err().map(ToString::to_string);
    let said = InnerMessage::Confined(FilterAccount { seccomp: filtered.seccomp, no_listener });
    let listener = filtered.listener.ok();
    let fds: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
    init.channel.send_message(&said, &fds).at(ConfineStep::Lost, "telling the stage")?;
    // Held here it would keep the stage from noticing that nobody is left to be listened to.
    drop(listener);
    let early = probe::Early::run_early(init.confinement.listener, word);
    built.wait().at(ConfineStep::Lost, "waiting for the root")?;
    confine_to_root(init, early, word)
}

fn confine_to_root(init: &Init<'_>, early: probe::Early, word: u64) -> Result<(), ConfineFailure> {
    let confinement = init.confinement;
    chdir(&init.order.cwd).at(ConfineStep::Directory, init.order.cwd.display())?;
    let given = confinement.mounts.iter().filter(|mount| mount.access == Access::ReadWrite);
    let private = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    let writable: Vec<&Path> = private
        .into_iter()
        .chain([confinement.home.as_path(), confinement.workspace.target.as_path()])
        .chain(given.map(|mount| mount.target.as_path()))
        .collect();
    let landlock_abi = landlock::restrict_thread(&writable)?;
    let probes = probe::run_rest(early, confinement, word);
    let goes = init.order.at_once && all_refused(&probes).is_ok();
    // Last, because the steps before need descriptors and memory of their own.
    let limits = limits::apply_rules(&init.rlimits).at(ConfineStep::Limits, "setting limits")?;
    let said = InnerMessage::Probed { landlock_abi, probes, limits };
    init.channel.send_message(&said, &[]).at(ConfineStep::Lost, "telling the stage")?;
    // An ordinary user's stage could not read the arguments of the first execution
    // otherwise. Nobody else is here yet.
    set_dumpable_behavior(DumpableBehavior::Dumpable).at(ConfineStep::Privileges, "opening up to the stage")?;
    if goes { Ok(()) } else { init.channel.wait().at(ConfineStep::Lost, "waiting for the start") }
}

/// Random word that only this process and the filter know. The filter cannot be read from
/// inside, and executing the program forgets the word.
fn secret_word() -> io::Result<u64> {
    let mut word = [0; 8];
    rustix::rand::getrandom(&mut word, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(word))
}

#[expect(clippy::disallowed_methods, reason = "the door of profile strict: everything above has happened before")]
fn execute(order: &Order) -> io::Error {
    let name = order.argv.first().map_or("", String::as_str);
    Command::new(order.cwd.join(name))
        .arg0(name)
        .args(order.argv.iter().skip(1))
        .env_clear()
        .envs(order.env.iter().map(|(key, value)| (key, value)))
        .exec()
}
