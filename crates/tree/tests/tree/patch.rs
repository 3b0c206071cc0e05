//! A captured tree, its patch and the tree the patch makes are the same, whatever is in them.

use std::fs;

use proptest::prelude::*;
use tree::{Listing, PathMode, changes, materialise};

use crate::support::{Node, Nodes, World, at, files, git, git_with, oid, read_back, write_node};

const NAMES: &[&str] = &[
    "a",
    "b",
    "a b",
    "a-b",
    "a.b",
    "ab",
    "new\nline",
    "tab\there",
    "quo\"te",
    "back\\slash",
    "-dash",
    " lead",
    "trail ",
    "x b",
    "\u{e9}",
    "e\u{301}",
    "b/",
    "sub",
    "x.x",
    "y.bin",
    "CR\r",
    "dev",
    "null",
    ".gitattributes",
    ".gitignore",
    "0",
    "~",
    "#",
];

const ATTRIBUTES: &[&str] = &[
    "* text=auto eol=crlf\n",
    "* -diff\n",
    "*.x filter=evil ident\n",
    "*.bin binary\n",
    "* working-tree-encoding=UTF-16\n",
    "* diff=evil\n",
];

fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"\n".to_vec()),
        Just(b"$Id$\r\nline\r\n".to_vec()),
        Just(b"no final newline".to_vec()),
        Just(b"-- a/x\n++ b/x\n@@ -1 +1 @@\nindex 0000000000000000000000000000000000000000\n".to_vec()),
        (0u8..4).prop_map(|n| [vec![b'w'; 200_000], vec![n + b'0', b'\n']].concat()),
        prop::collection::vec("[a-d ]{0,3}(\r)?\n", 0..40).prop_map(|lines| lines.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..300),
        prop::sample::select(ATTRIBUTES).prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![
        5 => contents().prop_map(Node::File),
        1 => contents().prop_map(Node::Executable),
        1 => "[a-z./]{1,12}".prop_map(|target| Node::Link(target.into_bytes())),
    ]
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    let names = prop_oneof![4 => prop::collection::vec(prop::sample::select(NAMES), 1..4), 1 => prop::collection::vec(prop::sample::select(NAMES), 12..20)];
    names.prop_map(|names| {
        names.iter().map(|name| name.trim_end_matches('/')).collect::<Vec<_>>().join("/").into_bytes()
    })
}

/// Keeps what does not make a path both a file and a directory.
fn consistent(rows: Vec<(Vec<u8>, Node)>) -> Nodes {
    let mut nodes = Nodes::new();
    for (path, node) in rows {
        let below = [path.as_slice(), b"/"].concat();
        let clash =
            nodes.keys().any(|other| other.starts_with(&below) || path.starts_with(&[other.as_slice(), b"/"].concat()));
        if !clash {
            nodes.insert(path, node);
        }
    }
    nodes
}

/// A tree and another that keeps some of it, changes some, drops some and swaps files for directories.
fn pair() -> impl Strategy<Value = (Nodes, Nodes)> {
    let before = prop::collection::vec((path(), node()), 0..14);
    (before, prop::collection::vec((path(), node()), 0..10), any::<u64>()).prop_map(|(before, mut after, dice)| {
        let before = consistent(before);
        for (n, (path, node)) in before.iter().enumerate() {
            match (dice >> (n % 21 * 3)) & 7 {
                0 => {}
                1 => after.push(([path.as_slice(), b"/swapped"].concat(), node.clone())),
                2 => after.push((path.clone(), Node::Executable(b"changed\n".to_vec()))),
                _ => after.push((path.clone(), node.clone())),
            }
        }
        (before, consistent(after))
    })
}

/// Makes one tree of another in a directory, touching only what differs.
fn rewrite(root: &std::path::Path, before: &Nodes, after: &Nodes) {
    for path in before.iter().filter(|(path, node)| after.get(*path) != Some(node)).map(|(path, _)| path) {
        fs::remove_file(at(root, path)).unwrap();
    }
    for (path, node) in after.iter().filter(|(path, node)| before.get(*path) != Some(node)) {
        let to = at(root, path);
        if to.is_dir() && !to.is_symlink() {
            fs::remove_dir_all(&to).unwrap();
        }
        write_node(root, path, node);
    }
}

