//! Caches and leftovers: old ones go, used ones and those in use stay.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{World, program};

use super::collect;
use crate::world;

/// Makes something look as if nobody had touched it for long.
fn age(path: &Path) {
    let touched = program("touch", Path::new("/")).args(["-h", "-d", "100 days ago"]).arg(path).status().unwrap();
    assert!(touched.success());
}

fn file(path: PathBuf) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "x").unwrap();
    path
}

fn of<'a>(document: &'a Value, what: &str) -> &'a Value {
    document["other"].as_array().unwrap().iter().find(|it| it["what"] == what).unwrap()
}

#[test]
fn old_caches_go_and_those_in_use_stay() {
    let world = world();
    let _ = world.run("fail-critical-risk", 3);
    let cache = world.home().join("cache");
    let mut gone = Vec::new();
    for name in ["baselines/old.json", "mounts/old.json", "baselines/dead.new-999999999"] {
        gone.push(file(cache.join(name)));
    }
    for (kind, stamp) in [("layers", "layer.json"), ("checkouts", "stamp")] {
        for name in ["old", "held", "fresh"] {
            file(cache.join(kind).join(name).join("upper/deep/a"));
            file(cache.join(kind).join(name).join(stamp));
        }
        age(&cache.join(kind).join("old").join(stamp));
        age(&cache.join(kind).join("held").join(stamp));
    }
    gone.iter().for_each(|path| age(path));
    let kept = [
        file(cache.join("baselines/fresh.json")),
        file(cache.join(format!("baselines/made.new-{}", std::process::id()))),
        cache.join("executables.json"),
    ];
    age(&kept[1]);
    age(&kept[2]);
    let part = cache.join(format!("layers/key.part-{}-abcd", std::process::id()));
    fs::create_dir(&part).unwrap();
    age(&part);
    let held = ["layers/held", "checkouts/held"].map(|name| File::open(cache.join(name)).unwrap());
    held.iter().for_each(|folder| folder.lock_shared().unwrap());

    let dry = collect(&world, &["gc", "--dry-run"]).0;
    assert!(gone.iter().all(|path| path.exists()) && cache.join("layers/old").exists(), "{dry}");
    let (document, _) = collect(&world, &["gc"]);
    assert_eq!(dry["other"], document["other"], "it was explained as it was done");
    let count = |what: &str| (of(&document, what)["removed"].clone(), of(&document, what)["kept"].clone());
    assert_eq!(count("cached baselines"), (json!(2), json!(2)));
    assert_eq!(count("cached mounts"), (json!(1), json!(0)));
    assert_eq!(count("cached layers"), (json!(1), json!(3)));
    assert_eq!(count("cached checkouts"), (json!(1), json!(2)));
    assert!(gone.iter().all(|path| !path.exists()) && !cache.join("layers/old").exists());
    for path in
        kept.iter().chain([&part, &cache.join("layers/held/upper/deep/a"), &cache.join("checkouts/fresh/stamp")])
    {
        assert!(path.exists(), "{}", path.display());
    }
    drop(held);
    assert_eq!(of(&collect(&world, &["gc"]).0, "cached layers")["removed"], 1, "now that nobody holds it");
}

/// The one baseline that a real run left; used again, it is as good as new.
#[test]
fn a_cache_that_is_used_stays() {
    let world = world();
    world.case("made", &[]);
    let _ = world.run("./made", 0);
    let folder = world.home().join("cache/baselines");
    let kept = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    assert_eq!(kept().len(), 1);
    age(&kept()[0]);
    assert_eq!(of(&collect(&world, &["gc", "--dry-run"]).0, "cached baselines")["removed"], 1, "control");
    let _ = world.run("./made", 0);
    assert_eq!(of(&collect(&world, &["gc"]).0, "cached baselines")["removed"], 0);
    assert_eq!(kept().len(), 1);
}

#[test]
fn what_the_dead_left_goes() {
    let world = world();
    world.case("made", &[]);
    let _ = world.cto(["run", "./made", "--keep-workspace"]).expect(0);
    let work = world.home().join("work");
    let kept_area = fs::read_dir(&work).unwrap().next().unwrap().unwrap().path();
    let alive = work.join("reverify-999999999-efgh");
    let dead = work.join("reverify-999999999-abcd");
    let imports = world.home().join("imported");
    let (undone, undone_alive) = (imports.join(".part-999999999-abcd"), imports.join(".part-1-efgh"));
    for folder in [&alive, &dead, &undone, &undone_alive] {
        fs::create_dir_all(folder).unwrap();
    }
    let [importing, working] = [&undone_alive, &alive].map(|folder| File::open(folder).unwrap());
    importing.lock_shared().unwrap();
    working.lock().unwrap();
    let stray = file(world.home().join("trash/stray/a"));
    let document = collect(&world, &["gc"]).0;
    assert!(kept_area.exists() && alive.exists(), "young ones stay: {document}");
    assert!(!dead.exists(), "nobody holds it, whatever its age: {document}");
    assert!(!stray.exists() && !undone.exists() && undone_alive.exists(), "{document}");
    [&kept_area, &alive].iter().for_each(|path| age(path));
    let document = collect(&world, &["gc"]).0;
    assert!(!kept_area.exists() && alive.exists(), "{document}");
    let _ = (importing, working);
}

/// A bundle that cannot be removed is named, and the others are removed.
#[test]
fn what_cannot_be_removed_is_told() {
    let world: World = world();
    let _ = world.run("fail-critical-risk", 3);
    let stuck = world.home().join("cache/mounts/stuck.json");
    fs::create_dir_all(stuck.join("a folder where a file should be")).unwrap();
    age(&stuck);
    let ran = world.cto(["gc"]).expect(1);
    assert!(ran.text().lines().any(|line| line.starts_with("failed ") && line.contains("stuck.json")), "{ran:?}");
}
