//! `cto environment suggest` on repositories of many kinds: what it drafts, what it says, and what it does not fall
//! for.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Ran, World};

use super::write_case;

const PACKAGE: &str = r#"{"name": "p", "dependencies": {"a": "1.0.0"}}"#;
const CARGO_LOCK: &str = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n";

/// A folder with these files, beside the world's others.
fn lay(world: &World, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = world.path().join(name);
    fs::create_dir_all(&root).unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn call(world: &World, dir: &Path, path: &[PathBuf], json: bool) -> Ran {
    let mut command = world.command(["environment", "suggest"]);
    command.arg(dir).args(json.then_some("--json"));
    if !path.is_empty() {
        command.env("PATH", std::env::join_paths(path).unwrap());
    }
    World::finish(command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap())
}

/// The draft for these files; it must stand in a contract as it is printed.
fn draft(world: &World, name: &str, files: &[(&str, &str)]) -> Value {
    let root = lay(world, name, files);
    accepted(world, name, &call(world, &root, &[], false).expect(0).text());
    call(world, &root, &[], true).expect(0).json()
}

fn accepted(world: &World, name: &str, yaml: &str) {
    let keys = [("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([["true"]]))];
    let case = write_case(world, &format!("case-{name}"), &keys, &json!([]), yaml);
    let decided = world.cto(["decide".as_ref(), case.as_os_str()]);
    assert_ne!(decided.code, 2, "{yaml}\n{}", decided.stderr);
}

fn all_text(draft: &Value) -> String {
    draft.to_string()
}

#[test]
fn a_draft_says_why_for_every_part() {
    let world = crate::world();
    fs::create_dir_all(world.user().join(".cargo/registry/src/index/a-1.0.0")).unwrap();
    let root =
        lay(&world, "repo", &[("Cargo.toml", "[package]"), ("Cargo.lock", CARGO_LOCK), (".gitignore", "target\n")]);
    let text = call(&world, &root, &[], false).expect(0).text();
    let text = text.replace(fs::canonicalize(world.path()).unwrap().to_str().unwrap(), "");
    insta::assert_snapshot!(text, @r#"
    # Drafted by cto environment suggest. Paste it into a contract; read it first.
    # Rust: Cargo.toml, Cargo.lock
    environment:
      mounts:
        # what cargo downloaded before, and nothing else of its home: credentials stay out
        - source: /user/.cargo/registry
          target: /opt/cargo/registry
      variables:
        # where cargo looks for its registry
        CARGO_HOME: /opt/cargo
        # a sandbox has no network, so that cargo need not try
        CARGO_NET_OFFLINE: "true"
      setup:
        # compiles the dependencies once for all that follows; the baseline has to compile, else use cargo
        # fetch here
        - argv: [cargo, test, --no-run, --locked]
          timeout_seconds: 900
      # Without setup_inputs setup sees the whole repository, has no network, and runs again on every
      # patched tree, over what it made of the baseline
    "#);
}

#[test]
fn several_ecosystems_share_a_draft() {
    let test = "environment::several_ecosystems_share_a_draft";
    if testkit::node(test).is_none() {
        return;
    }
    let world = crate::world();
    for folder in [".npm/_cacache", ".cache/wheels", ".cargo/registry", "go/pkg/mod"] {
        fs::create_dir_all(world.user().join(folder)).unwrap();
    }
    fs::write(world.user().join(".cache/wheels/a-1-py3-none-any.whl"), "").unwrap();
    let found = draft(
        &world,
        "several",
        &[
            ("package.json", PACKAGE),
            ("package-lock.json", "{}"),
            ("engine/Cargo.toml", ""),
            ("engine/Cargo.lock", CARGO_LOCK),
            ("services/api/requirements.txt", "a==1\n"),
            ("services/rates/go.mod", "module m\n\nrequire a v1.0.0\n"),
            ("node_modules/x/package.json", PACKAGE),
            ("node_modules/x/package-lock.json", "{}"),
            ("a/b/c/Cargo.lock", CARGO_LOCK),
            ("no-lock/package.json", PACKAGE),
        ],
    );
    let expected = [
        "Node: package.json, package-lock.json",
        "Rust: engine/Cargo.toml, engine/Cargo.lock",
        "Python: services/api/requirements.txt",
        "Go: services/rates/go.mod",
    ];
    assert_eq!(found["found"], json!(expected));
    let environment = &found["environment"];
    let ways: Vec<(&Value, &str)> = environment["setup"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| (&command["cwd"], command["argv"][0].as_str().unwrap()))
        .collect();
    let names: Vec<&str> = ways.iter().map(|(_, name)| name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["npm", "cargo", "python3", names[3], "go", "chmod"], "{environment:#}");
    let places: Vec<&Value> = ways.iter().map(|(cwd, _)| *cwd).collect();
    assert_eq!(json!(places), json!([null, "engine", "services/api", "services/api", "services/rates", null]));
    assert_eq!(environment["setup_inputs"], json!([]), "Rust and Go compile what is the repository's own");
    assert_eq!(environment["setup_network"], json!([]), "the network is only ever a comment");
    assert!(environment["path"].as_array().unwrap().contains(&json!("services/api/.venv/bin")));
    let targets: Vec<&Value> = environment["mounts"].as_array().unwrap().iter().map(|mount| &mount["target"]).collect();
    for target in ["/opt/npm/_cacache", "/opt/cargo/registry", "/opt/wheels", "/opt/go-modules"] {
        assert!(targets.contains(&&json!(target)), "{target} in {targets:?}");
    }
}

/// Hints where something is missing, odd, or better known beforehand.
#[test]
fn notes_say_what_is_missing() {
    let test = "environment::notes_say_what_is_missing";
    if testkit::node(test).is_none() {
        return;
    }
    let world = crate::world();
    fs::create_dir_all(world.user().join(".cargo/registry")).unwrap();
    let scripted = r#"{"packages": {"node_modules/a": {"hasInstallScript": true}}}"#;
    for (index, (files, said)) in [
        (&[("package.json", PACKAGE), ("package-lock.json", "{}")][..], "npm has no cache in ~/.npm"),
        (&[("package.json", PACKAGE), ("package-lock.json", "{}")], "node_modules is not in .gitignore"),
        (
            &[("package.json", PACKAGE), ("package-lock.json", scripted)],
            "install scripts, which --ignore-scripts leaves out: a",
        ),
        (
            &[("package.json", PACKAGE), ("package-lock.json", "{}"), (".gitignore", "/package-lock.json\n")],
            "there is no lock file that git keeps",
        ),
        (&[("package.json", PACKAGE), ("yarn.lock", ""), (".yarnrc.yml", "")], "Yarn 2 or newer"),
        (&[("requirements.txt", "a\n")], "pip download --dest ~/.cache/wheels -r requirements.txt"),
        (&[("pyproject.toml", "[project]\ndependencies = ['a']\n"), ("uv.lock", "")], "with uv.lock exported to FILE"),
        (&[("Cargo.toml", ""), ("Cargo.lock", CARGO_LOCK)], "a-1.0.0 among them: run cargo fetch --locked first"),
        (
            &[("Cargo.toml", ""), ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.2.3-none\"\n")],
            "rustup toolchain install 1.2.3-none",
        ),
        (&[("go.mod", "module m\n\nrequire a v1.0.0\n")], "go has no modules in ~/go/pkg/mod"),
    ]
    .into_iter()
    .enumerate()
    {
        let found = draft(&world, &format!("repo-{index}"), files);
        let notes = found["notes"].as_array().unwrap();
        assert!(notes.iter().any(|note| note.as_str().unwrap().contains(said)), "{said:?} in {notes:#?}");
    }
}

/// A repository without needs gets no environment.
#[test]
fn a_project_without_dependencies_needs_no_setup() {
    let test = "environment::a_project_without_dependencies_needs_no_setup";
    if testkit::node(test).is_none() {
        return;
    }
    let world = crate::world();
    let own = "[[package]]\nname = \"own\"\nversion = \"1.0.0\"\n";
    let files = [("package.json", "{}"), ("requirements.txt", "# none\n"), ("Cargo.toml", ""), ("Cargo.lock", own)];
    let found = draft(&world, "repo", &files);
    assert_eq!(found["environment"]["setup"], json!([]), "{found:#}");
    assert_eq!(found["found"].as_array().unwrap().len(), 3);
}

/// A program that says nothing; only where it lies matters.
fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Go by many ways of installing it; nothing of it is run.
#[test]
fn a_toolchain_that_a_sandbox_does_not_show_is_mounted() {
    let system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    // Then the draft need not name one that is not available.
    let system_has_one = system.iter().any(|dir| Path::new(dir).join("go").exists());
    let world = crate::world();
    let user = fs::canonicalize(world.user()).unwrap();
    for prefix in
        ["sdk/go1.2", "goenv/versions/1.9.0", "goenv/versions/1.10.0", "asdf/installs/golang/1.5", ".local", "bare"]
    {
        program(&user.join(prefix).join("bin/go"));
    }
    for prefix in
        ["sdk/go1.2", "goenv/versions/1.9.0", "goenv/versions/1.10.0", "asdf/installs/golang/1.5", ".local", "."]
    {
        fs::create_dir_all(user.join(prefix).join("pkg/tool")).unwrap();
    }
    for (link, to) in [
        ("linked/bin/go", "../../sdk/go1.2/bin/go"),
        ("snap/bin/go", "../../sdk/go1.2/bin/snapper"),
        ("bin/go", "../sdk/go1.2/bin/snapper"),
    ] {
        fs::create_dir_all(user.join(link).parent().unwrap()).unwrap();
        symlink(to, user.join(link)).unwrap();
    }
    program(&user.join("sdk/go1.2/bin/snapper"));
    program(&user.join("home-bin/go"));
    for shims in ["goenv/shims/go", "asdf/shims/go"] {
        program(&user.join(shims));
    }
    let root = lay(&world, "repo", &[("go.mod", "module m\n")]);
    let mounted = |dir: &str| -> Option<String> {
        let found = call(&world, &root, &[user.join(dir)], true).expect(0).json();
        accepted(&world, "toolchain", &call(&world, &root, &[user.join(dir)], false).expect(0).text());
        let mount = &found["environment"]["mounts"][0];
        if mount.is_null() {
            assert!(system_has_one || all_text(&found["notes"]).contains("go is "), "{found:#}");
            assert_eq!(found["environment"]["path"], json!([]));
            return None;
        }
        assert_eq!(mount["target"], "/opt/go", "its own place is a private one inside: {found:#}");
        assert_eq!(found["environment"]["path"], json!(["/opt/go/bin"]));
        Some(Path::new(mount["source"].as_str().unwrap()).strip_prefix(&user).unwrap().display().to_string())
    };
    for (dir, expected) in [
        ("sdk/go1.2/bin", Some("sdk/go1.2")),
        ("linked/bin", Some("sdk/go1.2")),
        ("goenv/shims", Some("goenv/versions/1.10.0")),
        ("asdf/shims", Some("asdf/installs/golang/1.5")),
        (".local/bin", None),
        ("bare/bin", None),
        ("snap/bin", None),
        ("bin", None),
        ("home-bin", None),
        ("nowhere", None),
    ] {
        assert_eq!(mounted(dir).as_deref(), expected, "{dir}");
    }
    fs::write(user.join("goenv/version"), "1.9.0\n").unwrap();
    assert_eq!(mounted("goenv/shims").as_deref(), Some("goenv/versions/1.9.0"), "the chosen one");
}

#[test]
fn what_is_not_there_is_said_in_a_sentence() {
    let world = crate::world();
    let empty = lay(&world, "empty", &[("README.md", "x")]);
    let ran = call(&world, &empty, &[], false).expect(3);
    assert_eq!(ran.text(), "");
    assert!(ran.stderr.contains("nothing in ") && ran.stderr.contains("looked for: package.json"), "{}", ran.stderr);
    assert_eq!(call(&world, &empty, &[], true).expect(3).json()["status"], "blocked");
    for missing in [world.path().join("nope"), empty.join("README.md")] {
        let ran = call(&world, &missing, &[], false).expect(2);
        assert!(ran.stderr.starts_with("error: cannot look at "), "{}", ran.stderr);
    }
}

#[test]
fn a_hostile_repository_gets_nothing_out_of_it() {
    let world = crate::world();
    let secret = "hunter2-secret";
    lay(&world, "outside", &[("package.json", PACKAGE), ("requirements.txt", secret), ("Cargo.lock", CARGO_LOCK)]);
    let url = format!("https://user:{secret}@npm.example/a.tgz?{secret}");
    let lock = json!({"packages": {"node_modules/a": {"resolved": url, "integrity": "x"}}}).to_string();
    let odd = "requirements\n    - argv: [rm].txt";
    let root = lay(
        &world,
        "hostile",
        &[
            ("package.json", PACKAGE),
            ("package-lock.json", &lock),
            (".npmrc", &format!("//registry.npmjs.org/:_authToken={secret}\n")),
            ("pip.conf", secret),
            (odd, "a\n"),
            ("requirements-\u{1b}[31m.txt", "a\n"),
            ("Cargo.lock", "[[package]]\nname = \"../../../etc\"\nversion = \"1\"\nsource = \"registry+x\"\n"),
            ("rust-toolchain", "x\u{1b}]0;title\u{7}"),
        ],
    );
    for (link, to) in [
        ("requirements.txt", "../outside/requirements.txt"),
        ("go.mod", "/etc/hostname"),
        ("linked", "../outside"),
        ("loop", "loop"),
    ] {
        symlink(to, root.join(link)).unwrap();
    }
    let pipe = CString::new(root.join("Cargo.toml").to_str().unwrap()).unwrap();
    testkit::program("mkfifo", &root).arg(pipe.to_str().unwrap()).status().unwrap();
    let large = fs::File::create(root.join("requirements-large.txt")).unwrap();
    large.set_len(1 << 40).unwrap();
    for index in 0..3000 {
        fs::create_dir_all(root.join(format!("many/{index}"))).unwrap();
        fs::write(root.join(format!("many/{index}/Cargo.lock")), "").unwrap();
    }
    let began = Instant::now();
    let ran = call(&world, &root, &[], false).expect(0);
    let text = ran.text();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!text.contains(secret) && !ran.stderr.contains(secret), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains("outside") && !text.contains("hostname"), "{text}");
    assert!(!text.contains("Rust:") && !text.contains("Go:"), "a pipe is no manifest, a link is none: {text}");
    accepted(&world, "hostile", &text);
    let found = call(&world, &root, &[], true).expect(0).json();
    assert!(!all_text(&found).contains(secret));
    let argvs = found["environment"]["setup"].as_array().unwrap();
    assert!(argvs.iter().all(|command| command["argv"][0] != "rm"), "{argvs:?}");
    assert!(argvs.iter().any(|command| command["argv"].as_array().unwrap().contains(&json!(odd))), "{argvs:?}");
}
