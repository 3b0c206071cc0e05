//! Facts about the beginning of a run that the ledger keeps with its first entry: recovery seals a dead run by them.

use serde::{Deserialize, Serialize};

use crate::collection::{CitedBundle, CollectionKind};
use crate::decision::Profile;
use crate::task::TaskContract;

/// Details of the entry that starts a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartDetail {
    pub contract: TaskContract,
    /// Set of a document about other bundles.
    #[serde(flatten)]
    pub document: Option<DocumentDetail>,
    #[serde(flatten)]
    pub host: HostDetail,
    #[serde(default)]
    pub pid: u32,
    pub sandbox: Profile,
}

/// Boot and process space in which a run began. Older programs recorded no process space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDetail {
    pub boot_id: Option<String>,
    pub process_space: Option<String>,
}

/// Kind of a document about other bundles, and these bundles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentDetail {
    #[serde(default)]
    pub bundles: Vec<CitedBundle>,
    pub kind: CollectionKind,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_told_from_a_run() {
        let run = json!({"boot_id": "b", "contract": {}, "pid": 1, "process_space": "p", "sandbox": "strict"});
        assert!(DocumentDetail::deserialize(&run).is_err());
        let mut document = run.clone();
        document["kind"] = json!(CollectionKind::ALL[0]);
        let read = DocumentDetail::deserialize(&document).unwrap();
        assert_eq!(read, DocumentDetail { bundles: Vec::new(), kind: CollectionKind::ALL[0] });
        let host = HostDetail { boot_id: Some("b".to_owned()), process_space: Some("p".to_owned()) };
        assert_eq!(HostDetail::deserialize(&run).unwrap(), host);
        assert_eq!(HostDetail::deserialize(&json!({})).unwrap(), HostDetail::default(), "an older program");
    }
}