fn id_by_git(world: &World, listing: &Listing) -> String {
    world.store.flush().unwrap();
    let index = world.path("index-by-git");
    let _ = fs::remove_file(&index);
    let rows = listing.0.iter().flat_map(|(path, entry)| {
        let mode = match entry.mode {
            PathMode::File => "100644",
            PathMode::Executable => "100755",
            PathMode::Link => "120000",
            PathMode::Gitlink => "160000",
        };
        [format!("{mode} {}\t", entry.oid).into_bytes(), path.clone(), vec![0]].concat()
    });
    let rows: Vec<u8> = rows.collect();
    let script = format!(
        "export GIT_DIR='{}' GIT_INDEX_FILE='{}'; git update-index -z --index-info && git write-tree",
        world.store.dir().display(),
        index.display()
    );
    git_with(world.store.dir(), &["-c", &format!("alias.x=!{script}"), "x"], &rows)
}

fn check(before: &Nodes, after: &Nodes) {
    let world = World::new();
    let base = world.put(before);
    let (root, manifest) = world.workspace("work", &base);
    assert_eq!(&read_back(&root), before, "materialised");
    rewrite(&root, before, after);
    let capture = world.capture(&root, &manifest);
    let expected = world.put(after);
    assert_eq!(capture.listing, expected, "captured");
    let (from, to) = (world.store.put_listing(&base).unwrap(), world.store.put_listing(&capture.listing).unwrap());
    assert_eq!(to, capture.listing.tree_id());
    assert_eq!(to.to_string(), id_by_git(&world, &capture.listing), "git's own tree id");
    assert_eq!(world.store.list_tree(to).unwrap(), capture.listing);
    let patch = world.store.patch(from, to).unwrap();
    assert_eq!(patch.is_empty(), changes(&base, &capture.listing).is_empty());
    assert_eq!(world.store.reapply(&base, &patch).unwrap(), to, "reapplied\n{}", String::from_utf8_lossy(&patch));
    let proof = world.store.prove_patch(&base, &capture.listing, usize::MAX).unwrap().unwrap();
    assert_eq!(proof.applied.unwrap(), to, "proved");
    assert_eq!(proof.patch.is_empty(), patch.is_empty());
    assert_eq!(world.store.reapply(&base, &proof.patch).unwrap(), to, "{}", String::from_utf8_lossy(&proof.patch));
    let again = world.fresh("again");
    materialise(&world.store, &capture.listing, &again).unwrap();
    assert_eq!(&read_back(&again), after, "materialised again");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn trees_survive_capture_and_patch((before, after) in pair()) {
        check(&before, &after);
    }
}

