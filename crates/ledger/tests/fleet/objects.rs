//! Object stores as they are: real ones, one that overwrites, and one of our own that lies in every way we could think of.

use std::time::{Duration, SystemTime};

use contract::{Digest, RunId, Stamp};
use ledger::{BucketAccess, BucketPlace, Creation, EvidencePlace, ObjectStore, StoreProbe, WitnessedUse};
use testkit::{
    BUCKET, BUCKET_KEY, ObjectDouble, ObjectFolder, ObjectServer, ObjectServerKind, StoreManner, TlsModel, each_row,
};

/// Long enough for a busy machine, short enough to wait for.
const PATIENCE: Duration = Duration::from_secs(60);

fn read_clock() -> Option<Stamp> {
    Stamp::from_unix(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?)
}

fn place_at(endpoint: &str) -> BucketPlace {
    let (key, secret) = BUCKET_KEY;
    BucketPlace {
        address: format!("s3://{BUCKET}/fleet").parse().unwrap(),
        endpoint: endpoint.parse().unwrap(),
        region: "us-east-1".to_owned(),
        access: Some(BucketAccess { key_id: key.to_owned(), secret: secret.to_owned().into() }),
        authorities: None,
        patience: PATIENCE,
    }
}

fn store_of(place: BucketPlace) -> ObjectStore {
    ObjectStore::at_place(EvidencePlace::Bucket(Box::new(place)), read_clock)
}

fn store_at(endpoint: &str) -> ObjectStore {
    store_of(place_at(endpoint))
}

fn folder_store(folder: &ObjectFolder) -> ObjectStore {
    ObjectStore::at_place(EvidencePlace::Folder(folder.path()), read_clock)
}

fn run_id(end: &str) -> RunId {
    format!("20260101T000000Z-t-{end}").try_into().unwrap()
}

/// Everything that evidence needs of a store.
fn check_store(store: &ObjectStore, expected: StoreProbe) {
    assert_eq!(store.probe().unwrap(), expected);
    let large: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    for (name, bytes) in [("small", &b"x"[..]), ("empty", b""), ("deep/er", &large)] {
        assert_eq!(store.read_object(name, 4).unwrap(), None, "{name}");
        assert_eq!(store.create_object(name, bytes).unwrap(), Creation::Created, "{name}");
        assert_eq!(store.create_object(name, b"other").unwrap(), Creation::Exists, "{name}");
        assert!(store.read_object(name, 4_000_000).unwrap().as_deref() == Some(bytes), "{name}");
    }
    let request = Digest::of_bytes(b"request");
    let [one, two] = ["aaaa", "bbbb"].map(run_id);
    assert_eq!(store.find_witness(request).unwrap(), None);
    assert_eq!(store.witness_use(request, &one).unwrap(), WitnessedUse::Ours);
    let used = WitnessedUse::Other(one.to_string());
    assert_eq!(store.witness_use(request, &one).unwrap(), used, "a second start of the same run is another use");
    assert_eq!(store.witness_use(request, &two).unwrap(), used);
    assert_eq!(store.find_witness(request).unwrap(), Some(used));
}

const OPEN: StoreProbe = StoreProbe { may_overwrite: true, may_remove: true };
const GUARDED: StoreProbe = StoreProbe { may_overwrite: false, may_remove: false };

#[test]
fn a_folder_keeps_evidence() {
    let folder = ObjectFolder::new();
    let store = folder_store(&folder);
    check_store(&store, OPEN);
    assert!(store.can_witness(OPEN), "it is as safe as the home");
    assert_eq!(std::fs::read_dir(folder.path().join("incoming")).unwrap().count(), 0, "nothing is left aside");
}

#[test]
fn seaweedfs_keeps_evidence() {
    let Some(server) = ObjectServer::start("seaweedfs_keeps_evidence", ObjectServerKind::SeaweedFs) else { return };
    let store = store_at(&server.endpoint());
    check_store(&store, OPEN);
    assert!(!store.can_witness(OPEN), "who can overwrite can unmake a witness");

    let mut place = place_at(&server.endpoint());
    place.access.as_mut().unwrap().secret = "wrong".to_owned().into();
    let said = store_of(place).probe().unwrap_err().to_string();
    assert!(said.contains("403 (SignatureDoesNotMatch)"), "{said}");
    let mut place = place_at(&server.endpoint());
    place.address.bucket = "nobodys".to_owned();
    let said = store_of(place).probe().unwrap_err().to_string();
    assert!(said.contains("s3://nobodys/fleet"), "{said}");
}

#[test]
fn moto_keeps_evidence() {
    let Some(server) = ObjectServer::start("moto_keeps_evidence", ObjectServerKind::Moto) else { return };
    check_store(&store_at(&server.endpoint()), OPEN);
}

