//! The commands of setup, one after the other over the same layer, with the network that they may use.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::sandbox::{NetworkUse, SetupCommand, SetupRecord};
use contract::task::{Command, Environment};
use contract::text::show_controls;
use evidence::names::SETUP_LOG;
use gate::conduct::judge_conduct;
use sandbox::{Ended, SandboxStage, Upper, WorkspaceFrom};

use super::layer::{FailedSetup, LayerMaker};
use super::proxy::{self, SetupProxy};
use crate::run::file::Stopped;
use crate::run::followed::FollowedProgram;
use crate::run::supervise::{exit_code, limits_exceeded};

/// Characters of a last line that a reason quotes.
const LONGEST_LAST_LINE: usize = 300;

/// Network of a setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetupNetwork {
    /// The hosts that the contract names.
    Named,
    /// None, because setup sees bytes of a patch; hosts that it asks for are recorded.
    Withheld,
    /// The contract names no host.
    Absent,
}

impl SetupNetwork {
    /// Steps of a setup that sees nothing but the baseline.
    pub(super) fn of_baseline(environment: &Environment) -> Self {
        if environment.setup_network.is_empty() { Self::Absent } else { Self::Named }
    }

    /// Steps of a setup that sees bytes of a patch. A setup that sees the whole tree never has any.
    pub(super) fn of_patch(environment: &Environment) -> Self {
        let released = environment.setup_network_for_patch && !environment.setup_inputs.is_empty();
        match Self::of_baseline(environment) {
            Self::Named if !released => Self::Withheld,
            network => network,
        }
    }

    /// Hosts that setup may reach.
    pub(super) fn hosts(self, environment: &Environment) -> &[String] {
        match self {
            Self::Named => &environment.setup_network,
            Self::Withheld | Self::Absent => &[],
        }
    }
}

impl LayerMaker<'_> {
    /// Runs the commands over `lower`, the first on top; what they write goes below `part`.
    pub(super) fn make_layer(
        &mut self,
        lower: Vec<PathBuf>,
        part: &Path,
        network: SetupNetwork,
        mut record: SetupRecord,
    ) -> Result<Result<SetupRecord, FailedSetup>, Stopped> {
        fs::create_dir_all(part).map_err(|error| Stopped::Io(part.to_owned(), error))?;
        let contract = self.setting.contract;
        let over = Over { lower, part, network };
        for (index, command) in contract.environment.setup.iter().enumerate() {
            let name = format!("setup {}", index + 1);
            if let Some(why) = self.step(command, &over, &name, &mut record)? {
                return Ok(Err(FailedSetup { why: format!("{name}: `{}` {why}", command.argv.join(" ")), record }));
            }
        }
        Ok(Ok(record))
    }

    /// Runs one command and records it; says why setup cannot go on, if it cannot.
    fn step(
        &mut self,
        command: &Command,
        over: &Over<'_>,
        name: &str,
        record: &mut SetupRecord,
    ) -> Result<Option<String>, Stopped> {
        let Some((ended, network)) = self.run(command, over, name)? else {
            return Ok(Some("was not found".to_owned()));
        };
        self.cells.add_sandbox(name, &ended);
        self.attempts.extend(self.cells.last().map(|cell| judge_conduct(&cell.name, &cell.seen)).unwrap_or_default());
        let exit = exit_code(&ended);
        let duration_ms = u64::try_from(ended.elapsed.as_millis()).unwrap_or(u64::MAX);
        self.say(&format!("== {name}: {:?}: exit {exit:?}, {duration_ms} ms", command.argv));
        self.log.extend(ended.stdout.text_bytes());
        self.log.extend(ended.stderr.text_bytes());
        merge(&mut record.network, network);
        record.commands.push(SetupCommand { argv: command.argv.clone(), exit, duration_ms });
        if ended.cancelled {
            return Err(Stopped::Cancelled);
        }
        let exceeded = limits_exceeded(&ended, &self.setting.contract.limits);
        let hint = format!("{}{}", refused_hosts(&record.network, over.network), last_line(&ended));
        Ok(judge_step(&ended, exceeded, command.timeout_seconds, &hint))
    }

    fn run(
        &mut self,
        command: &Command,
        over: &Over<'_>,
        name: &str,
    ) -> Result<Option<(Ended, Vec<NetworkUse>)>, Stopped> {
        let Over { lower, part, network } = over;
        let Some((root, beneath)) = lower.split_first() else { return Ok(None) };
        let from = WorkspaceFrom::Layers { lower: lower.clone(), upper: Upper::Directory((*part).to_owned()) };
        let layers = [part.join("upper")].into_iter().chain(beneath.iter().cloned()).collect();
        let program_view = self.setting.make_mounts("setup", root.clone())?.with_layers(layers, from);
        let wall = Duration::from_secs(command.timeout_seconds);
        let Some(mut spec) = self.setting.spec(&command.argv, command.cwd.as_deref(), &program_view, wall) else {
            return Ok(None);
        };
        if let (true, Some(confinement)) = (*network != SetupNetwork::Absent, &mut spec.confinement) {
            confinement.listener = Some(proxy::PORT);
            spec.env.extend(proxy::proxy_variables());
        }
        let stage: SandboxStage = self.setting.harness.supervisor.prepare()?;
        let mut confined = self.setting.confine_program(stage, spec)?;
        let followed = FollowedProgram::announce_program(&self.setting, self.watch, name, wall);
        let Some(listener) = confined.take_listener() else {
            return Ok(Some((followed.run_heard(self.watch, |watch| confined.start_program(watch))?, Vec::new())));
        };
        let proxy = SetupProxy::new(network.hosts(&self.setting.contract.environment));
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| proxy.serve_listener(&listener, scope));
            let ended = followed.run_heard(self.watch, |watch| confined.start_program(watch));
            proxy.stop_threads();
            ended
        })?;
        Ok(Some((ended, proxy.into_record())))
    }
}

