//! External validators: they read the workspace and nothing of the home, reach no network, and end at their limit.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{Ran, World, program, stoppable};

use super::workspace;

/// Makes a script the workspace's only validator.
fn validate_by(world: &World, script: &str) {
    world.write("validator.sh", script);
    world.write("harness.yaml", "validators:\n  - name: own\n    argv: [bash, validator.sh]\n");
}

/// The validator's result, where everything else is well.
fn result_of(world: &World, script: &str) -> Value {
    validate_by(world, script);
    world.cto(["validate", "workspace", "--json"]).json()["validators"][0].clone()
}

fn passed(exit: i32) -> Value {
    json!({"name": "own", "passed": exit == 0, "exit": exit})
}

/// A script ends with 0 if it can read a file, and with 9 if it cannot.
fn reads(file: &Path) -> String {
    format!("cat '{}' > /dev/null 2>&1 || exit 9\n", file.display())
}

#[test]
fn a_validator_reads_the_workspace_and_nothing_of_the_home() {
    let world = workspace();
    let _ = world.cto(["key", "init"]).expect(0);
    let key = world.home().join("keys/harness.pem");
    let ran = program("bash", &world.here()).args(["-c", &reads(&key)]).status().unwrap();
    assert!(ran.success(), "control: the script reads the key where nothing keeps it from that");
    assert_eq!(result_of(&world, &reads(Path::new("WORKBOARD.yaml"))), passed(0), "control: the workspace");
    for place in [&key, &world.home().join("ledger.db"), &world.path().join("user")] {
        assert_eq!(result_of(&world, &reads(place)), passed(9), "{}", place.display());
    }
    assert_eq!(result_of(&world, &format!("ls '{}' || exit 9", world.home().display())), passed(9));
    assert_eq!(result_of(&world, "test -z \"$CTO_HOME\" || exit 9"), passed(0), "its place is not told either");
}

#[test]
fn a_validator_reaches_no_network() {
    let world = workspace();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!("exec 3<> /dev/tcp/127.0.0.1/{port} || exit 9\n");
    let ran = program("bash", &world.here()).args(["-c", &script]).status().unwrap();
    assert!(
        ran.success() && listener.accept().is_ok(),
        "control: the script connects where nothing keeps it from that"
    );
    assert_eq!(result_of(&world, &script), passed(9));
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody connected");
}

#[test]
fn a_validator_ends_at_its_limit() {
    let Some(binary) = stoppable("a_validator_ends_at_its_limit") else { return };
    let world = workspace();
    let validate = || {
        let mut command = world.program(binary.to_str().unwrap());
        let words = ["validate", "workspace", "--json"];
        Ran::of(command.args(words).env("CTO_DEFECT", "validators_hurried").output().unwrap())
    };
    validate_by(&world, "exit 0\n");
    assert_eq!(validate().expect(0).json()["validators"], json!([passed(0)]), "control: one that ends by itself");
    validate_by(&world, "trap '' TERM\nsleep 600\n");
    let report = validate().expect(1).json();
    assert_eq!(report["validators"], json!([{"name": "own", "passed": false, "exit": null}]));
    assert_eq!(report["errors"][0]["rule"], "validator_failed");
}
