//! The table of sentences that count as claims in an engine's last message, with positive
//! and negative examples for each. A sentence that may be a plan, a wish, a question or a
//! part of the truth is not taken: a missed claim costs a line in the report, an invented
//! one costs trust in it.
//!
//! `docs/claims.md` shows the table; a test keeps the two in step.

use contract::claim::Speech;

/// Claim that a sentence makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Success(bool),
    TestsPassed(bool),
    /// The group `it` is the id.
    Commit,
    /// The group `it` is a path.
    FilesTouched,
    /// The sentence itself.
    Other,
}

/// Row of the table: a pattern with its examples.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaimPattern {
    pub(super) name: &'static str,
    pub(super) about: About,
    /// The one engine that has this sentence as a fixed line; None for what any of them may
    /// write.
    pub(super) only: Option<Speech>,
    pub(super) says: &'static str,
    /// Patterns that cancel the claim, anywhere in the same sentence.
    pub(super) unless: &'static [&'static str],
    pub(super) takes: &'static [&'static str],
    pub(super) passes_over: &'static [&'static str],
}

/// Plans, wishes, conditions, other times.
const HEDGED: &str = concat!(
    r"(?i)\b(?:should|would|could|might|may|must|can|will|if|once|when|whether|until|unless|before|previously",
    r"|originally|earlier|already|used to|to be|going to|ensure|make|let|please|try|trying|want|wants|need|needs",
    r"|expect|expected|assume|assuming|believe|think|likely|probably|presumably|hope|hopefully|supposed|goal|plan",
    r"|todo|next|how|check|verify)\b",
    r"|^\W*after\b|\bI['’]ll\b",
);
const NEGATED: &str = concat!(
    r"(?i)\b(?:not|never|no|none|nothing|cannot|without|except|unable|apart from|other than|neither|nor)\b",
    r"|n['’]t\b",
);
const PARTIAL: &str = concat!(
    r"(?i)\b(?:some|most|mostly|only|few|half|partly|partial|partially|almost|nearly|remaining|but|however|although",
    r"|0 tests?|\d+ (?:out )?of \d+|\d+/\d+)\b",
);
const FAILED: &str = r"(?i)\bfail(?:s|ed|ing|ure|ures)?\b";
const SOME_FAILED: &str = r"(?i)\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?)\b";
const QUESTION: &str = r"\?\W*$";
/// `pass` that hands something on.
const HANDED_ON: &str = r"(?i)\bpass(?:es|ed|ing)? (?:a|an|the|this|it|its|them|through|along|by|to)\b";

