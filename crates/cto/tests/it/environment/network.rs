//! The way out that setup alone has, against a server on the loopback.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{World, each_row};

use super::{Ended, write_case};

/// Asks through the proxy that the environment names, in the way its first argument says.
const FETCH: &str = "
import http.client, os, sys, urllib.request
how, address = sys.argv[1:]
if how == 'plain':
    body = urllib.request.urlopen(f'http://{address}/data').read()
else:
    host, port = address.split(':')
    proxy = os.environ['https_proxy'].removeprefix('http://')
    connection = http.client.HTTPConnection(proxy)
    connection.set_tunnel(host, int(port))
    connection.request('GET', '/data')
    body = connection.getresponse().read()
open('data', 'wb').write(body)";

/// Fails unless every way out is closed: the server's own address, the proxy's, and by a proxy variable.
const CLOSED: &str = "
import os, socket, sys
assert not [name for name in os.environ if name.lower().endswith('_proxy')], os.environ
for port in sys.argv[1:]:
    try:
        socket.create_connection(('127.0.0.1', int(port)), 10)
    except ConnectionRefusedError:
        continue
    sys.exit(f'connected to {port}')
print('closed')";

const PROXY_PORT: &str = "3128";

/// Answers every request, and counts.
struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, asked) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&asked);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if answer(client).is_ok() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Self { port, asked }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn answer(client: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    if !line.starts_with("GET /data ") {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    while line != "\r\n" && !line.is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let body = "fetched\n";
    write!(&client, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// Setup fetches by a script; `hosts` may be reached.
fn run(world: &World, name: &str, script: &[&str], hosts: &[&str], keys: &[(&str, Value)]) -> Ended {
    let inputs: &[&str] = if hosts.is_empty() { &[] } else { &["lock"] };
    let environment = json!({"setup": [{"argv": script}], "setup_network": hosts, "setup_inputs": inputs});
    let scope =
        [("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([["grep", "-qx", "fetched", "data"]]))];
    let keys: Vec<(&str, Value)> =
        keys.iter().chain(scope.iter().filter(|(key, _)| keys.iter().all(|(own, _)| own != key))).cloned().collect();
    let steps = json!([{"write": {"path": "a.txt", "text": "two\n"}}]);
    let case = write_case(world, name, &keys, &steps, &format!("environment: {environment}\n"));
    Ended::of(world, &case, None)
}

/// The record of one host.
fn used(ended: &Ended) -> &Value {
    let network = ended.setup()[0]["network"].as_array().unwrap();
    assert_eq!(network.len(), 1, "{}", ended.told());
    &network[0]
}

#[test]
fn setup_fetches_from_a_named_host() {
    let (world, server) = (crate::world(), Server::start());
    for (index, how) in ["plain", "tunnel"].into_iter().enumerate() {
        let script = ["python3", "-c", FETCH, how, &server.address()];
        let ended = run(&world, how, &script, &[&server.address()], &[]).expect("pass", &[]);
        assert!(ended.covers("setup_with_network"), "{}", ended.told());
        assert_eq!(server.asked(), index + 1, "{how}");
        let used = used(&ended);
        let counts = [&used["connections"], &used["refused"], &used["failed"]];
        assert_eq!((&used["host"], &used["port"]), (&json!("127.0.0.1"), &json!(server.port)), "{used}");
        assert_eq!(counts, [&json!(1), &json!(0), &json!(0)], "{used}");
        assert!(used["bytes_sent"].as_u64() > Some(20) && used["bytes_received"].as_u64() > Some(60), "{used}");

        let again = run(&world, how, &script, &[&server.address()], &[]).expect("pass", &[]);
        assert_eq!((&again.setup()[0]["cached"], server.asked()), (&json!(true), index + 1), "{}", again.told());
        assert!(again.covers("setup_with_network"), "a layer from the network stays one: {}", again.told());
    }
}

#[test]
fn a_host_that_is_not_named_is_refused_and_told() {
    let (world, server, other) = (crate::world(), Server::start(), Server::start());
    for (name, how, address, host) in [
        ("plain", "plain", "elsewhere.invalid", "elsewhere.invalid"),
        ("tunnel", "tunnel", "elsewhere.invalid:443", "elsewhere.invalid"),
        ("port", "tunnel", &other.address(), "127.0.0.1"),
    ] {
        let script = ["python3", "-c", FETCH, how, address];
        let ended = run(&world, name, &script, &[&server.address()], &[]).expect("blocked", &["environment_broken"]);
        let text = format!("it asked for {host}, which environment.setup_network does not name");
        assert!(ended.why().contains(&text), "{}", ended.told());
        assert!(ended.setup_log.contains("403"), "{}", ended.told());
        let used = used(&ended);
        assert_eq!(
            (&used["host"], &used["refused"], &used["connections"]),
            (&json!(host), &json!(1), &json!(0)),
            "{used}"
        );
        assert_eq!(ended.setup()[0]["commands"][0]["exit"], 1, "{}", ended.told());
    }
    assert_eq!((server.asked(), other.asked()), (0, 0));

    // A setup that can do without goes on, and what was refused is on record.
    let shrug = format!(
        "python3 -c '{FETCH}' plain elsewhere.invalid || echo fetched > data",
        FETCH = FETCH.replace('\'', "\"")
    );
    let ended = run(&world, "shrug", &["sh", "-c", &shrug], &[&server.address()], &[]).expect("pass", &[]);
    assert_eq!(used(&ended)["refused"], 1, "{}", ended.told());
}

#[test]
fn without_named_hosts_setup_has_no_way_out() {
    let (world, server) = (crate::world(), Server::start());
    let fetch = ["python3", "-c", FETCH, "plain", &server.address()];
    let ended = run(&world, "fetch", &fetch, &[], &[]).expect("blocked", &["environment_broken"]);
    assert!(ended.setup_log.contains("Connection refused") && !ended.covers("setup_with_network"), "{}", ended.told());
    assert_eq!(server.asked(), 0);
}

#[test]
fn engine_and_verification_have_no_way_out() {
    let (world, server) = (crate::world(), Server::start());
    let port = server.port.to_string();
    let look = json!(["python3", "-c", CLOSED, port, PROXY_PORT]);
    let fetch = ["python3", "-c", FETCH, "plain", &server.address()];
    let steps = json!([{"write": {"path": "a.txt", "text": "two\n"}}, {"run": {"argv": look}}]);
    let keys = [
        ("verification_commands", json!([["grep", "-qx", "fetched", "data"], look])),
        ("fake", json!({"steps": steps})),
    ];
    let environment =
        json!({"setup": [{"argv": fetch}], "setup_network": [server.address()], "setup_inputs": ["lock"]});
    let scope = [("allowed_paths", json!(["a.txt"])), keys[0].clone()];
    let case = write_case(&world, "closed", &scope, &steps, &format!("environment: {environment}\n"));
    let ended = Ended::of(&world, &case, None).expect("pass", &[]);
    let bundle = world.bundles().join(ended.report["run_id"].as_str().unwrap());
    let engine = std::fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
    assert!(engine.contains("closed") && ended.test_log.contains("closed"), "{engine}\n{}", ended.told());
    assert_eq!(server.asked(), 1, "setup alone");
}

/// Setup by a file of the tree that the patch changes.
struct PatchedSetup {
    argv: Value,
    input: &'static str,
    before: String,
    after: String,
}

impl PatchedSetup {
    /// A script, which in the patch also looks for what is no input.
    fn script(server: &Server) -> Self {
        let before = format!("python3 -c '{}' plain {}\n", FETCH.replace('\'', "\""), server.address());
        let after = format!("test -e a.txt && touch SAW; {before}");
        Self { argv: json!(["sh", "fetch.sh"]), input: "fetch.sh", before, after }
    }

    /// A lock file, which in the patch names a package more; setup fetches the last.
    fn lock_file(server: &Server) -> Self {
        let last = "python3 -c \"$0\" plain $(sed -n '$s/.*=//p' lock)";
        let before = format!("one={}\n", server.address());
        let after = format!("{before}two={}\n", server.address());
        Self { argv: json!(["sh", "-c", last, FETCH]), input: "lock", before, after }
    }

    fn run(&self, world: &World, name: &str, server: &Server, for_patch: bool) -> Ended {
        let environment = json!({
            "setup": [{"argv": self.argv}],
            "setup_inputs": [self.input],
            "setup_network": [server.address()],
            "setup_network_for_patch": for_patch,
        });
        let written = json!({"write": {"path": self.input, "text": self.after}});
        let steps = json!([{"write": {"path": "a.txt", "text": "two\n"}}, written]);
        let keys = [
            ("allowed_paths", json!(["a.txt", self.input])),
            ("verification_commands", json!([["sh", "-c", "grep -qx fetched data && test ! -e SAW"]])),
        ];
        let case = write_case(world, name, &keys, &steps, &format!("environment: {environment}\n"));
        world.write(&format!("{name}/files/{}", self.input), &self.before);
        Ended::of(world, &case, None)
    }
}

#[test]
fn setup_that_sees_a_byte_of_the_patch_has_no_network_unless_the_contract_says_so() {
    type Make = fn(&Server) -> PatchedSetup;
    let rows: [(&str, Make); 2] = [("a script", PatchedSetup::script), ("a lock file", PatchedSetup::lock_file)];
    each_row(rows, |make| {
        let (world, server) = (crate::world(), Server::start());
        let setup = make(&server);
        let ended = setup.run(&world, "withheld", &server, false).expect("fail", &["verification_failed"]);
        let says = "setup that sees bytes of a patch has no network unless environment.setup_network_for_patch is true";
        assert!(ended.why().contains(says), "{}", ended.told());
        assert_eq!(server.asked(), 1, "the baseline's alone");
        assert_eq!(ended.setup()[1]["network"][0]["refused"], 1, "{}", ended.told());
        // Control, and even then nothing but the inputs is seen.
        let _ = setup.run(&world, "released", &server, true).expect("pass", &[]);
        assert_eq!(server.asked(), 2, "the layer of the baseline is known");
    });
}

#[test]
fn a_build_has_no_way_out_whatever_setup_has() {
    let (world, server) = (crate::world(), Server::start());
    let look = format!("python3 -c \"{CLOSED}\" {} {PROXY_PORT} && echo fetched > data", server.port);
    let environment = json!({
        "setup": [{"argv": ["python3", "-c", FETCH, "plain", server.address()]}],
        "setup_inputs": ["lock"],
        "setup_network": [server.address()],
        "build": [{"argv": ["sh", "build.sh"]}],
    });
    let fetch = format!("python3 -c '{}' plain {}\n", FETCH.replace('\'', "\""), server.address());
    for (name, script, status, reasons) in
        [("looks", &look, "pass", &[][..]), ("fetches", &fetch, "fail", &["verification_failed"])]
    {
        let steps = json!([{"write": {"path": "build.sh", "text": script}}]);
        let keys = [
            ("allowed_paths", json!(["build.sh"])),
            ("verification_commands", json!([["grep", "-qx", "fetched", "data"]])),
        ];
        let case = write_case(&world, name, &keys, &steps, &format!("environment: {environment}\n"));
        world.write(&format!("{name}/files/build.sh"), "true\n");
        let _ = Ended::of(&world, &case, None).expect(status, reasons);
    }
    assert_eq!(server.asked(), 1, "setup alone");
}

#[test]
fn a_setup_with_network_must_name_its_inputs() {
    let world = crate::world();
    let keys = [("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([["true"]]))];
    let environment = "environment:\n  setup: [npm ci]\n  setup_network: [registry.example]\n";
    let case = write_case(&world, "whole", &keys, &json!([]), environment);
    let refused = world.cto(["decide".as_ref(), case.as_os_str()]).expect(2);
    let line = std::fs::read_to_string(case.join("case.yaml")).unwrap().lines().count();
    let place = format!("case.yaml:{line}:");
    assert!(refused.stderr.contains(&place) && refused.stderr.contains("needs `setup_inputs`"), "{}", refused.stderr);
    let named = format!("{environment}  setup_inputs: [package-lock.json]\n");
    let case = write_case(&world, "named", &keys, &json!([]), &named);
    assert_ne!(world.cto(["decide".as_ref(), case.as_os_str()]).code, 2);
}
