//! Steps that the types forbid, also inside this crate. `cargo xtask ci` compiles each
//! module of this file by itself and expects exactly the error named at the end of each
//! line. `literals` and `steps` stand apart, because the compiler looks at private fields of
//! literals only in a crate without other errors. `controls` must compile.

use contract::{Decision, Report};
use gate::{Admission, Refused};

use crate::gather::decide::{AdmittedRun, PreflightRun, Preparation, RefusedRun};
use crate::gather::target::Target;
use crate::run::file::RunFile;
use crate::seal::dead::{Remains, Restored};
use crate::seal::landing::{Landed, LandedResult};
use crate::seal::report::{Evidence, Reported, RunAccount};
use crate::seal::verification::{CheckedResult, Verified};
use crate::work::engines::{EngineRun, EngineWorkspace, Worked, WorkedIn};
use crate::work::result::{Captured, ExamMaterial, TakenResult};

/// Literals of steps, which only the step before may write.
#[cfg(must_not_compile = "literals")]
mod literals {
    use super::*;

    fn forge_admitted(run: RunFile<'_>, preparation: Preparation, admission: Admission) -> AdmittedRun<'_> {
        AdmittedRun { run, preparation, admission } //~ E0451
    }

    fn forge_refused(run: RunFile<'_>, preparation: Preparation, refused: Refused) -> RefusedRun<'_> {
        RefusedRun { run, preparation, refused } //~ E0451
    }

    fn forge_worked<'a>(
        run: RunFile<'a>,
        a: Admission,
        p: Preparation,
        engine: EngineRun,
        place: WorkedIn,
    ) -> Worked<'a> {
        Worked { run, admission: a, preparation: p, engine, place } //~ E0451
    }

    fn forge_verified<'a>(captured: Captured<'a>, checked: CheckedResult) -> Verified<'a> {
        let (run, admission, preparation, engine, taken, _material) = captured.into_parts();
        Verified { run, admission, preparation, engine, taken, checked, landing: None } //~ E0451
    }

    fn forge_landed<'a>(verified: Verified<'a>, landing: LandedResult) -> Landed<'a> {
        let (run, admission, preparation, engine, taken, checked, _material) = verified.into_parts();
        Landed { run, admission, preparation, engine, taken, checked, landing } //~ E0451
    }

    fn forge_preflight(admitted: AdmittedRun<'_>) -> PreflightRun<'_> {
        PreflightRun { 0: admitted } //~ E0451
    }

    fn forge_captured<'a>(verified: Verified<'a>, material: ExamMaterial) -> Captured<'a> {
        let (run, admission, preparation, engine, taken, _checked, _landing) = verified.into_parts();
        Captured { run, admission, preparation, engine, taken, material } //~ E0451
    }

    fn forge_remains(run: RunFile<'_>, restored: Restored) -> Remains<'_> {
        Remains { run, restored } //~ E0451
    }

    fn forge_account<'a>(verified: Verified<'a>, decision: Decision, landing: LandedResult) -> RunAccount {
        let (_run, _admission, preparation, engine, taken, checked, _landing) = verified.into_parts();
        RunAccount { decision, preparation, engine, taken, checked, landing } //~ E0451
    }

    fn forge_evidence<'a>(evidence: Evidence<'a>, account: RunAccount) -> Evidence<'a> {
        Evidence { account, ..evidence } //~ E0451
    }

    fn forge_reported(run: RunFile<'_>, report: Report) -> Reported<'_> {
        Reported { run, report } //~ E0451
    }
}

/// Steps that are taken out of order, twice, or past a private field.
#[cfg(must_not_compile = "steps")]
mod steps {
    use super::*;

    fn prepare_refused(refused: RefusedRun<'_>, target: Target) {
        refused.prepare_engine(target); //~ E0599
    }

    fn prepare_preflight(preflight: PreflightRun<'_>, target: Target) {
        preflight.prepare_engine(target); //~ E0599
    }

    fn report_admitted(admitted: AdmittedRun<'_>) -> Evidence<'_> {
        admitted.into() //~ E0277
    }

    fn report_unworked(workspace: EngineWorkspace<'_>) -> Evidence<'_> {
        workspace.into() //~ E0277
    }

    fn report_unverified(captured: Captured<'_>) -> Evidence<'_> {
        captured.into() //~ E0277
    }

    fn report_unlanded(verified: Verified<'_>) -> Evidence<'_> {
        verified.into() //~ E0277
    }

    fn land_unverified(captured: Captured<'_>) {
        drop(captured.land()); //~ E0599
    }

    fn improve_result(mut taken: TakenResult) {
        taken.allowed_writes_passed = true; //~ E0616
    }

    fn swap_material<'a>(mut captured: Captured<'a>, material: ExamMaterial) -> Captured<'a> {
        captured.material = material; //~ E0616
        captured
    }

    fn improve_verification(mut checked: CheckedResult) {
        checked.verification.passes.clear(); //~ E0616
    }

    fn verify_twice(captured: Captured<'_>) {
        drop(captured.verify());
        drop(captured.verify()); //~ E0382
    }
}

/// The calls that `steps` forbids, on the steps that have them: where a method gets another
/// name, this module says so, and no error above is about the name.
#[cfg(must_not_compile = "controls")]
mod controls {
    use super::*;

    fn prepare_admitted(admitted: AdmittedRun<'_>, target: Target) {
        drop(admitted.prepare_engine(target));
    }

    fn report_refused(refused: RefusedRun<'_>) -> Evidence<'_> {
        refused.into()
    }

    fn land_verified(verified: Verified<'_>) {
        drop(verified.land());
    }

    fn verify_once(captured: Captured<'_>) {
        drop(captured.verify());
    }
}
