//! `cto bridge` on its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Child;

use fixtures::scripted::{Reply, Script, ScriptedServer};
use serde_json::{Value, json};
use testkit::World;

use super::scene::ask;
use crate::world;

const TOKEN: &str = "token-0123456789abcdef";

struct Running {
    child: Child,
    address: String,
    first: String,
}

fn start(world: &World, more: &[&str]) -> (ScriptedServer, Running) {
    let script = Script { steps: Vec::new(), otherwise: Reply::text("hello\u{1b}[31m") };
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
    let upstream = format!("http://{}/v1", server.address());
    let mut arguments = vec!["bridge", "--listen", "127.0.0.1:0", "--upstream", &upstream, "--admit", "p/m"];
    arguments.extend_from_slice(more);
    let mut child = world.start(&arguments);
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let at = first.find("127.0.0.1:").unwrap();
    let address: String = first[at..].chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect();
    (server, Running { child, address, first })
}

fn send(address: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn interrupt(running: Running) -> testkit::Ran {
    let pid = running.child.id().to_string();
    assert!(testkit::program("kill", std::path::Path::new("/")).args(["-INT", &pid]).status().unwrap().success());
    World::finish(running.child)
}

#[test]
fn it_serves_and_says_a_line_a_request() {
    let world = world();
    let (server, running) = start(&world, &["--token", TOKEN]);
    assert!(running.first.starts_with("listening http://127.0.0.1:"));
    assert!(send(&running.address, TOKEN, &ask("m", "hi")).starts_with("HTTP/1.1 200"));
    assert!(send(&running.address, TOKEN, &ask("m\u{1b}[31mx", "hi")).starts_with("HTTP/1.1 403"));
    assert!(send(&running.address, "another-token-0", &ask("m", "hi")).starts_with("HTTP/1.1 401"));
    assert_eq!(server.asked().len(), 1);
    let ran = interrupt(running).expect(130);
    let text = ran.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].contains(" 200 ") && lines[0].contains("m -> m") && lines[0].contains("11+7 tokens"), "{text}");
    assert!(lines[1].contains("model_not_admitted") && lines[2].contains("token_refused"), "{text}");
    assert!(lines[3].starts_with("stopped after 1 requests"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains(TOKEN), "{text}");
}

#[test]
fn with_json_it_says_an_object_a_line_and_makes_its_own_token() {
    let world = world();
    let (_server, running) = start(&world, &["--json"]);
    let first: Value = serde_json::from_str(&running.first).unwrap();
    let token = first["token"].as_str().unwrap().to_owned();
    assert!(send(&running.address, &token, &ask("m", "hi")).starts_with("HTTP/1.1 200"));
    let ran = interrupt(running).expect(130);
    let lines: Vec<Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["type"], &lines[0]["served"]), (&json!("model.answered"), &json!("exact")));
    assert_eq!((&lines[1]["type"], &lines[1]["requests"]), (&json!("stopped"), &json!(1)));
}

/// On a terminal a summary stands below the lines and is drawn again in its place; in the end only the lines are left.
#[test]
fn on_a_terminal_a_summary_stands_below_and_goes_in_the_end() {
    let world = world();
    let script = Script { steps: Vec::new(), otherwise: Reply::text("hello\u{1b}[31m") };
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), script).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let upstream = format!("http://{}/v1", server.address());
    let arguments = ["bridge", "--listen", &address, "--upstream", &upstream, "--admit", "p/m", "--token", TOKEN];
    let showing = world.start_on_terminal(arguments);
    testkit::wait_for("the bridge", || TcpStream::connect(&address).ok());
    assert!(send(&address, TOKEN, &ask("m", "hi")).starts_with("HTTP/1.1 200"));
    assert!(send(&address, TOKEN, &ask("m\u{1b}[2Jx", "hi")).starts_with("HTTP/1.1 403"));
    // Drawn again while nothing happens.
    std::thread::sleep(std::time::Duration::from_millis(800));
    let pid = showing.pid().to_string();
    assert!(testkit::program("kill", std::path::Path::new("/")).args(["-INT", &pid]).status().unwrap().success());
    let shown = showing.finish();
    assert_eq!(shown.code, 130);
    let text = String::from_utf8_lossy(&shown.bytes).into_owned();
    assert!(text.contains("0 open  1 sent  1 refused  18 tokens"), "{text}");
    assert!(text.contains(&format!("p/m  http://{address}")) && shown.redrawn() >= 4, "{}: {text}", shown.redrawn());
    assert!(!text.contains("\u{1b}[2J") && !text.contains("\u{1b}[31mx") && !text.contains(TOKEN), "{text}");
    let lines: Vec<String> = shown.screen().into_iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[0].starts_with("listening http://127.0.0.1:") && lines[1].contains(" 200 "), "{lines:#?}");
    assert!(lines[2].contains("model_not_admitted") && lines[3].starts_with("stopped after 1 requests"), "{lines:#?}");
}

/// The scripted model that ships, behind the bridge that ships.
#[test]
fn the_shipped_model_answers_from_its_script() {
    let world = world();
    let script =
        json!({"steps": [{"when": {"contains": "again"}, "reply": {"text": "twice"}}], "otherwise": {"text": "once"}});
    let script = world.write("script.json", script.to_string());
    let mut model = world.start(["__model", "--listen", "127.0.0.1:0", "--script", script.to_str().unwrap()]);
    let mut address = String::new();
    BufReader::new(model.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    for (words, expected) in [("hi", "once"), ("again", "twice")] {
        let answer = send(address.trim(), "any", &ask("m", words));
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(expected), "{answer}");
    }
    model.kill().unwrap();
    model.wait().unwrap();
}

#[test]
fn what_it_cannot_be_started_with() {
    let rows: &[(&[&str], i32, &str)] = &[
        (&["--listen", "0.0.0.0:0", "--upstream", "http://127.0.0.1:9/v1"], 2, "loopback only"),
        (&["--upstream", "ftp://x"], 2, "http:// or https://"),
        (&["--upstream", "http://127.0.0.1:9/v1", "--token", "short"], 2, "printable characters"),
        (&["--upstream", "http://127.0.0.1:9/v1", "--credential", "sk-0123456789abcdef0123"], 2, "env:NAME"),
        (&["--upstream", "http://127.0.0.1:9/v1", "--credential", "env:NOT_SET_HERE"], 3, "NOT_SET_HERE is not set"),
    ];
    for (more, code, words) in rows {
        let arguments = ["bridge", "--admit", "p/m"].iter().chain(*more);
        let ran = world().cto(arguments).expect(*code);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
}
