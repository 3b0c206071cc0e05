//! Setup layers: what the contract's `setup` writes over a tree, made once in a sandbox of its own and kept by what it
//! depends on. Engine and verification see it under everything they write.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contract::sandbox::{MountDigest, NetworkUse, SetupCommand, SetupRecord};
use contract::task::Command;
use contract::{Digest, canonical_bytes, canonical_digest};
use sandbox::{Ended, Stage, Upper, WorkspaceFrom};
use serde::{Deserialize, Serialize};
use untrusted_fs::own_files::{self, OwnPath as _};

use super::proxy::{self, Proxy};
use super::settle::{discard, settle};
use crate::gc::{hold_for_use, touch};
use crate::host::Seen;
use crate::posture::Cells;
use crate::run::Stopped;
use crate::supervise::{Setting, exceeded, exit_code};

/// Version of what is kept and of how it is made.
const VERSION: &str = "3";
const RECORD: &str = "layer.json";

/// A layer that is ready to be put under a workspace.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// What setup wrote.
    pub(crate) files: PathBuf,
    pub(crate) record: SetupRecord,
    /// Keeps it from being collected while it is used.
    _held: Arc<File>,
}

/// What making a layer comes to.
#[derive(Debug)]
pub(crate) enum Made {
    Layer(Layer),
    Failed(FailedSetup),
}

/// A setup that did not end well, with what was done up to there.
#[derive(Debug)]
pub(crate) struct FailedSetup {
    why: String,
    pub(crate) record: SetupRecord,
}

impl fmt::Display for FailedSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// What a layer depends on.
#[derive(Serialize)]
struct Key<'a> {
    version: &'static str,
    tree: &'a str,
    setup: &'a [Command],
    network: &'a [String],
    variables: &'a std::collections::BTreeMap<String, String>,
    path: Vec<PathBuf>,
    mounts: &'a [MountDigest],
    /// The programs of setup, as the file system has them.
    toolchain: Vec<(PathBuf, Option<Seen>)>,
}

/// Makes layers, or finds them.
pub(crate) struct Setup<'a> {
    pub(crate) setting: Setting<'a>,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) mounts: &'a [MountDigest],
    pub(crate) cells: Cells,
    /// What the commands printed.
    pub(crate) log: Vec<u8>,
}