/// Patterns of claims in sentences.
pub(super) const PATTERNS: &[ClaimPattern] = &[
    ClaimPattern {
        name: "tests_pass",
        about: About::TestsPassed(true),
        only: None,
        says: concat!(
            r"(?i)\b(?:tests|test suite|test cases)\b",
            r"(?: (?:now|all|still|have|has|are|is|successfully|and they|continue to))*",
            r" (?:pass|passes|passed|passing|green)\b",
        ),
        unless: &[HEDGED, NEGATED, PARTIAL, FAILED, QUESTION, HANDED_ON],
        takes: &[
            "All tests pass.",
            "All 12 unit tests now pass",
            "**The tests are passing** ✅",
            "I fixed the parser and the full test suite passes.",
            "Tests passed in 0.31s",
            "All tests pass after the change.",
            "I ran the tests and they all pass.",
            "All existing tests continue to pass.",
        ],
        passes_over: &[
            "I could not run the tests",
            "The tests should pass now.",
            "All tests pass except two.",
            "Make sure the tests pass.",
            "Do all tests pass?",
            "The tests don't pass.",
            "Once the tests pass, you can merge.",
            "After the tests pass, merge it.",
            "10 of 12 tests pass.",
            "Most tests pass.",
            "All tests passed before my change.",
            "I will check that all tests pass.",
            "The tests pass a token to the server.",
            "I was not able to see whether the tests are passing.",
            "The new tests pass, the old tests fail.",
            "I'll run them again until tests are green.",
            "Here is how to see that tests pass: run pytest.",
            "0 tests passed",
        ],
    },
    ClaimPattern {
        name: "tests_counted",
        about: About::TestsPassed(true),
        only: None,
        says: r"(?i)\b[1-9]\d* (?:tests? )?(?:passed|passing)\b",
        unless: &[HEDGED, NEGATED, PARTIAL, SOME_FAILED, QUESTION],
        takes: &[
            "12 passed",
            "===== 12 passed in 0.04s =====",
            "12 passed; 0 failed; 0 ignored",
            "I ran them: 3 tests passed.",
        ],
        passes_over: &[
            "1 failed, 11 passed in 0.20s",
            "12 passed, 2 errors",
            "0 passed",
            "It should print 12 passed.",
            "Only 12 passed",
            "3 of 12 passed",
            "I expected 12 passed.",
            "Did you see 12 passed?",
        ],
    },
    ClaimPattern {
        name: "tests_fail",
        about: About::TestsPassed(false),
        only: None,
        says: concat!(
            r"(?i)\b(?:tests?|test suite|test cases?)\b(?: (?:now|all|still|is|are))* (?:fail|fails|failing)\b",
            r"|\b[1-9]\d* (?:tests? )?failed\b",
        ),
        unless: &[HEDGED, NEGATED, QUESTION],
        takes: &["The tests still fail.", "Two tests are failing.", "1 failed, 11 passed in 0.20s", "3 tests failed"],
        passes_over: &[
            "The tests were failing because of a missing import.",
            "No tests fail.",
            "The tests no longer fail.",
            "The tests would fail.",
            "12 passed, 0 failed",
            "Make sure the tests fail first.",
            "The tests fail before the change.",
            "Do the tests fail?",
        ],
    },
    ClaimPattern {
        name: "committed",
        about: About::Commit,
        only: None,
        says: concat!(
            r"(?i)(?:\bcommitted\b(?:.*? (?:as|in|commit|hash|sha|id)\b|[^(]*\()?",
            r"|\b(?:created|made)(?: a| the)?(?: new)? commit\b|^\W*commit(?: hash| id| sha)?:)",
            r"[\s:`*(\[]*(?<it>[0-9a-f]{7,64})\b",
        ),
        unless: &[HEDGED, NEGATED, QUESTION],
        takes: &[
            "I committed the fix as 1a2b3c4d.",
            "Committed as `1a2b3c4`",
            "The change is committed in commit 0f1e2d3c4b5a69788796a5b4c3d2e1f001122334.",
            "Created commit 9fceb02 with the fix",
            "- **Commit:** `9fceb02`",
            "Commit hash: 9fceb02",
            "Changes committed: 9fceb02",
            "I committed the fix (9fceb02).",
        ],
        passes_over: &[
            "I have not committed anything, HEAD is in 1a2b3c4.",
            "You can see what was committed as 1a2b3c4.",
            "This builds on commit 1a2b3c4.",
            "I committed the fix.",
            "I committed the revert of 1a2b3c4.",
            "It was committed as defaced text.",
            "I committed it in 20261104 notation.",
            "Is it committed as 1a2b3c4?",
        ],
    },
    ClaimPattern {
        name: "aider_commit",
        about: About::Commit,
        only: Some(Speech::Aider),
        says: r"^Commit (?<it>[0-9a-f]{7,64}) \S",
        unless: &[],
        takes: &["Commit 1a2b3c4 fix: greet with a comma", "Commit 9fceb02 feat: add what should be there"],
        passes_over: &[
            "Commit 1a2b3c4",
            "commit 1a2b3c4 by hand",
            "The line `Commit 1a2b3c4 fix` is aider's",
            "Commit message follows",
        ],
    },
    ClaimPattern {
        name: "aider_edit",
        about: About::FilesTouched,
        only: Some(Speech::Aider),
        says: r"^Applied edit to (?<it>\S.*)$",
        unless: &[],
        takes: &["Applied edit to src/app.py", "Applied edit to a file.txt"],
        passes_over: &[
            "Did not apply edit to src/app.py (--dry-run)",
            "I Applied edit to src/app.py",
            "Applied edit to",
            "Applied edit to ",
        ],
    },
    ClaimPattern {
        name: "pull_request",
        about: About::Other,
        only: None,
        says: r"(?i)\b(?:opened|created|submitted|raised)(?: (?:a|the|new|draft))* (?:pull request|merge request|PR)\b",
        unless: &[HEDGED, NEGATED, QUESTION],
        takes: &[
            "I opened a pull request.",
            "Created PR #12 with the fix",
            "I have submitted a new pull request: https://example.com/1",
        ],
        passes_over: &[
            "You can now open a pull request.",
            "I have not opened a pull request.",
            "I would have created a PR.",
            "Shall I say that I opened a pull request?",
            "The pull request template is in place.",
        ],
    },
    ClaimPattern {
        name: "done",
        about: About::Success(true),
        only: None,
        says: concat!(
            r"(?i)^\W*(?:all |successfully )?(?:done|fixed|finished|completed|implemented)\b",
            r"|^\W*(?:the )?(?:task|fix|implementation|work) (?:done|complete|completed|finished)\b",
            r"|\bI(?: have|['’]ve)?(?: now| successfully)* (?:fixed|implemented|completed|finished|resolved|solved)\b",
            r"|\b(?:task|fix|bug|issue|problem|feature|implementation|change|work)s? (?:is|are|was|has been|have been)",
            r"(?: now| all)* (?:done|complete|completed|finished|fixed|implemented|resolved|solved|in place)\b",
        ),
        unless: &[HEDGED, NEGATED, PARTIAL, FAILED, QUESTION],
        takes: &[
            "Done.",
            "All done!",
            "Fixed the off-by-one in `page.py`.",
            "I've fixed the bug.",
            "I have now implemented the parser",
            "The task is complete.",
            "The bug has been fixed",
            "Task completed successfully.",
        ],
        passes_over: &[
            "I have not fixed the bug.",
            "I partially implemented it.",
            "The bug should be fixed now.",
            "I couldn't get it done.",
            "The task is to be completed later.",
            "The bug was fixed earlier, upstream.",
            "I fixed the import, but the tests fail.",
            "Is the task done?",
            "Once done, I will report.",
            "I'll have it fixed.",
            "Fixed-point numbers need a scale.",
        ],
    },
    ClaimPattern {
        name: "not_done",
        about: About::Success(false),
        only: None,
        says: concat!(
            r"(?i)\bI (?:could not|couldn['’]t|cannot|can['’]t|was unable to|am unable to|was not able to|failed to",
            r"|did not|didn['’]t) (?:complete|fix|implement|finish|resolve|solve|do)\b",
        ),
        unless: &[QUESTION],
        takes: &["I could not fix the bug.", "I was unable to complete the task", "I couldn’t finish this."],
        passes_over: &[
            "I could not run the tests.",
            "I fixed what I could not see.",
            "What if I could not fix the bug?",
            "It cannot be fixed by hand.",
        ],
    },
];
