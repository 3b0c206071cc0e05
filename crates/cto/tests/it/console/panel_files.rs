//! The panel on disk beside files of others, and what its polling costs the server.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::json;

use super::Served;
use crate::world;

/// Whatever an installation finds is there again after the panel is gone, with its mode; what it made goes with it.
#[test]
fn a_manifest_stays_whose_it_is() {
    let world = world();
    for (number, (text, mode)) in [
        ("{\"extensions\":[]}\n", 0o640),
        ("{\"extensions\":[]}\n", 0o600),
        ("{ \"extensions\" : [\n  {\"id\":\"clock\"}\n] }\n", 0o664),
        ("{\"extensions\":[],\"more\":1}", 0o604),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = world.here().join(format!("ext-{number}/bundle"));
        fs::create_dir_all(&folder).unwrap();
        let manifest = folder.join("manifest.json");
        fs::write(&manifest, text).unwrap();
        fs::set_permissions(&manifest, fs::Permissions::from_mode(mode)).unwrap();
        let dir = format!("ext-{number}");
        let cto = |act: &str| world.cto(["hermes", act, "--dir", &dir, "--manifest", "bundle/manifest.json"]);
        let mode_now = || fs::metadata(&manifest).unwrap().mode() & 0o777;
        let _ = cto("install").expect(0);
        assert!(fs::read_to_string(&manifest).unwrap().contains("cto-panel") && mode_now() == mode, "{text}");
        let _ = cto("install").expect(0);
        let _ = cto("uninstall").expect(0);
        assert_eq!((fs::read_to_string(&manifest).unwrap().as_str(), mode_now()), (text, mode), "{number}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing of ours is left");
    }
    // The control: a manifest that the installation made goes with the panel, also after a second installation.
    fs::create_dir_all(world.here().join("bare")).unwrap();
    let cto = |act: &str| world.cto(["hermes", act, "--dir", "bare"]);
    let _ = cto("install").expect(0);
    let _ = cto("install").expect(0);
    assert!(world.here().join("bare/cto-panel/manifest.json").is_file());
    let _ = cto("uninstall").expect(0);
    assert_eq!(fs::read_dir(world.here().join("bare")).unwrap().count(), 0);
}

/// Bytes that a process has read so far.
fn read_bytes(served: &Served) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/io", served.pid())).unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().trim().parse().unwrap()
}

/// Each poll asks for the summary, which rests on bundles: they are read for the first one, and not for each.
#[test]
fn figures_verify_no_bundle_twice() {
    const SIZE: u64 = 2 << 20;
    let world = world();
    let talk = format!("head -c {SIZE} /dev/zero | tr '\\0' x | fold -w 200; printf 'two\\n' > a.txt");
    let fake = json!({"steps": [{"run": {"argv": ["sh", "-c", talk]}}]}).to_string();
    world.case("made", &[("fake", &fake), ("limits", "{output_bytes: 8000000}")]);
    let _ = world.run("./made", 0);
    for path in ["/metrics", "/api/cto/control-summary"] {
        let served = Served::start(&world, &["--read-only"]);
        let cookie = served.log_in();
        let read = || {
            let before = read_bytes(&served);
            assert_eq!(served.get(path, &cookie).status, 200);
            read_bytes(&served) - before
        };
        let (first, second) = (read(), read());
        assert!(first > SIZE, "the control: the bundle is read once: {first} bytes");
        assert!(second < SIZE / 2, "{path} read {second} bytes again, after {first}");
    }
}
