//! Simulators and their threads.
//!
//! A simulator is pinned: all calls, the first included, come from one thread, because many FMUs are not re-entrant and
//! some are bound to their thread. With one thread the coordinator makes all calls, directly on the board's buffers. With
//! more, each worker has a share of the simulators (`workers.rs`), whose inputs the coordinator copies before it starts
//! them. No call allocates.

mod simulator_group;

use std::ops::Range;
use std::time::Duration;

use cosimo_core::Slot;
use cosimo_core::linear_model::ModelPlace;

pub use self::simulator_group::in_simulator;
pub(crate) use self::simulator_group::{
    Buffers, ColdSlot, Fault, FaultOf, SimulatorSelection, SimulatorSlot, Sources, Task, TaskOutcome,
    earlier, finite, guarded,
};
use self::simulator_group::{SimulatorGroup, perform};
use crate::workers::{self, Worker, shares};

/// All simulators of an island.
pub(crate) struct SimulatorPool {
    /// Simulators of the coordinator's thread, using the board's buffers.
    own: SimulatorGroup,
    shares: Vec<PoolShare>,
    sources: Sources,
}

/// The share of a worker.
struct PoolShare {
    worker: Worker<PoolGroup>,
    /// The members and the ranges of their values on the board, which are contiguous.
    members: Range<usize>,
    inputs: Range<usize>,
    outputs: Range<usize>,
    jacobian: Range<usize>,
    present: Range<usize>,
    matrices: Range<usize>,
    states: Range<usize>,
    locals: Range<usize>,
    /// Per stage: a simulator of the group steps in it.
    busy: Vec<bool>,
}

struct PoolGroup {
    team: SimulatorGroup,
    buffers: Buffers,
    task: Task,
    sources: Sources,
    result: Result<TaskOutcome, FaultOf>,
}

impl workers::WorkerGroup for PoolGroup {
    fn work(&mut self) {
        self.result = perform(&mut self.team, self.task, &self.sources, &mut self.buffers);
    }

    fn end(&mut self) {
        self.team.members.clear();
    }
}

impl SimulatorPool {
    /// Distributes the members over the threads in contiguous ranges.
    pub(crate) fn new(members: Vec<SimulatorSlot>, threads: usize, sources: Sources) -> SimulatorPool {
        let seldoms = members.iter().map(|member| &member.cold);
        let wires = seldoms.map(|seldom| seldom.byte_inputs.len()).sum();
        let mut shares = shares(members, threads).into_iter();
        let own = SimulatorGroup::new(shares.next().unwrap_or_default());
        SimulatorPool {
            own,
            shares: shares.map(|group| PoolShare::start(group, sources.clone(), wires)).collect(),
            sources,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        1 + self.shares.len()
    }

    /// Measures the wall time of each simulator's calls from now on. Results do not depend on it.
    pub(crate) fn take_times(&mut self) {
        self.own.spent = Some(vec![Duration::ZERO; self.own.members.len()]);
        for share in &self.shares {
            share.worker.at_rest(|PoolGroup { team, .. }| {
                team.spent = Some(vec![Duration::ZERO; team.members.len()]);
            });
        }
    }

    /// Wall times so far, per simulator; empty if not measured.
    pub(crate) fn spent(&self) -> Vec<Duration> {
        let mut all = self.own.spent.clone().unwrap_or_default();
        for share in &self.shares {
            share.worker.at_rest(|group| all.extend(group.team.spent.iter().flatten()));
        }
        all
    }

    /// Runs a task on all simulators, with the board's buffers as input and output. Of several faults, that of the smallest
    /// index is returned, for any thread count.
    pub(crate) fn run(&mut self, task: Task, board: &mut Buffers) -> Result<TaskOutcome, FaultOf> {
        for share in &self.shares {
            share.give(task, board);
        }
        let mut result = perform(&mut self.own, task, &self.sources, board);
        for share in &self.shares {
            result = merge(result, share.take(task, board));
        }
        result
    }
}

fn merge(a: Result<TaskOutcome, FaultOf>, b: Result<TaskOutcome, FaultOf>) -> Result<TaskOutcome, FaultOf> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(a.and(b)),
        (Err(a), Err(b)) => Err(if a.0 <= b.0 { a } else { b }),
        (Err(blamed), Ok(_)) | (Ok(_), Err(blamed)) => Err(blamed),
    }
}

