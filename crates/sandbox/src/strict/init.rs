//! Process 1 inside: builds everything the program will see, starts it, buries its orphans,
//! and takes all down by ending.
//!
//! It begins as a fork of the stage in new namespaces. The kernel kills whatever is left in
//! a pid namespace when its first process ends, so the death of this one, by its own end,
//! by the stage's kill or with the stage, is the death of all.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::statvfs;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, set_dumpable_behavior, set_parent_process_death_signal, wait,
};
use rustix::system::sethostname;
use rustix::thread::UnshareFlags;
use sandbox_facts::{HeldLimit, LimitKind};
use untrusted_fs::own_files::{self, OwnOptions as _};

use super::channel::{Built, Channel, InnerEnd, InnerMessage, StageMessage};
use super::failure::{At, ConfineFailure, ConfineStep};
use super::given::OpenedMounts;
use super::identity::Identity;
use super::idmap::Translations;
use super::layout::FurnishedRoot;
use super::{canary, etc, layout, network, privileges, program};
use crate::confinement::Confinement;
use crate::kernel::process::{Forked, exit_at_once, fork_into, unshare};
use crate::stage::how;
use crate::wire::Order;

/// Shared memory segments; absent where the kernel was built without them.
const SEGMENTS: &str = "/proc/sysvipc/shm";

/// All the first process is given by the stage.
#[derive(Debug)]
pub(crate) struct Init<'a> {
    pub(crate) order: &'a Order,
    pub(crate) confinement: &'a Confinement,
    pub(crate) identity: Identity,
    pub(crate) stdin: File,
    pub(crate) channel: &'a Channel,
    /// Rules that are not enforced by a cgroup.
    pub(crate) rlimits: Vec<HeldLimit>,
}

/// The program's process, which waits for the root.
#[derive(Debug)]
struct Program {
    pid: Pid,
    go_on: Channel,
}

/// Runs process 1 to its end; never returns into the stage's code.
pub(crate) fn run_init(init: &Init<'_>) -> ! {
    say_and_exit(init.channel, init.start())
}

/// The same for one that is started before there is an order: it builds what every run has,
/// and waits for the order.
pub(crate) fn run_ahead(identity: Identity, channel: &Channel, staging: &Path) -> ! {
    say_and_exit(channel, start_ahead(identity, channel, staging))
}

fn say_and_exit(channel: &Channel, done: Result<(), ConfineFailure>) -> ! {
    if let Err(failure) = done {
        let _ = channel.send_message(&InnerMessage::Failed(failure), &[]);
    }
    exit_at_once(0)
}

fn start_ahead(identity: Identity, channel: &Channel, staging: &Path) -> Result<(), ConfineFailure> {
    let null = own_files::open_file("/dev/null").at(ConfineStep::Devices, "/dev/null")?;
    begin(&identity, channel, &null)?;
    let furnished = FurnishedRoot::build_ahead(staging)?;
    let (StageMessage { order, rlimits }, stdin) = channel.hear().at(ConfineStep::Lost, "waiting for the order")?;
    let none = || ConfineFailure::new(ConfineStep::Lost, "there is no confinement in the order");
    let confinement = order.confinement.as_ref().ok_or_else(none)?;
    let init = Init { order: &order, confinement, identity, stdin: stdin.into(), channel, rlimits };
    rustix::stdio::dup2_stdin(&init.stdin).at(ConfineStep::Namespaces, "standard input")?;
    init.go_on(Some(furnished))
}

/// Sets up name, identity and network of process 1. `stdin` replaces the stage's own input.
fn begin(identity: &Identity, channel: &Channel, stdin: &File) -> Result<(), ConfineFailure> {
    // Descriptor 0 is the stage's line to the harness, which has to notice the stage's death.
    rustix::stdio::dup2_stdin(stdin).at(ConfineStep::Namespaces, "standard input")?;
    channel.wait().at(ConfineStep::IdMap, "waiting for the id map")?;
    identity.assume()?;
    tie_to_stage(channel)?;
    sethostname(etc::HOSTNAME.as_bytes()).at(ConfineStep::Namespaces, "host name")?;
    network::build_network()
}

fn tie_to_stage(channel: &Channel) -> Result<(), ConfineFailure> {
    set_parent_process_death_signal(Some(Signal::KILL)).at(ConfineStep::Namespaces, "tie to the stage")?;
    // What the program may not read of this process: its memory, environment and descriptors.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).at(ConfineStep::Namespaces, "closing the first process")?;
    // The stage may have died before the tie was there.
    if hung_up(channel.as_fd()) {
        exit_at_once(1);
    }
    Ok(())
}

