//! Trying rollback before a run relies on it, where trials can be kept apart: all simulators are initialised and tried in
//! another process, so that one that dies of it costs a message and not the run. The run then begins with instances that
//! no trial has touched.

use cosimo_core::error::StepError;
use cosimo_core::trial::{self, Crash};
use cosimo_core::{RollbackCheck, SimulatorError};

use super::Plan;
use crate::run::Run;

/// The plan, with what was found. Where nothing can be found out this way, the run tries for itself.
pub(crate) fn isolated(plan: Plan) -> Result<Plan, StepError> {
    let (names, start) = (plan.layout.topology.names.clone(), plan.layout.limits.start);
    let mut plan = Some(plan);
    let mut rehearse = || match plan.take().map(|plan| Run::begin(plan, 1)) {
        Some(Ok(run)) => {
            let answer = encoded(run.rollback_checks().map(|(_, rehearsal)| rehearsal));
            // The process ends with it; nothing has to be freed, and an FMU may die of that, too.
            std::mem::forget(run);
            answer
        }
        // The run fails in the same way, and says how.
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
                "it {what} when rollback was tried, which the methods of this run rely on. Choose methods that do not \
                 go back; `\"cosimo.rollback\" = \"none\"` among its parameters shows which ones are left"
            );
            let simulator = simulator.or_else(|| names.first().cloned()).unwrap_or_default();
            Err(StepError::FailedAt { simulator, at: start, cause: SimulatorError::new("rehearse", message) })
        }
        None => Ok(plan),
    }
}

/// A line each.
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