impl PoolShare {
    fn start(mut members: Vec<SimulatorSlot>, sources: Sources, wires: usize) -> PoolShare {
        let inputs = own_places(members.iter_mut().map(|member| &mut member.inputs));
        let outputs = own_places(members.iter_mut().map(|member| &mut member.outputs));
        let jacobian = own_places(members.iter_mut().map(|member| &mut member.cold.jacobian));
        let states = own_places(members.iter_mut().map(|member| &mut member.cold.states));
        let locals = own_places(members.iter_mut().map(|member| &mut member.cold.locals));
        let models = |members: &mut Vec<SimulatorSlot>, of: fn(&mut ModelPlace) -> &mut Range<usize>| {
            own_places(members.iter_mut().filter_map(|member| member.cold.model.as_mut()).map(of))
        };
        let present = models(&mut members, |place| &mut place.present);
        let matrices = models(&mut members, |place| &mut place.matrices);
        let first = members.first().map_or(0, |member| member.index);
        members.iter_mut().for_each(|member| member.index -= first);
        let count = members.len();
        let buffers = Buffers {
            jacobian: vec![0.0; jacobian.len()],
            feedthrough: vec![0.0; jacobian.len()],
            operating_points: vec![0.0; present.len()],
            matrices: vec![0.0; matrices.len()],
            states: vec![0.0; states.len()],
            locals: vec![0.0; locals.len()],
            ..Buffers::new(inputs.len(), outputs.len(), count, wires)
        };
        let team = SimulatorGroup::new(members);
        let busy = team.stages.iter().map(|runs| !runs.is_empty()).collect();
        let group = PoolGroup {
            team,
            buffers,
            task: Task::Save(Slot::Probe),
            sources,
            result: Ok(TaskOutcome::default()),
        };
        let worker = Worker::start(group);
        let members = first..first + count;
        PoolShare { worker, members, inputs, outputs, jacobian, present, matrices, states, locals, busy }
    }

    /// No simulator of this group steps in the stage.
    fn idle(&self, task: Task) -> bool {
        matches!(task, Task::Advance { stage, .. } if !self.busy.get(stage).copied().unwrap_or(false))
    }

    fn give(&self, task: Task, board: &Buffers) {
        if !self.idle(task) {
            self.worker.give(|group| {
                self.fill(&mut group.buffers, task, board);
                group.task = match task {
                    Task::Tune { member, parameter, value } => {
                        let member = member.checked_sub(self.members.start).unwrap_or(usize::MAX);
                        Task::Tune { member, parameter, value }
                    }
                    other => other,
                };
            });
        }
    }

    /// Copies the inputs of a task to the share.
    fn fill(&self, own: &mut Buffers, task: Task, board: &Buffers) {
        match task {
            Task::Advance { .. }
            | Task::Settle { .. }
            | Task::Jacobian { .. }
            | Task::Linearise { .. }
            | Task::Rehearse(_)
            | Task::Read
            | Task::ExitInitialisation { .. } => {
                own.segments.copy_from_slice(&board.segments[self.inputs.clone()]);
                // A task may skip some members; their values must come back unchanged.
                own.outputs.copy_from_slice(&board.outputs[self.outputs.clone()]);
                own.slopes.copy_from_slice(&board.slopes[self.outputs.clone()]);
            }
            Task::SetStates => own.states.copy_from_slice(&board.states[self.states.clone()]),
            Task::Thaw => {
                own.serialized_states.clone_from_slice(&board.serialized_states[self.members.clone()])
            }
            Task::Lead => own.long_steps.copy_from_slice(&board.long_steps[self.members.clone()]),
            Task::Take(_) => own.bytes_in.clone_from_slice(&board.bytes_in),
            Task::Enter(_)
            | Task::Through { .. }
            | Task::Give(_)
            | Task::Save(_)
            | Task::Restore(_)
            | Task::GetStates
            | Task::ReadLocals
            | Task::Freeze
            | Task::Tune { .. } => {}
        }
    }

