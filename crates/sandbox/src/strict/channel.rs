//! The channel between the stage and the confined side: whole messages, with descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, sendmsg, socketpair,
};
use sandbox_facts::{HeldLimit, LimitKind, MountRecord, Ownership, Probe, Seccomp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::failure::ConfineFailure;
use super::given::OpenedMounts;
use crate::How;
use crate::wire::Order;

/// Far above any message; what is longer is refused, not cut.
const MESSAGE_MAX: usize = 128 << 10;
/// Descriptors in one message.
pub(crate) const FDS_MAX: usize = 32;

/// Message of the confined side. `Built` comes from its first process, `Confined` and then,
/// when both are done, `Probed` from the program's; `Ended` comes at the end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum InnerMessage {
    /// The root is built. With it come the descriptors that are counted here, in this order.
    Built(Built),
    /// The program's process is confined; with the filter's listener if it has one.
    Confined(FilterAccount),
    /// Everything was tried, and the limits are set: the program can be executed.
    Probed {
        landlock_abi: Option<u32>,
        probes: Vec<Probe>,
        limits: Vec<HeldLimit>,
    },
    /// A step failed; the confined side ends after this message.
    Failed(ConfineFailure),
    /// The program could not be executed.
    NotStarted {
        errno: Option<i32>,
        text: String,
    },
    Ended(InnerEnd),
}

/// Message of the stage that hands mounts over, some of them at a time.
#[derive(Debug, Serialize, Deserialize)]
struct Handed {
    ownership: Ownership,
    more: bool,
}

/// Message of the stage to a first process that was started ahead; standard input comes
/// with it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StageMessage<O> {
    /// Order of the harness.
    pub(crate) order: O,
    /// Rules that are not enforced by a cgroup.
    pub(crate) rlimits: Vec<HeldLimit>,
}

/// Account of the built root. The flags name the descriptors that come with the message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Built {
    /// Mounts, for the posture.
    pub(crate) mounts: Vec<MountRecord<PathBuf>>,
    pub(crate) ownership: Ownership,
    /// Limits that the private space holds.
    pub(crate) limits: Vec<HeldLimit>,
    /// A listening socket comes with the message.
    pub(crate) listener: bool,
    /// The directory of the changes comes with the message.
    pub(crate) upper: bool,
    /// A descriptor for shared memory segments comes with the message.
    pub(crate) segments: bool,
    /// Error for which there are no decoys.
    pub(crate) canaries: Result<(), String>,
}

/// Account of the filter in the program's process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FilterAccount {
    pub(crate) seccomp: Seccomp,
    /// Error for which refused calls are not recorded.
    pub(crate) no_listener: Option<String>,
}

/// End of the program as process 1 saw it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InnerEnd {
    pub(crate) how: How,
    /// No process is left but process 1.
    pub(crate) alone: bool,
    /// Limits of the private space that are used up.
    pub(crate) full: Vec<LimitKind>,
}

/// One end of it. Descriptors are closed on exec.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Connected pair that keeps message boundaries; both ends close on exec.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self { socket: ours }, Self { socket: theirs }))
    }

    /// Sends one message with its descriptors.
    pub(crate) fn send_message(&self, message: &InnerMessage, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send_any(message, fds)
    }

    /// The next message; `None` if the other side is gone.
    pub(crate) fn receive(&self) -> io::Result<Option<(InnerMessage, Vec<OwnedFd>)>> {
        self.receive_any()
    }

    /// Sends the order to a waiting first process. Returns false, with nothing sent, if the
    /// order is too long for one message.
    pub(crate) fn send_order(&self, told: &StageMessage<&Order>, stdin: BorrowedFd<'_>) -> io::Result<bool> {
        let bytes = serde_json::to_vec(told)?;
        if bytes.len() > MESSAGE_MAX {
            return Ok(false);
        }
        send_with_fds(self.socket.as_fd(), &bytes, &[stdin]).map(|_| true)
    }

    /// Waits for the order.
    pub(crate) fn hear(&self) -> io::Result<(StageMessage<Order>, OwnedFd)> {
        let (told, fds) = self.receive_any()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok((told, fds.into_iter().next().ok_or(io::ErrorKind::InvalidData)?))
    }

    /// Hands mounts to the confined side.
    pub(crate) fn hand_mounts(&self, given: &OpenedMounts) -> io::Result<()> {
        let fds: Vec<_> = given.mounts.iter().map(AsFd::as_fd).collect();
        let mut chunks = fds.chunks(FDS_MAX).peekable();
        loop {
            let now = chunks.next().unwrap_or_default();
            let more = chunks.peek().is_some();
            self.send_any(&Handed { ownership: given.ownership, more }, now)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Collects the mounts that the stage hands over, until the last part.
    pub(crate) fn take_handed(&self) -> io::Result<OpenedMounts> {
        let mut mounts = Vec::new();
        loop {
            let (handed, fds) = self.receive_any::<Handed>()?.ok_or(io::ErrorKind::UnexpectedEof)?;
            mounts.extend(fds);
            if !handed.more {
                return Ok(OpenedMounts { mounts, ownership: handed.ownership });
            }
        }
    }

    fn send_any<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = serde_json::to_vec(message)?;
        send_with_fds(self.socket.as_fd(), &bytes, fds).map(drop)
    }

    fn receive_any<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let (_, length) = retry_on_intr(|| recv(&self.socket, &mut [0; 0], RecvFlags::PEEK | RecvFlags::TRUNC))?;
        if length > MESSAGE_MAX {
            return Err(io::Error::other("a message is too long"));
        }
        let mut bytes = vec![0; length];
        let (length, fds) = receive_with_fds(self.socket.as_fd(), &mut bytes)?;
        if length == 0 {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&bytes)?, fds)))
    }

    /// Lets the other side go on from where it waits.
    pub(crate) fn release(&self) -> io::Result<()> {
        send_with_fds(self.socket.as_fd(), b"g", &[]).map(drop)
    }

    /// Waits to be released. Fails if the other side is gone.
    pub(crate) fn wait(&self) -> io::Result<()> {
        match receive_with_fds(self.socket.as_fd(), &mut [0])?.0 {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends bytes and descriptors in one message; at most [`FDS_MAX`] descriptors fit.
pub(crate) fn send_with_fds(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    let sent = retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL))?;
    Ok(sent)
}

/// Receives bytes and descriptors. The descriptors are close-on-exec from the start.
pub(crate) fn receive_with_fds(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            result => break result?,
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(io::Error::other("a message was cut"));
    }
    Ok((received.bytes, fds))
}
