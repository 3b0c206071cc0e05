//! The panel on disk beside files of others.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

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