    fn take(&self, task: Task, board: &mut Buffers) -> Result<TaskOutcome, FaultOf> {
        if self.idle(task) {
            return Ok(TaskOutcome::default());
        }
        self.worker.take(|group| self.read(group, task, board))
    }

    /// Copies the results of a task to the board.
    fn read(&self, group: &mut PoolGroup, task: Task, board: &mut Buffers) -> Result<TaskOutcome, FaultOf> {
        if group.result.as_ref().is_ok_and(|outcome| outcome.event) {
            for (due, own) in board.due[self.members.clone()].iter_mut().zip(&mut group.buffers.due) {
                *due |= std::mem::take(own);
            }
        }
        let own = &group.buffers;
        match task {
            Task::Advance { .. } | Task::Settle { .. } | Task::Read => {
                board.outputs[self.outputs.clone()].copy_from_slice(&own.outputs);
                board.slopes[self.outputs.clone()].copy_from_slice(&own.slopes);
                board.integrals[self.outputs.clone()].copy_from_slice(&own.integrals);
            }
            Task::Jacobian { .. } => board.jacobian[self.jacobian.clone()].copy_from_slice(&own.jacobian),
            Task::Through { .. } => {
                board.feedthrough[self.jacobian.clone()].copy_from_slice(&own.feedthrough)
            }
            Task::Linearise { matrices } => {
                board.operating_points[self.present.clone()].copy_from_slice(&own.operating_points);
                if matrices {
                    board.matrices[self.matrices.clone()].copy_from_slice(&own.matrices);
                }
            }
            Task::ReadLocals => board.locals[self.locals.clone()].copy_from_slice(&own.locals),
            Task::GetStates => board.states[self.states.clone()].copy_from_slice(&own.states),
            Task::Freeze => {
                board.serialized_states[self.members.clone()].clone_from_slice(&own.serialized_states)
            }
            Task::Rehearse(_) => {
                board.rollback_checks[self.members.clone()].clone_from_slice(&own.rollback_checks)
            }
            Task::ExitInitialisation { .. } => {
                board.outputs[self.outputs.clone()].copy_from_slice(&own.outputs);
                board.notices[self.members.clone()].clone_from_slice(&own.notices);
            }
            Task::Lead => board.long_steps[self.members.clone()].fill(None),
            Task::Give(_) => {
                for (wire, _) in group.team.members.iter().flat_map(|member| &member.cold.byte_outputs) {
                    board.bytes_out[*wire].clone_from(&own.bytes_out[*wire]);
                }
            }
            Task::Enter(_)
            | Task::Take(_)
            | Task::Save(_)
            | Task::Restore(_)
            | Task::SetStates
            | Task::Thaw
            | Task::Tune { .. } => {}
        }
        let global = |place: usize| self.members.start + place;
        let ended = |outcome: TaskOutcome| outcome.ended.map(|(place, function)| (global(place), function));
        group
            .result
            .clone()
            .map(|outcome| TaskOutcome { ended: ended(outcome), ..outcome })
            .map_err(|(place, fault)| (global(place), fault))
    }
}