impl Setup<'_> {
    /// The layer for the tree whose files lie at `lower`.
    pub(crate) fn layer(&mut self, tree: &str, lower: &Path) -> Result<Made, Stopped> {
        let key = self.key(tree, lower)?;
        let folder = self.setting.harness.home.cache().join("layers");
        let place = folder.join(key.to_string());
        if let Some((mut record, held)) = kept(&place, key) {
            record.cached = true;
            self.say(&format!("== setup: known from an earlier run as {key}"));
            return Ok(Made::Layer(Layer { files: place.join("upper"), record, _held: held.into() }));
        }
        fs::create_dir_all(&folder).map_err(|error| Stopped::Io(folder.clone(), error))?;
        let part = folder.join(format!(
            "{key}.part-{}-{}",
            std::process::id(),
            crate::run::suffix().map_err(|error| Stopped::Io(folder.clone(), error))?
        ));
        let made = self.make(tree, lower, key, &part);
        match made {
            Ok(Ok(record)) => {
                let held = put(&part, &place)?;
                Ok(Made::Layer(Layer { files: place.join("upper"), record, _held: held.into() }))
            }
            Ok(Err(failed)) => {
                discard(&part);
                Ok(Made::Failed(failed))
            }
            Err(stopped) => {
                discard(&part);
                Err(stopped)
            }
        }
    }

    fn key(&self, tree: &str, lower: &Path) -> Result<Digest, Stopped> {
        let environment = &self.setting.contract.environment;
        let quarters = self.setting.quarters("setup", lower.to_owned())?;
        let path = self.setting.path();
        let programs = environment.setup.iter().filter_map(|command| {
            let seen = quarters.find_program(command.argv.first()?, &path, quarters.tree())?;
            Some((seen.clone(), quarters.of_host(&seen).iter().find_map(|host| Seen::of(host).ok())))
        });
        Ok(canonical_digest(&Key {
            version: VERSION,
            tree,
            setup: &environment.setup,
            network: &environment.setup_network,
            variables: &environment.variables,
            mounts: self.mounts,
            toolchain: programs.collect(),
            path,
        })?)
    }

    /// Runs the commands one after the other over the same layer.
    fn make(
        &mut self,
        tree: &str,
        lower: &Path,
        key: Digest,
        part: &Path,
    ) -> Result<Result<SetupRecord, FailedSetup>, Stopped> {
        fs::create_dir_all(part).map_err(|error| Stopped::Io(part.to_owned(), error))?;
        let contract = self.setting.contract;
        let mut record =
            SetupRecord { key, tree: tree.to_owned(), cached: false, commands: Vec::new(), network: Vec::new() };
        for (index, command) in contract.environment.setup.iter().enumerate() {
            let name = format!("setup {}", index + 1);
            if let Some(why) = self.step(command, lower, part, &name, &mut record)? {
                return Ok(Err(FailedSetup { why: format!("{name}: `{}` {why}", command.argv.join(" ")), record }));
            }
        }
        if let Err(error) = settle(&part.join("upper"), lower) {
            return Ok(Err(FailedSetup { why: format!("what it wrote cannot be kept: {error}"), record }));
        }
        let bytes = canonical_bytes(&record)?;
        own_files::write(part.join(RECORD), bytes).map_err(|error| Stopped::Io(part.join(RECORD), error))?;
        Ok(Ok(record))
    }

    /// Runs one command and records it; says why setup cannot go on, if it cannot.
    fn step(
        &mut self,
        command: &Command,
        lower: &Path,
        part: &Path,
        name: &str,
        record: &mut SetupRecord,
    ) -> Result<Option<String>, Stopped> {
        let Some((ended, network)) = self.run(command, lower, part)? else {
            return Ok(Some("was not found".to_owned()));
        };
        self.cells.add(name, &ended)?;
        let exit = exit_code(&ended);
        let duration_ms = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        self.say(&format!("== {name}: {:?}: exit {exit:?}, {duration_ms} ms", command.argv));
        self.log.extend(ended.stdout.text_bytes());
        self.log.extend(ended.stderr.text_bytes());
        merge(&mut record.network, network);
        record.commands.push(SetupCommand { argv: command.argv.clone(), exit, duration_ms });
        let exceeded = exceeded(&ended, &self.setting.contract.limits);
        match exit {
            _ if ended.cancelled => Err(Stopped::Cancelled),
            _ if ended.timed_out => Ok(Some(format!("did not end within {} s", command.timeout_seconds))),
            _ if exceeded.is_some() => Ok(exceeded),
            Some(0) => Ok(None),
            Some(exit) => Ok(Some(format!("ended with exit {exit}{}", not_named(&record.network)))),
            None => Ok(Some("did not start".to_owned())),
        }
    }

    fn run(
        &mut self,
        command: &Command,
        lower: &Path,
        part: &Path,
    ) -> Result<Option<(Ended, Vec<NetworkUse>)>, Stopped> {
        let from = WorkspaceFrom::Layers { lower: vec![lower.to_owned()], upper: Upper::Directory(part.to_owned()) };
        let quarters = self.setting.quarters("setup", lower.to_owned())?.layered(vec![part.join("upper")], from);
        let wall = Duration::from_secs(command.timeout_seconds);
        let Some(mut spec) = self.setting.spec(&command.argv, command.cwd.as_deref(), &quarters, wall) else {
            return Ok(None);
        };
        let hosts = &self.setting.contract.environment.setup_network;
        if let (false, Some(confinement)) = (hosts.is_empty(), &mut spec.confinement) {
            confinement.listener = Some(proxy::PORT);
            spec.env.extend(proxy::variables());
        }
        let stage: Stage = self.setting.harness.supervisor.prepare()?;
        let mut confined = stage.confine(spec)?;
        let mut watch = sandbox::Watch { cancel: Some(self.cancel), stop: None, on_line: None, on_tick: None };
        let Some(listener) = confined.take_listener() else {
            return Ok(Some((confined.start(&mut watch)?, Vec::new())));
        };
        let proxy = Proxy::new(hosts);
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| proxy.serve(&listener, scope));
            let ended = confined.start(&mut watch);
            proxy.stop();
            ended
        })?;
        Ok(Some((ended, proxy.into_record())))
    }

    fn say(&mut self, sentence: &str) {
        self.log.extend_from_slice(sentence.as_bytes());
        self.log.push(b'\n');
    }
}

/// A hint at the hosts that were refused.
fn not_named(network: &[NetworkUse]) -> String {
    let refused: Vec<&str> = network.iter().filter(|used| used.refused > 0).map(|used| used.host.as_str()).collect();
    match refused.as_slice() {
        [] => String::new(),
        hosts => format!("; it asked for {}, which environment.setup_network does not name", hosts.join(", ")),
    }
}

fn merge(all: &mut Vec<NetworkUse>, more: Vec<NetworkUse>) {
    for used in more {
        match all.iter_mut().find(|known| known.host == used.host && known.port == used.port) {
            Some(known) => {
                known.connections += used.connections;
                known.refused += used.refused;
                known.failed += used.failed;
                known.bytes_sent += used.bytes_sent;
                known.bytes_received += used.bytes_received;
            }
            None => all.push(used),
        }
    }
}

/// Moves a finished layer to where it is looked for, held from before it can be found. Another run that was faster has made
/// the same; that one may be collected before it is held, but not for ever.
fn put(part: &Path, place: &Path) -> Result<File, Stopped> {
    let mut failed = std::io::Error::from(std::io::ErrorKind::NotFound);
    for _ in 0..3 {
        let Some(held) = hold_for_use(part) else { break };
        match fs::rename(part, place) {
            Ok(()) => return Ok(held),
            Err(error) => failed = error,
        }
        if let Some(held) = hold_for_use(place).filter(|_| place.join(RECORD).own_is_file()) {
            discard(part);
            return Ok(held);
        }
    }
    Err(Stopped::Io(place.to_owned(), failed))
}

/// The record is written last, so that what has one is whole.
fn kept(place: &Path, key: Digest) -> Option<(SetupRecord, File)> {
    #[derive(Deserialize)]
    struct Whole(SetupRecord);
    let held = hold_for_use(place)?;
    let Whole(record) = serde_json::from_slice(&own_files::read(place.join(RECORD)).ok()?).ok()?;
    touch(&place.join(RECORD));
    (record.key == key && place.join("upper").own_is_dir()).then_some((record, held))
}
