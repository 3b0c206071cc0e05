//! Runs by what a person calls them.

use std::fs;

use evidence::verify::VerifyBundleError;
use ledger::BundleOrigin;
use views::{FindRunError, RunView, ViewRunError};

use crate::world::{World, at, golden_report, now, owner, run};

#[test]
fn a_run_is_found_by_every_name_it_has() {
    let world = World::new();
    let sealed = world.seal("pass");
    let views = world.views();
    for name in [sealed.as_str(), "20261116T063819Z-shell", "ehaf", "eh", "@"] {
        let found = views.find_run(name, now()).unwrap();
        assert_eq!((found.id.as_str(), found.bundle), (sealed.as_str(), world.bundles.bundle_dir(&sealed)), "{name}");
    }
    for name in ["", "@-1", "@1", "ehaf1", "@-x"] {
        assert_eq!(views.find_run(name, now()).unwrap_err().to_string(), format!("no run matches `{name}`"));
    }
    let other = world.seal("fail");
    assert_eq!(views.find_run("@", now()).unwrap().id, other.as_str());
    assert_eq!(views.find_run("@-1", now()).unwrap().id, sealed.as_str());
    let both = views.find_run("20261116T063819Z", now()).unwrap_err();
    assert!(matches!(&both, FindRunError::Ambiguous { ids, .. } if ids.len() == 2), "{both}");
}

#[test]
fn an_imported_run_is_checked_with_the_key_it_came_with() {
    let world = World::new();
    let came = world.import("fail");
    let views = world.views().trusting_keys(Vec::new());
    let RunView::Sealed(sealed) = views.view_run("jsyc", now()).unwrap() else { panic!("it is here") };
    assert_eq!((sealed.origin, &sealed.bundle.report().run_id), (BundleOrigin::Imported, &came));
    let own = world.seal("pass");
    let refused = views.view_run(own.as_str(), now()).unwrap_err();
    assert!(matches!(&refused, ViewRunError::Bind(error) if matches!(error.error, VerifyBundleError::Checks(_))));
}

#[test]
fn a_bundle_in_the_place_of_another_run_is_not_that_run() {
    let world = World::new();
    let (pass, fail) = (world.seal("pass"), world.seal("fail"));
    fs::remove_dir_all(world.bundles.bundle_dir(&fail)).unwrap();
    fs::rename(world.bundles.bundle_dir(&pass), world.bundles.bundle_dir(&fail)).unwrap();
    let refused = world.views().view_run(fail.as_str(), now()).unwrap_err().to_string();
    assert!(refused.contains("does not verify"), "{refused}");
    let gone = world.views().find_run(pass.as_str(), now()).unwrap_err();
    assert!(matches!(gone, FindRunError::Gone { .. }), "{gone}");
}

#[test]
fn a_path_in_the_home_is_asked_for_as_the_run_of_its_name() {
    let world = World::new();
    let sealed = world.seal("pass");
    let views = world.views();
    let asked = views.find_at(&world.bundles.bundle_dir(&sealed)).unwrap().asked.unwrap();
    assert_eq!(asked.run_id, sealed);
    assert!(asked.attestation_sha256.is_some());
    assert!(views.find_at(world.root()).unwrap().asked.is_none());
}

#[test]
fn a_run_without_a_bundle_says_why() {
    let world = World::new();
    let collected = world.collect("blocked");
    let RunView::Collected(gone) = world.views().view_run(collected.as_str(), now()).unwrap() else { panic!("gone") };
    assert_eq!((gone.run.run_id.clone(), gone.collected.reason.as_str()), (collected.clone(), "old"));
    assert!(matches!(world.views().find_run("n8ts", now()), Err(FindRunError::Collected(_))));
    world.start(&run("dead"), at("2026-11-16T07:00:00Z"), None, None);
    assert!(matches!(world.views().find_run("dead", now()), Err(FindRunError::Interrupted(_))));
    world.start(&run("live"), at("2026-11-16T07:00:00Z"), None, None);
    let _lock = world.draft(&run("live"), 1);
    assert!(matches!(world.views().find_run("live", now()), Err(FindRunError::Running(_))));
    assert_eq!(golden_report("blocked").run_id, collected);
}

#[test]
fn a_run_of_another_home_is_said_to_lie_there() {
    let world = World::new();
    let report = golden_report("pass");
    world.start(&report.run_id, report.run_started_at, Some(owner("aa")), None);
    world.tell_sealed(&report, owner("00"));
    let find = |here| world.shared_views(Some(owner(here))).find_run("@", now()).unwrap_err();
    assert!(matches!(find("bb"), FindRunError::Elsewhere(_)));
    assert!(matches!(find("aa"), FindRunError::Gone { .. }), "the control");
    let alone = world.views().find_run("@", now()).unwrap_err();
    assert!(matches!(alone, FindRunError::Gone { .. }), "nobody shares the ledger");
}