/// Turns contiguous ranges on the board into ranges of the local buffers.
fn own_places<'m>(places: impl Iterator<Item = &'m mut Range<usize>>) -> Range<usize> {
    let mut all = 0..0;
    for place in places {
        if all.is_empty() {
            all = place.start..place.start;
        }
        // Empty ranges have no position.
        if place.start == place.end {
            *place = 0..0;
            continue;
        }
        debug_assert_eq!(all.end, place.start, "neighbours");
        all.end = place.end;
        *place = place.start - all.start..place.end - all.start;
    }
    if all.is_empty() { 0..0 } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::method::JacobianWork;
    use cosimo_core::{
        Inputs, Interface, Outputs, Setup, Simulator, SimulatorError, StepResult, Time, Window,
    };

    /// Puts out a number, or panics if there is none.
    struct Number(Option<f64>, Interface);

    impl Simulator for Number {
        fn interface(&self) -> &Interface {
            &self.1
        }
        fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
            Ok(StepResult::end_of(window, 1))
        }
        fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
            out.values[0] = self.0.expect("a number");
            Ok(())
        }
    }

    /// One step of a stage on the given number of threads: what came out, and the outputs.
    fn step(
        numbers: &[(Option<f64>, usize)],
        stage: usize,
        threads: usize,
    ) -> (Result<u64, usize>, Vec<f64>) {
        let member = |(index, &(number, stage))| member(index, number, stage);
        let members = numbers.iter().enumerate().map(member).collect();
        let mut buffers = Buffers::new(0, numbers.len(), numbers.len(), 0);
        let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.0 };
        let result = SimulatorPool::new(members, threads, Sources::default())
            .run(Task::Advance { window, stage }, &mut buffers);
        (result.map(|outcome| outcome.evaluations).map_err(|(index, _)| index), buffers.outputs)
    }

    fn member(index: usize, number: Option<f64>, stage: usize) -> SimulatorSlot {
        let interface =
            Interface { inputs: vec![], outputs: vec![], feedthrough: vec![], ..Interface::default() };
        SimulatorSlot {
            index,
            simulator: Box::new(Number(number, interface)),
            inputs: 0..0,
            outputs: index..index + 1,
            offers_slopes: false,
            offers_integrals: false,
            cold: Box::new(ColdSlot {
                stage,
                states: 0..0,
                locals: 0..0,
                jacobian: 0..0,
                model: None,
                passes: vec![],
                has_jacobian: false,
                events_or_direct: true,
                byte_inputs: vec![],
                byte_outputs: vec![],
                work: JacobianWork::default(),
            }),
        }
    }

    #[test]
    fn only_those_of_the_stage_step() {
        let numbers = [(Some(1.0), 0), (Some(2.0), 1), (Some(3.0), 0), (Some(4.0), 1), (Some(5.0), 1)];
        for threads in [1, 2, 5] {
            assert_eq!(step(&numbers, 0, threads), (Ok(2), vec![1.0, 0.0, 3.0, 0.0, 0.0]));
            assert_eq!(step(&numbers, 1, threads), (Ok(3), vec![0.0, 2.0, 0.0, 4.0, 5.0]));
        }
    }

    #[test]
    fn times_are_measured_of_called_simulators_and_only_on_request() {
        for threads in [1, 2, 3] {
            let mut crew = SimulatorPool::new(
                (0..3).map(|k| member(k, Some(1.0), k % 2)).collect(),
                threads,
                Sources::default(),
            );
            let mut board = Buffers::new(0, 3, 3, 0);
            let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.0 };
            crew.run(Task::Advance { window, stage: 0 }, &mut board).unwrap();
            assert_eq!(crew.spent(), []);
            crew.take_times();
            for _ in 0..1000 {
                crew.run(Task::Advance { window, stage: 0 }, &mut board).unwrap();
            }
            let spent = crew.spent();
            assert!(!spent[0].is_zero() && spent[1].is_zero() && !spent[2].is_zero(), "{threads}: {spent:?}");
        }
    }

    #[test]
    fn the_first_fault_is_blamed_whatever_comes_after_it() {
        let (good, bad, panics) = (Some(1.0), Some(f64::NAN), None);
        for threads in [1, 2, 3] {
            for (numbers, blamed) in [
                ([good, bad, panics], 1),
                ([good, panics, bad], 1),
                ([bad, Some(f64::INFINITY), bad], 0),
                ([good, good, bad], 2),
            ] {
                assert_eq!(step(&numbers.map(|number| (number, 0)), 0, threads).0, Err(blamed));
            }
        }
        // A simulator that does not step in this stage is not checked.
        assert_eq!(step(&[(good, 0), (bad, 1)], 0, 1).0, Ok(1));
    }
}