/// Ground that setup runs on.
struct Over<'a> {
    /// The first on top.
    lower: Vec<PathBuf>,
    part: &'a Path,
    network: SetupNetwork,
}

/// Says why setup cannot go on after a command that ended so, if it cannot.
fn judge_step(ended: &Ended, exceeded: Option<String>, seconds: u64, hint: &str) -> Option<String> {
    if ended.timed_out {
        return Some(format!("did not end within {seconds} s"));
    }
    if exceeded.is_some() {
        return exceeded;
    }
    match exit_code(ended) {
        Some(0) => None,
        Some(exit) => Some(format!("ended with exit {exit}{hint}")),
        None => Some("did not start".to_owned()),
    }
}

/// The last line that a command printed, which mostly says what is wrong, and the file with all of it.
fn last_line(ended: &Ended) -> String {
    let last = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(show_controls(line).chars().take(LONGEST_LAST_LINE).collect::<String>())
    };
    let line = last(ended.stderr.text_bytes()).or_else(|| last(ended.stdout.text_bytes()));
    line.map(|line| format!("; its last line: \u{201c}{line}\u{201d} ({SETUP_LOG})")).unwrap_or_default()
}

/// A hint at the hosts that were refused, and at what would let setup reach them.
fn refused_hosts(network: &[NetworkUse], terms: SetupNetwork) -> String {
    let refused: Vec<&str> = network.iter().filter(|used| used.refused > 0).map(|used| used.host.as_str()).collect();
    match (refused.as_slice(), terms) {
        ([], _) => String::new(),
        (hosts, SetupNetwork::Withheld) => format!(
            "; it asked for {}, and setup that sees bytes of a patch has no network unless environment.setup_network_for_patch \
             is true",
            hosts.join(", ")
        ),
        (hosts, _) => format!("; it asked for {}, which environment.setup_network does not name", hosts.join(", ")),
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

#[cfg(test)]
mod tests {
    use sandbox::{How, SpawnFailure, SpawnFailureKind};
    use serde_json::{Value, json};

    use super::*;
    use crate::run::tests::ended;

    #[test]
    fn a_setup_that_sees_a_patch_has_network_only_where_the_contract_says_so() {
        let of = |environment: Value| {
            let environment: Environment = serde_json::from_value(environment).unwrap();
            let networks = (SetupNetwork::of_baseline(&environment), SetupNetwork::of_patch(&environment));
            let hosts = |network: SetupNetwork| network.hosts(&environment).len();
            (networks, (hosts(networks.0), hosts(networks.1)))
        };
        use SetupNetwork::{Absent, Named, Withheld};
        let (hosts, inputs) = (json!(["a.b"]), json!(["x.lock"]));
        for (environment, expected) in [
            (json!({}), ((Absent, Absent), (0, 0))),
            (json!({"setup_inputs": inputs, "setup_network_for_patch": true}), ((Absent, Absent), (0, 0))),
            (json!({"setup_network": hosts, "setup_inputs": inputs}), ((Named, Withheld), (1, 0))),
            (json!({"setup_network": hosts, "setup_network_for_patch": true}), ((Named, Withheld), (1, 0))),
            (
                json!({"setup_network": hosts, "setup_inputs": inputs, "setup_network_for_patch": true}),
                ((Named, Named), (1, 1)),
            ),
        ] {
            assert_eq!(of(environment.clone()), expected, "{environment}");
        }
    }

    #[test]
    fn a_setup_goes_on_only_after_a_command_that_ended_well() {
        let judge = |ended: &Ended, exceeded: Option<&str>| judge_step(ended, exceeded.map(str::to_owned), 9, "; hint");
        let late = Ended { timed_out: true, ..ended(0, "") };
        assert_eq!(judge(&ended(0, ""), None), None);
        assert_eq!(judge(&late, Some("over")).as_deref(), Some("did not end within 9 s"));
        assert_eq!(judge(&ended(0, ""), Some("over")).as_deref(), Some("over"));
        assert_eq!(judge(&ended(2, ""), None).as_deref(), Some("ended with exit 2; hint"));
        let failure = SpawnFailure { kind: SpawnFailureKind::Other, errno: None, text: String::new() };
        let unstarted = Ended { how: How::SpawnFailed(failure), ..ended(0, "") };
        assert_eq!(judge(&unstarted, None).as_deref(), Some("did not start"));
    }

    #[test]
    fn a_failed_command_is_quoted_by_its_last_line() {
        assert_eq!(
            last_line(&ended(1, "one\nERR! no such package\n\n")),
            "; its last line: \u{201c}ERR! no such package\u{201d} (setup.log)"
        );
        assert_eq!(last_line(&ended(1, "\u{1b}[2J")), "; its last line: \u{201c}␛[2J\u{201d} (setup.log)");
        assert_eq!(last_line(&ended(1, "")), "", "control: it printed nothing");
    }

    fn used(host: &str, port: u16, refused: u64) -> NetworkUse {
        NetworkUse { host: host.to_owned(), port, connections: 1, refused, failed: 5, bytes_sent: 3, bytes_received: 4 }
    }

    #[test]
    fn a_host_that_was_refused_is_named_with_what_would_help() {
        let hosts = [used("a.b", 1, 0), used("c.d", 1, 2)];
        assert_eq!(refused_hosts(&hosts[..1], SetupNetwork::Named), "", "control");
        let named = refused_hosts(&hosts, SetupNetwork::Named);
        assert_eq!(named, "; it asked for c.d, which environment.setup_network does not name");
        let withheld = refused_hosts(&hosts, SetupNetwork::Withheld);
        assert!(withheld.ends_with("unless environment.setup_network_for_patch is true"), "{withheld}");
    }

    #[test]
    fn uses_of_one_host_and_port_are_added_up() {
        let mut all = vec![used("a.b", 1, 5)];
        merge(&mut all, vec![used("a.b", 1, 6), used("a.b", 2, 0), used("c.d", 1, 0)]);
        let sum = NetworkUse { connections: 2, failed: 10, bytes_sent: 6, bytes_received: 8, ..used("a.b", 1, 11) };
        assert_eq!(all, [sum, used("a.b", 2, 0), used("c.d", 1, 0)]);
    }
}
