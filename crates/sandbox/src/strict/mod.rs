//! Profile `strict`: the confinement that the stage builds around a program, and its
//! supervision.
//!
//! Three processes: the stage, outside and trusted; process 1 of the new namespaces, which
//! builds the root and then only reaps; and the program, which confines itself step by step
//! before it is executed. [`ahead`], [`build`] and [`follow`] are the stage's side,
//! [`init`] and [`program`] the other two.

mod ahead;
mod birth;
mod build;
mod canary;
pub(crate) mod cgroup;
pub(crate) mod channel;
mod confined_process;
mod dev;
mod etc;
mod failure;
mod follow;
mod given;
mod identity;
mod idmap;
mod init;
mod landlock;
mod layout;
mod network;
mod overlay;
mod private;
mod privileges;
mod probe;
mod proc;
mod program;
mod root;
mod seccomp;
mod system;

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::process::setsid;
use sandbox_facts::Probe;

use crate::confinement::{Confinement, Upper, WorkspaceFrom};
use crate::execution_rules::ExecutionRules;
use crate::stage::{conclude, cpu};
use crate::wire::{self, Order, StagePrepared};

pub(crate) use self::ahead::Ahead;
pub use self::failure::{ConfineFailure, ConfineStep};

/// The stage's work for a confined program, from the order to the report.
pub(crate) fn supervise_order(
    order: &Order,
    confinement: &Confinement,
    stdin: Option<File>,
    mut control: UnixStream,
    ahead: Option<Ahead>,
    rules: ExecutionRules,
) -> io::Result<()> {
    // A session of its own: no signal from the terminal arrives.
    setsid()?;
    let mut cell = match build::build_confinement(order, confinement, stdin, &control, ahead, rules) {
        Ok(cell) => cell,
        Err((failure, probes)) => return wire::send_frame(&mut control, &StagePrepared::Failed { failure, probes }),
    };
    if !order.at_once {
        cell.announce_built(&control)?;
        cell.wait_for_go(&control)?;
    }
    let started = Instant::now();
    let name = order.argv.first().map_or("", String::as_str);
    let mut followed = follow::follow_program(cell, &control, name, started.checked_add(order.wall));
    if let WorkspaceFrom::Layers { upper: Upper::Directory(upper), .. } = &confinement.workspace.from {
        // What the overlay needed for itself can go when it has gone.
        if let Some((_, cell)) = &mut followed {
            cell.release_mounts();
        }
        overlay::clean_overlay(upper);
    }
    let (mut report, cell) = followed.ok_or(io::ErrorKind::UnexpectedEof)?;
    report.elapsed = started.elapsed();
    report.cpu = cpu(cell.init);
    conclude(&mut control, &report)?;
    // What is left of it, mounts and a group without members, takes the kernel a while.
    drop(cell);
    Ok(())
}

/// Fails unless every forbidden attempt of the probe was refused.
fn all_refused(probes: &[Probe]) -> Result<(), ConfineFailure> {
    let open: Vec<&str> = probes.iter().filter(|probe| !probe.refused).map(|probe| probe.name.as_str()).collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(ConfineFailure::new(ConfineStep::Probe, format!("not refused inside: {}", open.join(", "))))
}
