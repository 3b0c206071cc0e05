//! The admission of a target repository: its identity and owner, the paths that may change
//! in it, and the person who admits it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FoundRecord, holds_placeholder};
use crate::admission_status::AdmissionStatus;
use crate::paths::PathSet;
use crate::reason::Reason;
use crate::task::ForbiddenAction;
use crate::text::{listed, show_controls};
use crate::time::Stamp;

/// Answer of a target admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetStatus {
    Admitted,
    NotAdmitted,
}

impl TargetStatus {
    /// Spelling in the record and in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::NotAdmitted => "not_admitted",
        }
    }
}

/// `admissions/target/*.yaml` or `.json`: thirteen keys and no more. A key that is absent
/// counts as empty, and is refused with its own reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Target admission", transform = require_all_keys)]
pub struct TargetAdmission {
    pub admission_status: TargetStatus,
    /// Absolute.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub target_repository_path: String,
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub repository_owner: String,
    /// Reference to what shows the ownership; never a copy of it.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub ownership_evidence: String,
    /// `low_risk_noncritical`; any other word is refused.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub risk_classification: String,
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub noncritical_rationale: String,
    /// Globs that may change; a contract can only narrow them.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub allowed_paths: Vec<String>,
    /// Globs that must not change, beside those of the contract. Empty is an answer, so
    /// that no answer is an error.
    pub forbidden_paths: Vec<String>,
    /// All ten.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub forbidden_actions: Vec<ForbiddenAction>,
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub approval_source: String,
    /// A date, or a time with its offset.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub approval_timestamp: String,
    /// True: a run counts only after the operator accepted it.
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub operator_outcome_required: bool,
    #[serde(default)]
    #[schemars(extend("x-cto-absent" = "refused"))]
    pub review_trigger: String,
}

/// Keys of the record, in the order in which people write them.
pub const TARGET_ADMISSION_KEYS: [&str; 13] = [
    "admission_status",
    "target_repository_path",
    "repository_owner",
    "ownership_evidence",
    "risk_classification",
    "noncritical_rationale",
    "allowed_paths",
    "forbidden_paths",
    "forbidden_actions",
    "approval_source",
    "approval_timestamp",
    "operator_outcome_required",
    "review_trigger",
];

fn require_all_keys(schema: &mut schemars::Schema) {
    schema.insert("required".into(), TARGET_ADMISSION_KEYS.as_slice().into());
}

/// One thing for which a target admission does not admit its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionDefect {
    pub reason: Reason,
    pub text: String,
}

impl fmt::Display for AdmissionDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TargetAdmission {
    /// The only risk classification that admits a target.
    pub const LOW_RISK: &str = "low_risk_noncritical";

    /// Contradictions in what is written. Empty fields are none: a record that admits
    /// nothing may have them.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let path = &self.target_repository_path;
        if !path.is_empty() && !is_plain_absolute(path) {
            problems.push("`target_repository_path` is not a plain absolute path".to_owned());
        }
        let stamp = &self.approval_timestamp;
        if !stamp.trim().is_empty() && !holds_placeholder(stamp) && read_date_or_time(stamp).is_none() {
            problems.push("`approval_timestamp` is neither a date nor a time with an offset".to_owned());
        }
        problems.extend(PathSet::rooted(&self.allowed_paths).err().map(|error| format!("`allowed_paths`: {error}")));
        let forbidden = PathSet::any_depth(&self.forbidden_paths).err();
        problems.extend(forbidden.map(|error| format!("`forbidden_paths`: {error}")));
        problems
    }

    /// Everything for which it does not admit its repository, each with its reason.
    pub fn defects(&self) -> Vec<AdmissionDefect> {
        use Reason::{CriticalRepository, TargetNotAdmitted, UnownedRepository};
        let mut defects = Vec::new();
        let mut defect = |is: bool, reason: Reason, text: String| {
            if is {
                defects.push(AdmissionDefect { reason, text });
            }
        };
        let is_empty = |text: &str| text.trim().is_empty() || holds_placeholder(text);
        defect(
            self.admission_status == TargetStatus::NotAdmitted,
            TargetNotAdmitted,
            "its admission_status is `not_admitted`".to_owned(),
        );
        defect(is_empty(&self.repository_owner), UnownedRepository, "`repository_owner` is not filled in".to_owned());
        defect(
            is_empty(&self.ownership_evidence),
            UnownedRepository,
            "`ownership_evidence` is not filled in".to_owned(),
        );
        let class = &self.risk_classification;
        defect(
            class != Self::LOW_RISK,
            CriticalRepository,
            format!("`risk_classification` is `{}`, and only `{}` is taken", show_controls(class), Self::LOW_RISK),
        );
        let texts = [
            ("target_repository_path", &self.target_repository_path),
            ("noncritical_rationale", &self.noncritical_rationale),
            ("approval_source", &self.approval_source),
            ("approval_timestamp", &self.approval_timestamp),
            ("review_trigger", &self.review_trigger),
        ];
        for (name, _) in texts.iter().filter(|(_, text)| is_empty(text)) {
            defect(true, TargetNotAdmitted, format!("`{name}` is not filled in"));
        }
        defect(self.allowed_paths.is_empty(), TargetNotAdmitted, "`allowed_paths` is not filled in".to_owned());
        let left_out: Vec<String> = self.left_out_actions().map(|action| action.as_str().to_owned()).collect();
        let text = format!("`forbidden_actions` leaves out {}", listed(left_out.iter().cloned(), 10));
        defect(!left_out.is_empty(), TargetNotAdmitted, text);
        let text = "`operator_outcome_required` is not true".to_owned();
        defect(!self.operator_outcome_required, TargetNotAdmitted, text);
        defects
    }

    fn left_out_actions(&self) -> impl Iterator<Item = &'static ForbiddenAction> {
        ForbiddenAction::ALL.iter().filter(|action| !self.forbidden_actions.contains(action))
    }

    /// True if it is about the repository at this path.
    pub fn is_for(&self, path: &str) -> bool {
        self.target_repository_path.trim_end_matches('/') == path.trim_end_matches('/')
    }
}

/// Status of what was found for the target at a path, as report and proof write it.
pub fn target_admission_status(found: &FoundRecord<TargetAdmission>, path: &str) -> AdmissionStatus {
    match found {
        FoundRecord::Missing => AdmissionStatus::MissingAdmission,
        FoundRecord::Invalid { .. } => AdmissionStatus::InvalidAdmission,
        FoundRecord::Record { record, .. } if record.admission_status == TargetStatus::NotAdmitted => {
            AdmissionStatus::NotAdmitted
        }
        FoundRecord::Record { record, .. } if !record.is_for(path) => AdmissionStatus::Mismatch,
        FoundRecord::Record { record, .. } if !record.defects().is_empty() => AdmissionStatus::InvalidAdmission,
        // What nobody signed opens no target.
        FoundRecord::Record { .. } if found.is_unsigned() => AdmissionStatus::InvalidAdmission,
        FoundRecord::Record { .. } => AdmissionStatus::Admitted,
    }
}

fn is_plain_absolute(path: &str) -> bool {
    let Some(body) = path.strip_prefix('/') else { return false };
    let body = body.strip_suffix('/').unwrap_or(body);
    !path.contains('\0') && body.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Reads a date alone, as its first moment in UTC, or a time of RFC 3339.
pub(super) fn read_date_or_time(text: &str) -> Option<Stamp> {
    let is_date = text.len() == 10;
    if is_date { format!("{text}T00:00:00Z").parse().ok() } else { Stamp::from_str(text).ok() }
}

#[cfg(test)]
mod tests;
