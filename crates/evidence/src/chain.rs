//! The event chain: each line carries the digest of the line before it.

use contract::{Digest, Event, EventKind, RunId, Stamp, canonical_bytes, from_json, is_canonical};
use serde_json::{Map, Value};

/// The most events a run may have.
pub const MOST_EVENTS: u64 = 100_000;

/// Position of a chain: number of lines, and the digest that the next line has to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// Number of lines, which is also the next line's `seq`.
    pub count: u64,
    /// Digest of the last line; zero for an empty chain.
    pub digest: Digest,
}

impl Default for ChainHead {
    fn default() -> Self {
        Self { count: 0, digest: Digest::ZERO }
    }
}

impl ChainHead {
    /// The next line, newline included; the head moves on.
    pub fn next_line(
        &mut self,
        run_id: &RunId,
        time: Stamp,
        kind: EventKind,
        data: Map<String, Value>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let event = Event { seq: self.count, time, run_id: run_id.clone(), kind, data, prev: self.digest };
        let mut line = canonical_bytes(&event)?;
        *self = Self { count: self.count + 1, digest: Digest::of_bytes(&line) };
        line.push(b'\n');
        Ok(line)
    }
}

/// First fault of one line: the failed check with the expected and the found value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLine {
    /// 1-based.
    pub line: u64,
    /// Name of the failed check, such as `seq` or `prev`.
    pub check: &'static str,
    pub expected: String,
    pub found: String,
}

/// A chain as far as it was read.
#[derive(Debug, Default)]
pub struct Read {
    /// Events of the unbroken beginning.
    pub events: Vec<Event>,
    /// Position after the last good line.
    pub head: ChainHead,
    /// Bytes of the unbroken beginning, whole lines only.
    pub good_bytes: usize,
    /// Faults, in the order of their lines.
    pub broken: Vec<BrokenLine>,
}

/// Reads a chain and checks each line; stops at the first broken one, because nothing after
/// it is anchored.
pub fn read_chain(bytes: &[u8], run_id: Option<&RunId>) -> Read {
    let mut read = Read::default();
    let mut rest = bytes;
    while !rest.is_empty() && read.head.count < MOST_EVENTS {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            read.broken.push(broken(read.head.count, "newline", "a newline at the end", "none"));
            return read;
        };
        let line = &rest[..end];
        match check_line(line, read.head, run_id) {
            Ok(event) => {
                read.head = ChainHead { count: read.head.count + 1, digest: Digest::of_bytes(line) };
                read.events.push(event);
                read.good_bytes += end + 1;
            }
            Err(problem) => {
                read.broken.push(problem);
                return read;
            }
        }
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        read.broken.push(broken(read.head.count, "event_limit", &MOST_EVENTS.to_string(), "more"));
    }
    read
}

fn broken(index: u64, check: &'static str, expected: &str, found: &str) -> BrokenLine {
    BrokenLine { line: index + 1, check, expected: expected.to_owned(), found: found.to_owned() }
}

fn check_line(line: &[u8], head: ChainHead, run_id: Option<&RunId>) -> Result<Event, BrokenLine> {
    let at = |check, expected: &str, found: &str| broken(head.count, check, expected, found);
    let event: Event = from_json(line).map_err(|error| at("event", "an event", &error.to_string()))?;
    if event.prev != head.digest {
        return Err(at("chain", &head.digest.to_string(), &event.prev.to_string()));
    }
    if event.seq != head.count {
        return Err(at("seq", &head.count.to_string(), &event.seq.to_string()));
    }
    if let Some(run_id) = run_id
        && event.run_id != *run_id
    {
        return Err(at("run_id", run_id.as_str(), event.run_id.as_str()));
    }
    if is_canonical(line) { Ok(event) } else { Err(at("canonical", "RFC 8785 bytes", "other bytes")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn chain(count: u64) -> (RunId, Vec<u8>, ChainHead) {
        let run_id = RunId::try_from("20261115T003955Z-a-b9tc".to_owned()).unwrap();
        let (mut head, mut bytes) = (ChainHead::default(), Vec::new());
        for i in 0..count {
            let time = Stamp::from_unix(Duration::from_secs(i)).unwrap();
            bytes.extend(head.next_line(&run_id, time, EventKind::EngineOutput, Map::new()).unwrap());
        }
        (run_id, bytes, head)
    }

    #[test]
    fn a_chain_reads_back() {
        let (run_id, bytes, head) = chain(4);
        let read = read_chain(&bytes, Some(&run_id));
        assert_eq!((read.head, read.good_bytes, read.broken), (head, bytes.len(), vec![]));
    }

    #[test]
    fn a_torn_tail_keeps_the_whole_lines_before_it() {
        let (run_id, bytes, _) = chain(3);
        let read = read_chain(&bytes[..bytes.len() - 5], Some(&run_id));
        assert_eq!((read.head.count, read.broken[0].check), (2, "newline"));
    }

    proptest::proptest! {
        #[test]
        fn any_changed_byte_is_found(at in 0_usize..2000, bit in 0_u8..8) {
            let (run_id, mut bytes, head) = chain(5);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let read = read_chain(&bytes, Some(&run_id));
            proptest::prop_assert!(!read.broken.is_empty() || read.head != head);
        }

        #[test]
        fn any_bytes_are_read_to_their_end(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 1..2000),
            at in 0_usize..2000,
        ) {
            let (run_id, whole, _) = chain(5);
            let at = at % whole.len();
            for bytes in [bytes.clone(), [&whole[..at], &bytes, &whole[at..]].concat()] {
                let read = read_chain(&bytes, Some(&run_id));
                // Nothing is read behind the first broken line, however much there is.
                proptest::prop_assert_eq!(read.broken.len(), 1);
                proptest::prop_assert!(read.good_bytes < bytes.len() && read.events.len() <= 5);
            }
        }
    }
}
