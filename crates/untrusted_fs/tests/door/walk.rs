//! Walks over trees that are made to be walked badly.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use untrusted_fs::{Bounds, Cut, Met, Next, open_root, walk};

use crate::world::{World, dig};

/// Entries that a walk met, one line each.
fn met(root: &Path, bounds: &Bounds) -> (Vec<String>, Option<Cut>) {
    let mut lines = Vec::new();
    let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    let cut = walk::<Infallible>(open_root(root).unwrap(), bounds, |met| {
        lines.push(match met {
            Met::Entry(entry) => text(entry.path),
            Met::Left { path, .. } => format!("{}/", text(path)),
            Met::Shut { path, .. } => format!("{} shut", text(path)),
            Met::TooDeep { path } => format!("{} too deep", text(path)),
        });
        Ok(Next::Enter)
    });
    let Ok(cut) = cut;
    (lines, cut)
}

fn any() -> Bounds {
    Bounds::within(Duration::from_secs(60))
}

#[test]
fn everything_is_met_in_order_and_no_link_is_entered() {
    let world = World::new();
    let at = world.engine();
    fs::create_dir_all(at.join("b/c")).unwrap();
    fs::write(at.join("a"), "x").unwrap();
    fs::write(at.join("b/c/d"), "x").unwrap();
    symlink(world.host(), at.join("b/link")).unwrap();
    symlink("..", at.join("up")).unwrap();
    let (lines, cut) = met(&at, &any());
    assert_eq!(lines, ["a", "b", "b/c", "b/c/d", "b/c/", "b/link", "b/", "up", "/"]);
    assert_eq!(cut, None);
}

#[test]
fn each_bound_ends_a_walk() {
    let world = World::new();
    let at = world.engine();
    fs::create_dir_all(at.join("a/b/c")).unwrap();
    for (bounds, lines, cut) in [
        (Bounds { entries: 2, ..any() }, &["a", "a/b"][..], Some(Cut::Entries)),
        (Bounds { entries: 3, ..any() }, &["a", "a/b", "a/b/c", "a/b/c/", "a/b/", "a/", "/"], None),
        (Bounds { depth: 1, ..any() }, &["a", "a/b", "a/b too deep", "a/", "/"], None),
        (Bounds { depth: 0, ..any() }, &["a", "a too deep", "/"], None),
        (Bounds { until: Instant::now(), ..any() }, &[], Some(Cut::Time)),
    ] {
        assert_eq!(met(&at, &bounds), (lines.iter().map(ToString::to_string).collect(), cut), "{bounds:?}");
    }
}

#[test]
fn a_wide_tree_costs_no_more_than_its_bound() {
    let world = World::new();
    for number in 0..3000 {
        fs::write(world.engine().join(number.to_string()), "").unwrap();
    }
    let (lines, cut) = met(&world.engine(), &Bounds { entries: 1000, ..any() });
    assert_eq!((lines.len(), cut), (1000, Some(Cut::Entries)));
}

/// Names so long that no path can name what is below.
#[test]
fn a_tree_deeper_than_any_path_is_walked() {
    let world = World::new();
    let name = "n".repeat(255);
    drop(dig(&world.engine(), &name, 2000));
    let (lines, cut) = met(&world.engine(), &any());
    assert_eq!((lines.len(), cut), (4001, None));
    untrusted_fs::remove_tree(&world.engine()).unwrap();
    assert!(!world.engine().exists());
}

/// Somebody takes a directory away from under the walk: it ends, and never goes up into another place.
#[test]
fn a_walk_does_not_come_up_elsewhere() {
    let world = World::new();
    let at = world.engine();
    drop(dig(&at, "d", 100));
    let mut moved = false;
    let mut after = Vec::new();
    let cut = walk::<Infallible>(open_root(&at).unwrap(), &any(), |met| {
        match met {
            Met::Left { .. } if !moved => {
                fs::rename(at.join("d/d"), world.host().join("moved")).unwrap();
                moved = true;
            }
            Met::Entry(entry) if moved => after.push(entry.path.to_vec()),
            _ => {}
        }
        Ok(Next::Enter)
    });
    assert_eq!(cut, Ok(Some(Cut::Moved)));
    assert_eq!(after, Vec::<Vec<u8>>::new());
    untrusted_fs::remove_tree(&world.host().join("moved")).unwrap();
}