/// A text and another that has some of its lines, in that order, and others between.
fn edited() -> impl Strategy<Value = (String, String)> {
    let line = || prop_oneof![3 => "[a-c]{1,2}", 1 => "[ \\t]{0,6}(fn )?[a-z\u{e9}]{1,3}", 1 => Just(String::new())];
    prop::collection::vec((line(), 0u8..12, line()), 1..120).prop_map(|lines| {
        let (mut before, mut after) = (String::from("_\n"), String::from("_\n"));
        for (text, what, other) in lines {
            before += &format!("{text}\n");
            match what {
                0 => {}
                1 => after += &format!("{text}\n{other}\n"),
                2 => after += &format!("{other}\n"),
                _ => after += &format!("{text}\n"),
            }
        }
        (before, after)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]
    /// Made here and accepted by git, which gets nothing but the patch.
    #[test]
    fn changed_lines_survive_a_patch_that_git_did_not_make((before, after) in edited(), (more, less) in edited()) {
        let world = World::new();
        let base = world.put(&files(&[("src/a.rs", &before), ("b", &more), ("c", "c\n")]));
        let result = world.put(&files(&[("src/a.rs", &after), ("b", &less), ("c", "c\n")]));
        let proof = world.store.prove_patch(&base, &result, usize::MAX).unwrap().unwrap();
        prop_assert_eq!(proof.applied.unwrap(), result.tree_id());
        // No child can have seen the objects: they are in memory.
        let packs = fs::read_dir(world.store.dir().join("objects/pack")).unwrap().count();
        prop_assert!(packs == 0 || proof.patch.is_empty());
        world.store.put_listing(&base).unwrap();
        let by_git = world.store.reapply(&base, &proof.patch).unwrap();
        prop_assert_eq!(by_git, result.tree_id(), "{}", String::from_utf8_lossy(&proof.patch));
    }
}

/// The shown patch is the one that git would have shown.
#[test]
fn a_patch_of_lines_reads_as_gits() {
    let before = "fn one() {\n    a\n    b\n    c\n    d\n    e\n    f\n    g\n    h\n}\n\nfn two() {\n    x\n}\n";
    let after = before.replace("    b\n", "    B\n").replace("    x\n", "    x\n    y\n");
    let world = World::new();
    let (base, result) = (world.put(&files(&[("a.rs", before)])), world.put(&files(&[("a.rs", &after)])));
    let proof = world.store.prove_patch(&base, &result, usize::MAX).unwrap().unwrap();
    let (from, to) = (world.store.put_listing(&base).unwrap(), world.store.put_listing(&result).unwrap());
    let by_git = world.store.patch(from, to).unwrap();
    assert_eq!(String::from_utf8(proof.patch).unwrap(), String::from_utf8(by_git).unwrap());
}

#[test]
fn odd_pairs() {
    let link = |target: &str| Node::Link(target.as_bytes().to_vec());
    let file = |text: &str| Node::File(text.as_bytes().to_vec());
    type Rows<'a> = &'a [(&'a str, Node)];
    let rows: &[(Rows<'_>, Rows<'_>)] = &[
        (&[("a", file("x"))], &[("a/b", file("x"))]),
        (&[("a/b", file("x"))], &[("a", link("b"))]),
        (&[("a", link("b"))], &[("a", file("b"))]),
        (&[("a", link("d"))], &[("a/x", file("")), ("d/x", file(""))]),
        (&[("a", file("x\n"))], &[("a", Node::Executable(b"x\n".to_vec()))]),
        (&[], &[("a b/b a", file("")), ("a b/b a b/x", file(""))]),
        (&[("dev/null", file("1\n"))], &[("dev/null", file("2\n"))]),
        (&[("\u{e9}", file("1")), ("e\u{301}", file("2"))], &[("\u{e9}", file("2")), ("e\u{301}", file("1"))]),
        (&[("a", file("\0"))], &[("a", file("\0\0"))]),
        (&[("a", file("x\n"))], &[("a", file(""))]),
        (&[("a", file("x\ny\n"))], &[("a", file("\n"))]),
        (&[("a", file("\n"))], &[("a", file(""))]),
        (&[("a", file(""))], &[("a", file("\n"))]),
    ];
    for (before, after) in rows {
        let nodes =
            |rows: &[(&str, Node)]| rows.iter().map(|(p, n)| (p.as_bytes().to_vec(), n.clone())).collect::<Nodes>();
        check(&nodes(before), &nodes(after));
    }
}

#[test]
fn blob_ids_are_gits() {
    let world = World::new();
    for bytes in [&b""[..], b"x", b"a\r\nb\r\n", &[0, 255, 10], &vec![7; 100_000], &vec![8; 400_000]] {
        let ours = world.store.put_blob(bytes).unwrap();
        let theirs = git_with(world.store.dir(), &["hash-object", "--no-filters", "--stdin"], bytes);
        let reopened = tree::ObjectDatabase::open_store(world.store.dir(), world.store.git().clone()).unwrap();
        world.store.flush().unwrap();
        assert_eq!(reopened.blob(ours).unwrap(), bytes, "from the pack");
        assert_eq!(ours.to_string(), theirs);
        assert_eq!(world.store.blob(ours).unwrap(), bytes);
    }
}

#[test]
fn a_commit_is_one_git_accepts() {
    let world = World::new();
    let listing = world.put(&files(&[("a", "1\n"), ("d/b", "2\n")]));
    let commit = world.commit(&listing, &[]);
    assert_eq!(git_with(world.store.dir(), &["fsck", "--strict", "--no-dangling", &commit.to_string()], b""), "");
    assert_eq!(world.store.tree_of(commit).unwrap(), listing.tree_id());
    assert_eq!(world.store.list_tree(commit).unwrap(), listing);
}

/// Git takes a binary postimage it already has over the one in the patch; the store has it, and must not be asked.
#[test]
fn a_patch_is_not_believed_because_the_store_knows_the_result() {
    let world = World::new();
    let noise = |seed: u32| -> Vec<u8> {
        (0..500u32).flat_map(|n| (n + seed).wrapping_mul(2_654_435_761).to_le_bytes()).collect()
    };
    let base = world.put(&files(&[("kept", "k\n")]));
    let with = |seed| {
        let mut listing = base.clone();
        let oid = world.store.put_blob(&noise(seed)).unwrap();
        listing.0.insert(b"noise".to_vec(), tree::ListingEntry { mode: PathMode::File, oid });
        (world.store.put_listing(&listing).unwrap(), oid.to_string())
    };
    let from = world.store.put_listing(&base).unwrap();
    let ((to, oid), (other, other_oid)) = (with(1), with(9));
    let patch = String::from_utf8(world.store.patch(from, to).unwrap()).unwrap();
    assert_eq!(world.store.reapply(&base, patch.as_bytes()).unwrap(), to);
    assert!(world.store.reapply(&base, &patch.as_bytes()[..patch.len() / 2]).is_err());
    // The data of one file under the id of another.
    let forged = patch.replace(&oid, &other_oid);
    assert!(world.store.reapply(&base, forged.as_bytes()).is_err());
    assert_eq!(
        world.store.apply_into(&base, forged.as_bytes()).unwrap().tree_id(),
        other,
        "control: git believes the id"
    );
}

#[test]
fn an_applied_patch_leaves_its_blobs_in_the_store() {
    let (world, other) = (World::new(), World::new());
    let base = files(&[("a", "1\n")]);
    let after = files(&[("a", "2\n"), ("b", "3")]);
    let (from, to) = (other.put(&base), other.put(&after));
    let patch =
        other.store.patch(other.store.put_listing(&from).unwrap(), other.store.put_listing(&to).unwrap()).unwrap();
    let applied = world.store.apply_into(&world.put(&base), &patch).unwrap();
    assert_eq!(applied, to);
    let root = world.fresh("work");
    materialise(&world.store, &applied, &root).unwrap();
    assert_eq!(read_back(&root), after);
}

#[test]
fn hostile_patches_are_refused() {
    let world = World::new();
    let base = world.put(&files(&[("a", "1\n")]));
    for name in ["../out", "/abs", ".git/config", "d/.GIT/x"] {
        let patch = format!(
            "diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n"
        );
        assert!(world.store.reapply(&base, patch.as_bytes()).is_err(), "{name}");
    }
    assert!(world.store.reapply(&base, b"no patch at all\n").is_err());
    assert_eq!(world.store.reapply(&base, b"").unwrap(), base.tree_id());
}

#[test]
fn names_that_are_not_plain_are_not_written() {
    let world = World::new();
    let entry = tree::ListingEntry { mode: PathMode::File, oid: world.store.put_blob(b"x").unwrap() };
    for name in ["..", "a/../../b", "/abs", ".git/hooks/x", "a/.gIt", "git~1/x", "a//b", ""] {
        let listing = Listing([(name.as_bytes().to_vec(), entry)].into());
        let root = world.path("dest");
        let _ = fs::create_dir(&root);
        assert!(materialise(&world.store, &listing, &root).is_err(), "{name:?}");
        assert!(world.store.put_listing(&listing).is_err(), "{name:?}");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    }
    let through = [(b"l".to_vec(), tree::ListingEntry { mode: PathMode::Link, ..entry }), (b"l/x".to_vec(), entry)];
    assert!(materialise(&world.store, &Listing(through.into()), &world.fresh("through")).is_err());
}

#[test]
fn trees_with_hostile_names_are_not_listed() {
    let world = World::new();
    let blob = world.store.put_blob(b"x").unwrap();
    world.store.flush().unwrap();
    for name in [".git", "..", ".GIT"] {
        let tree = git_with(world.store.dir(), &["mktree"], format!("100644 blob {blob}\t{name}\n").as_bytes());
        assert!(world.store.list_tree(oid(&tree)).is_err(), "{name}");
    }
}

/// Content on which looking for the fewest changed lines takes long is written in blocks, and git makes the same tree of it.
#[test]
fn heavy_content_is_patched_in_linear_time() {
    // A little generator: two letters, a line each, in no order; and bytes in none.
    fn bytes(seed: u64) -> impl Iterator<Item = u8> {
        let step = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(seed), step).map(|state| (state >> 56) as u8)
    }
    let letters = |seed: u64, lines: usize| -> Vec<u8> {
        bytes(seed).take(lines).flat_map(|byte| if byte < 128 { *b"a\n" } else { *b"b\n" }).collect()
    };
    let noise = |seed: u64, length: usize| -> Vec<u8> { [0].into_iter().chain(bytes(seed)).take(length).collect() };
    let with = |head: &str, body: Vec<u8>, tail: &str| [head.as_bytes(), &body, tail.as_bytes()].concat();
    type Rows = Vec<(&'static str, Node)>;
    let (heavy, light) = (300_000, 10);
    let rows: Vec<(Rows, Rows)> = vec![
        (
            vec![("a b", Node::File(with("x\ny\n", letters(1, heavy), "end"))), ("l", Node::File(letters(1, light)))],
            vec![("a b", Node::File(with("x\ny\n", letters(2, heavy), "end"))), ("l", Node::File(letters(2, light)))],
        ),
        (
            vec![("\u{e9}\"\\", Node::File(letters(1, heavy)))],
            vec![("\u{e9}\"\\", Node::Executable(letters(2, 2 * heavy)))],
        ),
        (vec![], vec![("new", Node::File(with("", letters(3, 2 * heavy), "no newline")))]),
        (vec![("gone", Node::Executable(letters(3, 2 * heavy)))], vec![]),
        (vec![("l", Node::Link(b"to".to_vec()))], vec![("l", Node::File(letters(3, 2 * heavy)))]),
        (vec![("d", Node::File(letters(3, 2 * heavy)))], vec![("d/e", Node::File(letters(4, 2 * heavy)))]),
        (vec![("m", Node::File(letters(3, 2 * heavy)))], vec![("m", Node::Executable(letters(3, 2 * heavy)))]),
        (vec![("bin", Node::File(noise(1, 1_500_000)))], vec![("bin", Node::File(noise(2, 1_500_001)))]),
        (vec![], vec![("bin", Node::Executable(noise(2, 2_200_000)))]),
    ];
    for (before, after) in rows {
        let nodes = |rows: &Rows| rows.iter().map(|(p, n)| (p.as_bytes().to_vec(), n.clone())).collect::<Nodes>();
        let world = World::new();
        let (base, result) = (world.put(&nodes(&before)), world.put(&nodes(&after)));
        let name = before.iter().chain(&after).next().unwrap().0;
        let proof = world.store.prove_patch(&base, &result, usize::MAX).unwrap().unwrap();
        assert_eq!(proof.applied.unwrap(), result.tree_id(), "{name}");
        assert!(
            world.store.prove_patch(&base, &result, proof.patch.len() - 1).unwrap().is_none(),
            "{name}: a byte too long"
        );
        // And by a git without any configuration.
        let root = world.fresh("plain");
        tree::materialise(&world.store, &base, &root).unwrap();
        git(&root, &["init", "-q"]);
        git(&root, &["add", "-A"]);
        git_with(&root, &["apply", "--index", "--whitespace=nowarn"], &proof.patch);
        assert_eq!(git(&root, &["write-tree"]), result.tree_id().to_string(), "{name}");
    }
}
