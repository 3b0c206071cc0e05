//! Messages between harness and stage: length-prefixed JSON frames, the order one way and
//! the report the other.
//!
//! After the order come the bytes for standard input, raw. Under a confinement the stage
//! then says whether it could be built, and the next byte from the harness means go, unless
//! the order was to start at once. Any later byte means stop; end of file means that the
//! harness is gone.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use sandbox_facts::{HeldLimit, LimitKind, ObservedConduct, Probe, RecorderState};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::applied::Applied;
use crate::confinement::Confinement;
use crate::strict::ConfineFailure;
use crate::{Cpu, How, Leftovers, Spec};

/// Far above any real order or report (the kernel refuses larger argument lists anyway).
const FRAME_MAX: usize = 16 << 20;
const PREFIX: usize = 4;

/// Order of the harness to a fresh stage.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: PathBuf,
    /// The whole environment of the program.
    pub(crate) env: Vec<(String, String)>,
    /// Number of bytes for standard input; `None` means `/dev/null`.
    pub(crate) stdin_bytes: Option<u64>,
    /// Time limit from the start of the program.
    pub(crate) wall: Duration,
    /// Limits that the stage sets on each process.
    pub(crate) limits: Vec<HeldLimit>,
    /// Profile `strict`, if it is asked for.
    pub(crate) confinement: Option<Confinement>,
    /// A confined program does not wait for the word to go: behind every wall, and if the
    /// probe found them closed, it starts.
    pub(crate) at_once: bool,
}

impl From<&Spec> for Order {
    fn from(spec: &Spec) -> Self {
        let mut env = spec.env.clone();
        env.push(spec.marker.clone());
        Self {
            argv: spec.argv.clone(),
            cwd: spec.cwd.clone(),
            env,
            stdin_bytes: spec.stdin.as_ref().map(|bytes| bytes.len() as u64),
            wall: spec.wall,
            limits: spec.limits.rules(),
            confinement: spec.confinement.clone(),
            at_once: false,
        }
    }
}

/// Report of the stage after the end.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StageReport {
    /// Way in which the program ended.
    pub(crate) how: How,
    /// True if the kernel has confirmed that no process of the program lives.
    pub(crate) gone: bool,
    /// True if the time limit ended it.
    pub(crate) timed_out: bool,
    pub(crate) leftovers: Leftovers,
    /// Wall time from the start of the program to its end.
    pub(crate) elapsed: Duration,
    pub(crate) cpu: Option<Cpu>,
    /// Limits that were in force.
    pub(crate) limits: Vec<HeldLimit>,
    /// Descriptors that the harness inherited and could not keep from the program.
    pub(crate) inherited_fds: Vec<u32>,
    /// Limits that are known to have been hit.
    pub(crate) limit_hits: Vec<LimitKind>,
    /// Recorders and observations of a confinement, since it was [`Prepared`].
    pub(crate) records: Option<Records>,
}

/// Final state of the recorders and everything that they saw.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Records {
    pub(crate) recorders: Vec<RecorderState>,
    pub(crate) seen: ObservedConduct,
}

/// Message of the stage before a confined program starts. With `Ready` come the descriptors
/// it names, in this order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum StagePrepared {
    /// The program stands ready behind every wall.
    Ready {
        applied: Box<Applied>,
        /// A descriptor of process 1.
        death: bool,
        listener: bool,
        upper: bool,
        segments: bool,
    },
    Failed {
        failure: ConfineFailure,
        probes: Vec<Probe>,
    },
}

impl StageReport {
    /// Report of a program that ended this way and left nothing behind; callers add the
    /// rest.
    pub(crate) fn new(how: How) -> Self {
        Self {
            how,
            gone: true,
            timed_out: false,
            leftovers: Leftovers::default(),
            elapsed: Duration::ZERO,
            cpu: None,
            limits: Vec::new(),
            inherited_fds: Vec::new(),
            limit_hits: Vec::new(),
            records: None,
        }
    }
}

/// Frame of a message: four bytes of length, then JSON.
pub(crate) fn encode_frame<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; PREFIX];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - PREFIX).map_err(io::Error::other)?;
    frame[..PREFIX].copy_from_slice(&length.to_be_bytes());
    Ok(frame)
}

/// Writes one message as a frame.
pub(crate) fn send_frame<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    to.write_all(&encode_frame(message)?)
}

/// Reads one frame and nothing behind it.
pub(crate) fn receive_frame<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut prefix = [0; PREFIX];
    from.read_exact(&mut prefix)?;
    let mut body = vec![0; body_length(prefix)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Takes the message at the beginning of `bytes`, once all of it has arrived.
pub(crate) fn take_frame<T: DeserializeOwned>(bytes: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some((prefix, body)) = bytes.split_first_chunk::<PREFIX>() else { return Ok(None) };
    let length = body_length(*prefix)?;
    let Some(body) = body.get(..length) else { return Ok(None) };
    let message = serde_json::from_slice(body)?;
    bytes.drain(..PREFIX + length);
    Ok(Some(message))
}

fn body_length(prefix: [u8; PREFIX]) -> io::Result<usize> {
    let length = u32::from_be_bytes(prefix) as usize;
    if length > FRAME_MAX { Err(io::Error::other("frame too long")) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_whole_or_not_at_all() {
        let sent = vec!["one".to_owned(), "zwei \"3\"".to_owned()];
        let mut frame = encode_frame(&sent).unwrap();
        for cut in 0..frame.len() {
            assert_eq!(take_frame::<Vec<String>>(&mut frame[..cut].to_vec()).unwrap(), None, "{cut}");
            assert!(receive_frame::<Vec<String>>(&mut &frame[..cut]).is_err(), "{cut}");
        }
        frame.extend_from_slice(b"after");
        let mut reader = frame.as_slice();
        assert_eq!(receive_frame::<Vec<String>>(&mut reader).unwrap(), sent);
        assert_eq!(reader, b"after");
        assert_eq!(take_frame::<Vec<String>>(&mut frame).unwrap(), Some(sent));
        assert_eq!(frame, b"after");
    }

    #[test]
    fn an_absurd_length_is_refused_before_it_is_allocated() {
        assert!(receive_frame::<String>(&mut [0xff_u8; 64].as_slice()).is_err());
        assert!(take_frame::<String>(&mut vec![0xff; 64]).is_err());
    }
}
