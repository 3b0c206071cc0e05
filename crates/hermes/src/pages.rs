//! Pages: facts of the source as templates show them. Templates escape everything; what is
//! foreign is made printable before.

mod act;
mod ansi;
mod approvals;
mod compare;
mod frame;
mod login;
mod overview;
mod queue;
mod records;
mod remedy;
mod run;
mod run_file;
mod run_ident;
mod run_log;
mod run_timeline;
mod runs;
mod spend;
mod text;
mod verify;

pub(crate) use approvals::{ApprovalsQuery, approvals_page, approve_request, deny_request, request_page};
pub(crate) use compare::{CompareQuery, compare_page};
pub(crate) use frame::{Frame, error_page, error_response};
pub(crate) use login::{log_in, log_out, login_form, login_page};
pub(crate) use overview::overview_page;
pub(crate) use queue::queue_page;
pub(crate) use records::records_page;
pub(crate) use run::{run_page, stop_run};
pub use run_file::{RenderRunError, RunFileBundle, render_run_file};
pub(crate) use run_log::{LogQuery, log_page};
pub(crate) use runs::{RunsQuery, runs_page};
pub(crate) use spend::spend_page;
pub(crate) use text::{
    age_text, class_of, first_of, folder_of, icon_of, last_of, model_of, name_of, shown_text, stage_name, text_of,
    time_text, words_of,
};
pub(crate) use verify::verify_page;