#[test]
fn a_store_that_overwrites_is_refused_with_what_it_did() {
    let test = "a_store_that_overwrites_is_refused_with_what_it_did";
    let Some(server) = ObjectServer::start(test, ObjectServerKind::S3rver) else { return };
    let store = store_at(&server.endpoint());
    let said = store.probe().unwrap_err().to_string();
    assert!(said.contains("overwrote the first with the second"), "{said}");
    assert_eq!(store.create_object("a", b"x").unwrap(), Creation::Created, "the control: it is spoken to");
}

#[test]
fn a_guarded_store_can_be_a_witness() {
    let double = ObjectDouble::start(StoreManner::Guarded);
    let store = store_at(&double.endpoint());
    check_store(&store, GUARDED);
    assert!(store.can_witness(GUARDED));
    double.behave(StoreManner::Lenient);
    assert_eq!(store.probe().unwrap(), GUARDED, "a process asks once a day");
    check_store(&store_at(&ObjectDouble::start(StoreManner::Lenient).endpoint()), OPEN);
}

#[test]
fn a_store_that_lies_is_found_out() {
    let rows = [
        ("wrong bytes", (StoreManner::WrongBytes, "gives back other bytes")),
        ("truncated", (StoreManner::Truncated, "ends in the middle")),
        ("endless", (StoreManner::Endless, "more than 4096 bytes")),
        ("redirects", (StoreManner::Redirects, "sends us elsewhere (status 307)")),
        ("garbled", (StoreManner::Garbled, "it is no HTTP")),
        ("forgetful", (StoreManner::Forgetful, "does not give back an object that it created")),
        ("a storm", (StoreManner::Storm(1000), "status 503")),
    ];
    each_row(rows, |(manner, expected)| {
        let double = ObjectDouble::start(manner);
        let said = store_at(&double.endpoint()).probe().unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(double.asked() <= 20, "{} requests", double.asked());
        double.behave(StoreManner::Guarded);
        assert_eq!(store_at(&double.endpoint()).probe().unwrap(), GUARDED, "the control");
    });
}

/// The answer of a store counts, whatever a stale read still gives; and an overwrite without an answer is found.
#[test]
fn a_store_that_answers_otherwise_than_it_acts_is_taken_at_its_worst() {
    let rows = [
        ("stale reads", (StoreManner::StaleReads, OPEN)),
        ("creates and drops the answer", (StoreManner::CreatesAndDrops, GUARDED)),
        ("control", (StoreManner::Guarded, GUARDED)),
    ];
    each_row(rows, |(manner, expected)| {
        let double = ObjectDouble::start(manner);
        assert_eq!(store_at(&double.endpoint()).probe().unwrap(), expected);
    });
}

/// Waiting has an end, however many bytes trickle in before it; and a store that is busy for a moment is asked again.
#[test]
fn a_slow_store_is_left_and_a_busy_one_is_asked_again() {
    let double = ObjectDouble::start(StoreManner::Slow);
    let patient = BucketPlace { patience: Duration::from_secs(2), ..place_at(&double.endpoint()) };
    let said = store_of(patient).probe().unwrap_err().to_string();
    assert!(said.contains("does not answer in time"), "{said}");
    double.behave(StoreManner::Storm(3));
    let before = double.asked();
    assert_eq!(store_at(&double.endpoint()).create_object("a", b"x").unwrap(), Creation::Created);
    assert_eq!(double.asked() - before, 4);
}

#[test]
fn the_way_to_another_machine_is_protected_or_not_taken() {
    let failure = |place: BucketPlace| store_of(place).read_object("a", 4).unwrap_err().to_string();
    let said = failure(place_at("http://192.0.2.1"));
    assert!(said.contains("its endpoint is not https"), "{said}");
    let said = failure(place_at("https://192.0.2.1"));
    assert!(said.contains("no setting names certificate authorities"), "{said}");

    let [ours, theirs] = ["localhost", "localhost"].map(|name| TlsModel::start(name, Default::default()));
    let folder = tempfile::tempdir().unwrap();
    let trusting = |authority: &[u8]| {
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, authority).unwrap();
        let place = place_at(&format!("https://localhost:{}", ours.address.port()));
        store_of(BucketPlace { authorities: Some(file), ..place }).read_object("a", 4)
    };
    let said = trusting(&theirs.authority).unwrap_err().to_string();
    assert!(said.contains("certificate"), "{said}");
    assert_eq!(ours.asked(), 0, "nothing was said to it");
    let answered = trusting(&ours.authority);
    assert!(!matches!(&answered, Err(error) if error.to_string().contains("certificate")), "{answered:?}");
}