impl Init<'_> {
    fn start(&self) -> Result<(), ConfineFailure> {
        begin(&self.identity, self.channel, &self.stdin)?;
        self.go_on(None)
    }

    fn go_on(&self, ahead: Option<FurnishedRoot>) -> Result<(), ConfineFailure> {
        unshare(UnshareFlags::NEWCGROUP).at(ConfineStep::Namespaces, "cgroup namespace")?;
        let listener = network::listen(self.confinement.listener)?;
        let program = self.fork_program()?;
        self.build(listener, ahead)?;
        privileges::drop_all()?;
        program.go_on.release().at(ConfineStep::Lost, "letting the program go on")?;
        self.supervise(program.pid)
    }

    /// The program's process confines itself as far as it can while the root is being built.
    fn fork_program(&self) -> Result<Program, ConfineFailure> {
        let (go_on, theirs) = Channel::pair().at(ConfineStep::Privileges, "channel to the program")?;
        match fork_into(0).at(ConfineStep::Privileges, "forking the program")? {
            Forked::Child => program::run_program(self, &theirs),
            Forked::Parent(pid) => Ok(Program { pid, go_on }),
        }
    }

    fn build(&self, listener: Option<TcpListener>, ahead: Option<FurnishedRoot>) -> Result<(), ConfineFailure> {
        let confinement = self.confinement;
        // While all that can be named of the host is visible: the new root covers a part of it.
        let open = || OpenedMounts::open_given(confinement, &self.identity, Translations::new(self.identity.uid));
        let opened = (!self.identity.root).then(open).transpose()?;
        let FurnishedRoot { mut root, hidden } = match ahead {
            Some(furnished) => furnished.fit_to(confinement)?,
            None => FurnishedRoot::new(confinement)?,
        };
        let given = match opened {
            Some(given) => given,
            None => self.channel.take_handed().at(ConfineStep::Lost, "taking mounts from the stage")?,
        };
        let ownership = given.ownership;
        let given = given.sort(confinement).at(ConfineStep::Sources, "looking at what was given")?;
        let upper = layout::add_given(&mut root, &hidden, confinement, &given)?;
        canary::place_decoys(&mut root, &confinement.home, &confinement.canaries)
            .at(ConfineStep::Canaries, "laying decoys out")?;
        root.enter().at(ConfineStep::Pivot, "entering the new root")?;
        let decoys = canary::guard_decoys(&confinement.home, &confinement.canaries).map_err(|error| error.to_string());
        // Opened here it stays the list of this ipc namespace, for every reader.
        let segments = own_files::open_file(SEGMENTS).ok();
        let said = InnerMessage::Built(Built {
            mounts: std::mem::take(&mut root.mounts),
            ownership,
            limits: layout::limits(confinement),
            listener: listener.is_some(),
            upper: upper.is_some(),
            segments: segments.is_some(),
            canaries: decoys.as_ref().map(drop).map_err(Clone::clone),
        });
        let decoys = decoys.unwrap_or_default();
        let segments = segments.as_ref().map(AsFd::as_fd);
        let first = [listener.as_ref().map(AsFd::as_fd), upper.as_ref().map(AsFd::as_fd), segments];
        let fds: Vec<BorrowedFd<'_>> = first.into_iter().flatten().chain(decoys.iter().map(AsFd::as_fd)).collect();
        self.channel.send_message(&said, &fds).at(ConfineStep::Lost, "telling the stage")
    }

    /// Reaps until the program has ended and reports its end. If processes are left, stays
    /// until the stage has examined them.
    fn supervise(&self, program: Pid) -> Result<(), ConfineFailure> {
        release_output().at(ConfineStep::Privileges, "letting go of the output")?;
        loop {
            match wait(every_child()) {
                Ok(Some((pid, status))) if pid == program => {
                    let (alone, full) = (is_alone(), full(&self.confinement.home));
                    let end = InnerEnd { how: how(Some(status)), alone, full };
                    let _ = self.channel.send_message(&InnerMessage::Ended(end), &[]);
                    if !alone {
                        // The stage never releases this: it looks around and kills.
                        let _ = self.channel.wait();
                    }
                    return Ok(());
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).at(ConfineStep::Lost, "waiting for the program"),
            }
        }
    }
}

/// Limits of the private space that are used up at the end.
fn full(home: &Path) -> Vec<LimitKind> {
    let Ok(space) = statvfs(home) else { return Vec::new() };
    let spent = [(space.f_bavail == 0, LimitKind::Disk), (space.f_favail == 0, LimitKind::Inodes)];
    spent.into_iter().filter_map(|(spent, kind)| spent.then_some(kind)).collect()
}

/// Options that also wait for children without an exit signal, which a plain wait ignores.
fn every_child() -> WaitOptions {
    WaitOptions::from_bits_retain(libc::__WALL.unsigned_abs())
}

/// True if this is the only process in the namespace. All others are its descendants, so
/// without a child there is none. Asks the kernel without a descriptor or file, which a
/// program could use up.
fn is_alone() -> bool {
    loop {
        match wait(WaitOptions::NOHANG | every_child()) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(errno) => return errno == Errno::CHILD,
        }
    }
}

/// The program alone holds its output, so that its end is the end of it.
fn release_output() -> io::Result<()> {
    let null = File::options().write(true).own_open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

fn hung_up(fd: BorrowedFd<'_>) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
    poll(&mut polled, Some(&now)).is_err() || polled[0].revents().contains(PollFlags::HUP)
}
