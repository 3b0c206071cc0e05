//! The rules of `cto validate workspace` that are code, as one closed list. Rules about
//! words are data: see `rules`.

macro_rules! check_rules {
    ($($rule:ident $id:literal $sentence:literal,)*) => {
        /// A rule that a finding can break.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CheckRule { $($rule,)* }

        impl CheckRule {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// Name in findings.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$rule => $id,)* }
            }

            /// Problem that a broken rule means.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$rule => $sentence,)* }
            }
        }
    };
}

check_rules! {
    FileMissing "file_missing" "A required file is not there.",
    IntentMissing "intent_missing" "The workspace has no workspace intent.",
    FileUnreadable "file_unreadable" "A file of the workspace cannot be read as text.",
    TermMissing "term_missing" "CONTEXT.md lacks a term that is checked.",
    RuleFile "rule_file" "A file of rules cannot be used.",
    FrontMatterMissing "front_matter_missing" "A document has no front matter.",
    FrontMatterUnclosed "front_matter_unclosed" "The front matter has no end.",
    FrontMatterPasted "front_matter_pasted" "The front matter was pasted out of something else.",
    FrontMatterLine "front_matter_line" "A line of the front matter is no field.",
    FrontMatterKey "front_matter_key" "The front matter lacks a required key.",
    FrontMatterKeyTwice "front_matter_key_twice" "The front matter has a key twice.",
    DocumentStatus "document_status" "The status of a document is none of the four.",
    DocumentDay "document_day" "A day is no day of the calendar.",
    DocumentStale "document_stale" "A document was reviewed before it was made, or in the future.",
    LifecycleClassification "lifecycle_classification" "The lifecycle classification is neither planning nor sot.",
    CorePromotionStatus "core_promotion_status" "The front matter claims another promotion status than not-promoted.",
    DisclaimerMissing "disclaimer_missing" "A document lacks the disclaimer.",
    ConstantChanged "constant_changed" "A fact in a list claims another value than its constant.",
    PhraseMissing "phrase_missing" "A closeout lacks a phrase that its plan demands.",
    LinkFile "link_file" "A link leads to a file that is not there.",
    LinkAnchor "link_anchor" "A link leads to a heading that is not there.",
    LinkWork "link_work" "A link leads to an item that is not on the board.",
    LinkBundle "link_bundle" "A link leads to a bundle that does not hold.",
    PathMissing "path_missing" "Evidence names a path that is not in the workspace.",
    SecretShaped "secret_shaped" "A text looks like a secret.",
    DecisionDiffers "decision_differs" "A decision in Markdown differs from the record that counts.",
    ItemTwice "item_twice" "A document has two headings for one item.",
    ItemGap "item_gap" "The numbers of the items of an issue sequence have a gap.",
    ItemWithoutHeading "item_without_heading" "An item names issues that have no heading for it.",
    ItemNotOnBoard "item_not_on_board" "A document has an item that the board lacks.",
    ItemStatusDiffers "item_status_differs" "A document gives an item another status than the board.",
    BoardUnreadable "board_unreadable" "The board is no plain YAML.",
    BoardShape "board_shape" "A part of the board has another shape.",
    WorkId "work_id" "An item has no id of the right form.",
    WorkIdTwice "work_id_twice" "Two items have the same id.",
    WorkTitle "work_title" "An item has no title.",
    WorkStatus "work_status" "The status of an item is none of the four.",
    WorkType "work_type" "The type of an item is neither `AFK` nor `HITL`.",
    BlockedByUnknown "blocked_by_unknown" "An item waits for one that is not on the board.",
    BlockedByCycle "blocked_by_cycle" "Items wait for each other.",
    ValidatedTooEarly "validated_too_early" "An item is validated before one that it depends on.",
    ArtifactMissing "artifact_missing" "An item names a file that is not there.",
    EvidenceMissing "evidence_missing" "A validated item names no evidence.",
    EvidenceUnverified "evidence_unverified" "Nothing that an item names as evidence can be verified here.",
    EvidenceShape "evidence_shape" "A piece of evidence lacks its kind or its reference.",
    EvidenceKind "evidence_kind" "A piece of evidence has no kind, so that it is guessed.",
    EvidenceDocument "evidence_document" "A document that is evidence is not there.",
    EvidenceDigest "evidence_digest" "Evidence has another digest than the item says.",
    EvidenceCommit "evidence_commit" "A commit that is evidence has no form of a commit.",
    EvidenceCommitElsewhere "evidence_commit_elsewhere" "A commit that is evidence lies in another repository.",
    EvidenceCommitUnread "evidence_commit_unread" "A commit that is evidence cannot be looked for.",
    EvidenceValidator "evidence_validator" "A validator that is evidence is not known or does not pass.",
    EvidenceWork "evidence_work" "An item rests on one that is not validated.",
    EvidenceCircle "evidence_circle" "Items rest on each other as evidence.",
    EvidenceUnknown "evidence_unknown" "A bundle that is evidence is not known.",
    EvidenceTampered "evidence_tampered" "A bundle that is evidence does not verify.",
    EvidenceCollected "evidence_collected" "A bundle that is evidence was collected.",
    EvidencePurpose "evidence_purpose" "A bundle that is evidence has the purpose validation.",
    EvidenceOtherWork "evidence_other_work" "A bundle that is evidence belongs to another item.",
    EvidenceNotPass "evidence_not_pass" "A bundle that is evidence is no pass.",
    EvidenceLegacy "evidence_legacy" "Evidence is a run of an older harness, which counts for nothing.",
    EvidenceLegacyBroken "evidence_legacy_broken" "A run of an older harness differs from its own report.",
    ExecutionWithoutBundle "execution_without_bundle" "An item claims an execution without a governed bundle.",
    RecordInvalid "record_invalid" "A record cannot be used.",
    ValidatorFailed "validator_failed" "An external validator does not pass.",
}

impl CheckRule {
    /// Rules that this crate cannot judge: the code that reads records and runs validators adds
    /// their findings.
    pub const OF_CALLERS: &[Self] = &[Self::RecordInvalid, Self::ValidatorFailed];
}
