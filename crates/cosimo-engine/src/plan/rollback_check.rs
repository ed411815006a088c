//! Tests rollback before a run relies on it, where trials can be isolated: all simulators are initialised and tested in
//! another process, so that a crash costs a message and not the run. The run then begins with fresh instances.

use cosimo_core::error::StepError;
use cosimo_core::trial::{self, Crash};
use cosimo_core::{RollbackCheck, SimulatorError};

use super::Plan;
use crate::run::Run;

/// The plan, with the results. Without isolation the run tests rollback itself.
pub(crate) fn isolated(plan: Plan) -> Result<Plan, StepError> {
    let (names, start) = (plan.layout.topology.names.clone(), plan.layout.limits.start);
    let mut plan = Some(plan);
    let mut rehearse = || match plan.take().map(|plan| Run::begin(plan, 1)) {
        Some(Ok(run)) => {
            let answer = encoded(run.rollback_checks().map(|(_, rehearsal)| rehearsal));
            // The process ends here; nothing has to be freed, and freeing may crash an FMU, too.
            std::mem::forget(run);
            answer
        }
        // The run fails in the same way and reports it.
        _ => Vec::new(),
    };
    let answer = trial::isolated(&mut rehearse);
    let Some(mut plan) = plan else {
        unreachable!("a task that was isolated ran in another process, one that was not did not run");
    };
    match answer {
        Some(Ok(answer)) => {
            plan.layout.limits.rollback_checks = decoded(&answer).filter(|found| found.len() == names.len());
            Ok(plan)
        }
        Some(Err(Crash { simulator, what })) => {
            let message = format!(
                "it {what} when rollback was tested, which the methods of this run need. Choose methods without rollback; the \
                 parameter `\"cosimo.rollback\" = \"none\"` of the component shows which ones do not need it"
            );
            let simulator = simulator.or_else(|| names.first().cloned()).unwrap_or_default();
            Err(StepError::FailedAt {
                simulator,
                at: start,
                cause: SimulatorError::new("check_rollback", message),
            })
        }
        None => Ok(plan),
    }
}

/// One line per component.
fn encoded<'a>(rehearsals: impl Iterator<Item = &'a RollbackCheck>) -> Vec<u8> {
    let line = |rehearsal: &RollbackCheck| match rehearsal {
        RollbackCheck::Untried => "untried\n".to_owned(),
        RollbackCheck::Exact => "exact\n".to_owned(),
        RollbackCheck::Doubtful(words) => format!("doubtful {}\n", words.replace('\n', " ")),
    };
    rehearsals.map(line).collect::<String>().into_bytes()
}

fn decoded(answer: &[u8]) -> Option<Vec<RollbackCheck>> {
    let rehearsal = |line: &str| match line.split_once(' ') {
        Some(("doubtful", words)) => Some(RollbackCheck::Doubtful(words.to_owned())),
        _ if line == "exact" => Some(RollbackCheck::Exact),
        _ if line == "untried" => Some(RollbackCheck::Untried),
        _ => None,
    };
    std::str::from_utf8(answer).ok()?.lines().map(rehearsal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_survives_the_way_back() {
        let all =
            [RollbackCheck::Exact, RollbackCheck::Doubtful("by 1e-4, or so".into()), RollbackCheck::Untried];
        assert_eq!(decoded(&encoded(all.iter())).as_deref(), Some(&all[..]));
        // A run that failed to begin, and an answer of something else.
        assert_eq!(decoded(b""), Some(Vec::new()));
        assert_eq!(decoded(b"exact\nperhaps\n"), None);
    }
}
