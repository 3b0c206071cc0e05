use std::cell::RefCell;

use super::*;

fn run(suffix: &str) -> RunId {
    RunId::try_from(format!("20260301T100000Z-task-{suffix}")).unwrap()
}

/// A home with a folder and a file in it at each of these places.
fn home_with(places: &[PathBuf]) {
    for place in places {
        fs::create_dir_all(place).unwrap();
        own_files::write_file(place.join("file"), place.as_os_str().as_encoded_bytes()).unwrap();
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_home_without_bundles_has_none() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(&home.path().join("missing"));
    assert!(bundles.list_sealed().unwrap().is_empty() && bundles.list_retired().unwrap().is_empty());
    assert!(bundles.list_imported().unwrap().is_empty() && bundles.list_undone_imports().unwrap().is_empty());
    assert!(bundles.find_bundle(&run("aaaa")).is_none() && !bundles.has_bundle(&run("aaaa")));
}

#[test]
fn the_own_bundle_of_a_run_goes_before_an_imported_one() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    let both = run("both");
    home_with(&[bundles.bundle_dir(&both), bundles.imported_dir(&both), bundles.imported_dir(&run("came"))]);
    let found = |run: &RunId| bundles.find_bundle(run).map(|kept| (kept.dir, kept.origin));
    assert_eq!(found(&both), Some((bundles.bundle_dir(&both), BundleOrigin::Own)));
    assert_eq!(found(&run("came")), Some((bundles.imported_dir(&run("came")), BundleOrigin::Imported)));
    assert_eq!(bundles.find_imported(&both).unwrap().dir, bundles.imported_dir(&both));
}

#[test]
fn a_bundle_that_was_found_cannot_be_seized() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    home_with(&[bundles.bundle_dir(&run("aaaa"))]);
    let is_free = || own_files::open_folder(bundles.bundle_dir(&run("aaaa"))).unwrap().try_lock().is_ok();
    let kept = bundles.find_bundle(&run("aaaa")).unwrap();
    assert!(!is_free());
    drop(kept);
    assert!(is_free());
}

#[test]
fn publishing_and_retiring_are_one_rename_each() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    let (draft, one) = (home.path().join("active/one"), run("aaaa"));
    home_with(&[draft.clone(), home.path().join(BUNDLES_FOLDER)]);
    let passed = RefCell::new(Vec::new());
    let pass = |place| passed.borrow_mut().push((place, draft.own_exists(), bundles.has_bundle(&one)));
    let placed = bundles.publish(&draft, &one, &pass).unwrap();
    assert_eq!(placed, home.path().join(Bundles::bundle_name(&one)));
    assert_eq!(*passed.borrow(), [("seal.renamed", false, true)]);
    assert_eq!(bundles.publish(&draft, &one, &pass).unwrap_err().path, placed, "there is nothing to move");
    let left = bundles.retire_bundle(&one).unwrap();
    assert!(!bundles.has_bundle(&one) && left.join("file").own_exists());
    assert_eq!(bundles.list_retired().unwrap(), [left]);
}

#[test]
fn an_import_takes_no_place_that_is_taken() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    let (first, second) = (bundles.undone_import_dir("1-x"), bundles.undone_import_dir("2-y"));
    home_with(&[first.join("bundle"), second.clone()]);
    own_files::write_file(first.join(IMPORT_SIGNER_FILE), "ssh-ed25519 AAAA").unwrap();
    assert_eq!(names(&bundles.list_undone_imports().unwrap()), [".part-1-x", ".part-2-y"]);
    assert!(bundles.list_imported().unwrap().is_empty(), "what is not done is no run");
    bundles.publish_import(&first, &run("came"), &|_| {}).unwrap();
    let refused = bundles.publish_import(&second, &run("came"), &|_| {}).unwrap_err();
    assert_eq!(refused.error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(bundles.list_imported().unwrap(), [run("came")]);
    assert_eq!(bundles.import_signer(&run("came")).as_deref(), Some("ssh-ed25519 AAAA"));
    assert_eq!(home.path().join(Bundles::imported_name(&run("came"))), bundles.imported_dir(&run("came")));
}

#[test]
fn late_evidence_is_the_bundle_and_the_draft() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    let draft = |run: &RunId| home.path().join("active").join(run.as_str());
    let (sealed, died) = (run("aaaa"), run("bbbb"));
    home_with(&[bundles.bundle_dir(&sealed), draft(&sealed), draft(&died)]);
    for one in [&sealed, &died] {
        bundles.keep_late(one, &draft(one)).unwrap();
        assert!(!bundles.has_bundle(one) && bundles.late_dir(one).join("file").own_exists(), "{one}");
    }
    assert!(bundles.late_dir(&sealed).with_file_name(format!("{sealed}.1")).own_exists(), "nothing is written over");
    assert!(!draft(&sealed).own_exists() && !draft(&died).own_exists());
}

#[test]
fn only_a_bundle_in_its_place_has_a_name() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    let one = run("aaaa");
    home_with(&[bundles.bundle_dir(&one).join("backend"), bundles.imported_dir(&one), home.path().join("other")]);
    std::os::unix::fs::symlink(bundles.bundle_dir(&one), home.path().join("link")).unwrap();
    let sealed = home.path().join(BUNDLES_FOLDER);
    let name = Some(one.to_string());
    for (path, expected) in [
        (bundles.bundle_dir(&one), name.clone()),
        (home.path().join("link"), name.clone()),
        (sealed.join("../harness-runs/.").join(one.as_str()), name),
        (bundles.bundle_dir(&one).join("backend"), None),
        (sealed, None),
        (bundles.imported_dir(&one), None),
        (home.path().join("missing"), None),
    ] {
        assert_eq!(bundles.name_at(&path), expected, "{}", path.display());
    }
}

#[test]
fn what_lies_among_the_bundles_is_listed_whatever_its_name() {
    let home = tempfile::tempdir().unwrap();
    let bundles = Bundles::in_home(home.path());
    home_with(&[bundles.bundle_dir(&run("bbbb")), bundles.bundle_dir(&run("aaaa"))]);
    own_files::write_file(home.path().join(BUNDLES_FOLDER).join("notes"), "").unwrap();
    let listed = bundles.list_sealed().unwrap();
    let names: Vec<&str> = listed.iter().map(|folder| folder.name.as_str()).collect();
    assert_eq!(names, [run("aaaa").as_str(), run("bbbb").as_str(), "notes"]);
    assert!(listed.iter().all(|folder| folder.dir.own_exists()));
}

#[test]
fn statements_have_a_folder_for_each_run() {
    let bundles = Bundles::in_home(Path::new("/home"));
    let one = run("aaaa");
    assert_eq!(bundles.statements_dir(&one).join("x"), Path::new("/home").join(Bundles::statement_name(&one, "x")));
    assert_eq!(bundles.imported_statements_dir(&one), bundles.imported_dir(&one).with_file_name("statements"));
}
