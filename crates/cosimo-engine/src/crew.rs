//! Simulators and the threads they live on.
//!
//! A simulator is pinned: every call to it, the first included, comes from one thread, because many foreign
//! units are not re-entrant and some are bound to their thread. With one thread the coordinator itself makes
//! all calls, straight on the board's buffers. With more, each worker owns a group behind a mutex that is
//! never contended: the coordinator fills the group's inputs, bumps a counter and waits. Workers spin
//! briefly, then park: spinning alone collapses on a loaded machine. No call allocates.

mod team;

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use cosimo_core::{Rehearsal, Segment, Slot};

pub use self::team::{
    Blamed, Buffers, Fault, Member, Outcome, Seldom, Sources, Task, Who, Whose, in_simulator,
};
use self::team::{Team, perform};
pub(crate) use self::team::{earlier, guarded};

/// Turns of the spinning wait before a thread parks.
const SPINS: u32 = 200;

/// All simulators of an island.
pub struct Crew {
    /// Those of the coordinator's own thread, working on the board's buffers.
    own: Team,
    workers: Vec<Worker>,
    sources: Sources,
    /// Simulators of the coordinator's thread are pinned to it, so the crew cannot be sent to another.
    pinned: PhantomData<*const ()>,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Crew({} own, {} workers)", self.own.members.len(), self.workers.len())
    }
}

struct Worker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Where the group's values stand on the board, in the group's order.
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    jacobian: Vec<usize>,
    present: Vec<usize>,
    matrices: Vec<usize>,
    states: Vec<usize>,
    locals: Vec<usize>,
    indices: Vec<usize>,
    /// Per stage: somebody of the group steps in it.
    busy: Vec<bool>,
}

struct Shared {
    group: Mutex<Group>,
    /// Counts tasks given and tasks done.
    given: AtomicU32,
    done: AtomicU32,
    over: AtomicBool,
}

struct Group {
    team: Team,
    buffers: Buffers,
    task: Task,
    sources: Sources,
    result: Result<Outcome, Blamed>,
    coordinator: Option<Thread>,
}

impl Crew {
    /// Spreads the members over the threads, neighbours together.
    pub fn new(members: Vec<Member>, threads: usize, sources: Sources) -> Crew {
        let seldoms = members.iter().map(|member| &member.seldom);
        let wires = seldoms.map(|seldom| seldom.takes.len()).sum();
        let threads = threads.clamp(1, members.len().max(1));
        let share = members.len().div_ceil(threads);
        let mut rest = members.into_iter();
        let own = Team::new(rest.by_ref().take(share).collect());
        let mut workers = Vec::new();
        loop {
            let group: Vec<Member> = rest.by_ref().take(share).collect();
            if group.is_empty() {
                break;
            }
            workers.push(Worker::start(group, sources.clone(), wires));
        }
        Crew { own, workers, sources, pinned: PhantomData }
    }

    pub fn threads(&self) -> usize {
        1 + self.workers.len()
    }

    /// From now on takes the wall time inside each simulator's calls. No number of a run depends on it.
    pub fn take_times(&mut self) {
        self.own.spent = Some(vec![Duration::ZERO; self.own.members.len()]);
        for worker in &self.workers {
            let team = &mut worker.shared.lock().team;
            team.spent = Some(vec![Duration::ZERO; team.members.len()]);
        }
    }

    /// The times so far, simulator by simulator; empty where none are taken.
    pub fn spent(&self) -> Vec<Duration> {
        let mut all = self.own.spent.clone().unwrap_or_default();
        for worker in &self.workers {
            all.extend(worker.shared.lock().team.spent.iter().flatten());
        }
        all
    }

    /// Runs a task on everybody. The board's buffers are the input and the output; a fault is that of the
    /// simulator with the smallest index, whatever the number of threads.
    pub fn run(&mut self, task: Task, board: &mut Buffers) -> Result<Outcome, Blamed> {
        for worker in &mut self.workers {
            worker.give(task, board);
        }
        let mut result = perform(&mut self.own, task, &self.sources, board);
        for worker in &mut self.workers {
            result = merge(result, worker.take(task, board));
        }
        result
    }
}

fn merge(a: Result<Outcome, Blamed>, b: Result<Outcome, Blamed>) -> Result<Outcome, Blamed> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(Outcome {
            evaluations: a.evaluations + b.evaluations,
            next_event: earlier(a.next_event, b.next_event),
            event: a.event || b.event,
            ended: a.ended.or(b.ended),
        }),
        (Err(a), Err(b)) => Err(if a.0 <= b.0 { a } else { b }),
        (Err(blamed), Ok(_)) | (Ok(_), Err(blamed)) => Err(blamed),
    }
}

impl Worker {
    fn start(mut members: Vec<Member>, sources: Sources, wires: usize) -> Worker {
        let (mut inputs, mut outputs, mut jacobian, mut states) = (vec![], vec![], vec![], vec![]);
        let (mut present, mut matrices, mut locals) = (vec![], vec![], vec![]);
        let mut indices = Vec::new();
        for (place, member) in members.iter_mut().enumerate() {
            let local = |all: &mut Vec<usize>, range: &mut Range<usize>| {
                let start = all.len();
                all.extend(range.clone());
                *range = start..all.len();
            };
            local(&mut inputs, &mut member.inputs);
            local(&mut outputs, &mut member.outputs);
            local(&mut jacobian, &mut member.seldom.jacobian);
            local(&mut states, &mut member.seldom.states);
            local(&mut locals, &mut member.seldom.locals);
            if let Some(place) = &mut member.seldom.model {
                local(&mut present, &mut place.present);
                local(&mut matrices, &mut place.matrices);
            }
            indices.push(member.index);
            member.index = place;
        }
        let buffers = Buffers {
            segments: vec![Segment::ZERO; inputs.len()],
            left: vec![0.0; outputs.len()],
            slopes: vec![f64::NAN; outputs.len()],
            integrals: vec![f64::NAN; outputs.len()],
            jacobian: vec![0.0; jacobian.len()],
            through: vec![0.0; jacobian.len()],
            present: vec![0.0; present.len()],
            matrices: vec![0.0; matrices.len()],
            states: vec![0.0; states.len()],
            locals: vec![0.0; locals.len()],
            frozen: vec![Vec::new(); members.len()],
            rehearsals: vec![Rehearsal::default(); members.len()],
            notices: vec![Vec::new(); members.len()],
            leads: vec![None; members.len()],
            due: vec![false; members.len()],
            parcels: vec![Vec::new(); wires],
            given: vec![Vec::new(); wires],
        };
        let team = Team::new(members);
        let busy = team.stages.iter().map(|runs| !runs.is_empty()).collect();
        let group = Group {
            team,
            buffers,
            task: Task::Save(Slot::Probe),
            sources,
            result: Ok(Outcome::default()),
            coordinator: None,
        };
        let shared = Arc::new(Shared {
            group: Mutex::new(group),
            given: AtomicU32::new(0),
            done: AtomicU32::new(0),
            over: AtomicBool::new(false),
        });
        let seen = Arc::clone(&shared);
        let thread = thread::spawn(move || seen.serve());
        Worker {
            shared,
            thread: Some(thread),
            inputs,
            outputs,
            jacobian,
            present,
            matrices,
            states,
            locals,
            indices,
            busy,
        }
    }

    /// Nobody of this group steps in the stage.
    fn idle(&self, task: Task) -> bool {
        matches!(task, Task::Advance { stage, .. } if !self.busy.get(stage).copied().unwrap_or(false))
    }

    /// With the places that members have in this group.
    fn local(&self, task: Task) -> Task {
        match task {
            Task::Tune { member, parameter, value } => {
                let place = self.indices.iter().position(|index| *index == member);
                Task::Tune { member: place.unwrap_or(usize::MAX), parameter, value }
            }
            other => other,
        }
    }

    fn give(&mut self, task: Task, board: &Buffers) {
        if self.idle(task) {
            return;
        }
        let mut group = self.shared.lock();
        let group_buffers = &mut group.buffers;
        match task {
            Task::Advance { .. }
            | Task::Settle { .. }
            | Task::Jacobian { .. }
            | Task::Linearise { .. }
            | Task::Rehearse(_)
            | Task::Read
            | Task::ExitInitialisation { .. } => {
                for (local, &global) in group_buffers.segments.iter_mut().zip(&self.inputs) {
                    *local = board.segments[global];
                }
                // A settle may leave some members alone; what they had must come back unchanged.
                for (local, &global) in self.outputs.iter().enumerate() {
                    group_buffers.left[local] = board.left[global];
                    group_buffers.slopes[local] = board.slopes[global];
                }
            }
            Task::SetStates => {
                for (local, &global) in group_buffers.states.iter_mut().zip(&self.states) {
                    *local = board.states[global];
                }
            }
            Task::Thaw => {
                for (local, &global) in group_buffers.frozen.iter_mut().zip(&self.indices) {
                    local.clone_from(&board.frozen[global]);
                }
            }
            Task::Lead => {
                for (local, &global) in group_buffers.leads.iter_mut().zip(&self.indices) {
                    *local = board.leads[global];
                }
            }
            Task::Take(_) => {
                for (local, all) in group_buffers.parcels.iter_mut().zip(&board.parcels) {
                    local.clone_from(all);
                }
            }
            Task::Enter(_)
            | Task::Through { .. }
            | Task::Give(_)
            | Task::Save(_)
            | Task::Restore(_)
            | Task::GetStates
            | Task::ReadLocals
            | Task::Freeze => {}
            Task::Tune { .. } => {}
        }
        group.task = self.local(task);
        group.coordinator = Some(thread::current());
        drop(group);
        self.shared.given.fetch_add(1, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    fn take(&mut self, task: Task, board: &mut Buffers) -> Result<Outcome, Blamed> {
        if self.idle(task) {
            return Ok(Outcome::default());
        }
        let given = self.shared.given.load(Ordering::Relaxed);
        wait_until(|| self.shared.done.load(Ordering::Acquire) == given);
        let mut group = self.shared.lock();
        if group.result.as_ref().is_ok_and(|outcome| outcome.event) {
            for (due, &global) in group.buffers.due.iter_mut().zip(&self.indices) {
                board.due[global] |= std::mem::take(due);
            }
        }
        let group_buffers = &group.buffers;
        match task {
            Task::Advance { .. } | Task::Settle { .. } | Task::Read => {
                for (local, &global) in self.outputs.iter().enumerate() {
                    board.left[global] = group_buffers.left[local];
                    board.slopes[global] = group_buffers.slopes[local];
                    board.integrals[global] = group_buffers.integrals[local];
                }
            }
            Task::Jacobian { .. } => {
                for (value, &global) in group_buffers.jacobian.iter().zip(&self.jacobian) {
                    board.jacobian[global] = *value;
                }
            }
            Task::Through { .. } => {
                for (value, &global) in group_buffers.through.iter().zip(&self.jacobian) {
                    board.through[global] = *value;
                }
            }
            Task::Linearise { matrices } => {
                for (value, &global) in group_buffers.present.iter().zip(&self.present) {
                    board.present[global] = *value;
                }
                for (value, &global) in group_buffers.matrices.iter().zip(&self.matrices).filter(|_| matrices)
                {
                    board.matrices[global] = *value;
                }
            }
            Task::ReadLocals => {
                for (value, &global) in group_buffers.locals.iter().zip(&self.locals) {
                    board.locals[global] = *value;
                }
            }
            Task::GetStates => {
                for (value, &global) in group_buffers.states.iter().zip(&self.states) {
                    board.states[global] = *value;
                }
            }
            Task::Freeze => {
                for (bytes, &global) in group_buffers.frozen.iter().zip(&self.indices) {
                    board.frozen[global].clone_from(bytes);
                }
            }
            Task::Rehearse(_) => {
                for (rehearsal, &global) in group_buffers.rehearsals.iter().zip(&self.indices) {
                    board.rehearsals[global].clone_from(rehearsal);
                }
            }
            Task::ExitInitialisation { .. } => {
                for (local, &global) in self.outputs.iter().enumerate() {
                    board.left[global] = group_buffers.left[local];
                }
                for (notices, &global) in group_buffers.notices.iter().zip(&self.indices) {
                    board.notices[global].clone_from(notices);
                }
            }
            Task::Lead => {
                for &global in &self.indices {
                    board.leads[global] = None;
                }
            }
            Task::Give(_) => {
                let own = group.team.members.iter().flat_map(|member| &member.seldom.gives);
                for (wire, _) in own {
                    board.given[*wire].clone_from(&group_buffers.given[*wire]);
                }
            }
            Task::Enter(_)
            | Task::Take(_)
            | Task::Save(_)
            | Task::Restore(_)
            | Task::SetStates
            | Task::Thaw => {}
            Task::Tune { .. } => {}
        }
        let global = |outcome: Outcome| Outcome {
            ended: outcome.ended.map(|(place, function)| (self.indices[place], function)),
            ..outcome
        };
        group.result.clone().map(global).map_err(|(place, fault)| (self.indices[place], fault))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A worker that died has nothing left to say; its fault was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Panics of simulators are caught inside, so the lock is never poisoned by them.
    fn lock(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The worker's life.
    fn serve(&self) {
        let mut served = 0;
        loop {
            wait_until(|| self.over.load(Ordering::Acquire) || self.given.load(Ordering::Acquire) != served);
            if self.over.load(Ordering::Acquire) {
                break;
            }
            served = self.given.load(Ordering::Acquire);
            let mut group = self.lock();
            let Group { team, buffers, task, sources, result, coordinator } = &mut *group;
            *result = perform(team, *task, sources, buffers);
            let coordinator = coordinator.take();
            drop(group);
            self.done.store(served, Ordering::Release);
            if let Some(thread) = coordinator {
                thread.unpark();
            }
        }
        // Simulators are freed by the thread they lived on.
        self.lock().team.members.clear();
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..SPINS {
        if condition() {
            return;
        }
        std::hint::spin_loop();
    }
    while !condition() {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosimo_core::method::JacobianWork;
    use cosimo_core::{
        Abilities, Inputs, Interface, Outputs, Reached, Setup, Simulator, SimulatorError, Time, Trail, Window,
    };

    /// Puts out a number, or panics if there is none.
    struct Number(Option<f64>, Interface);

    impl Simulator for Number {
        fn interface(&self) -> &Interface {
            &self.1
        }
        fn enter(&mut self, _: &Setup) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn settle(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn advance(
            &mut self,
            window: Window,
            _: &Inputs<'_>,
            _: &mut Trail<'_>,
        ) -> Result<Reached, SimulatorError> {
            Ok(Reached::end_of(window, 1))
        }
        fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
            out.values[0] = self.0.expect("a number");
            Ok(())
        }
        fn save(&mut self, _: Slot) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn restore(&mut self, _: Slot) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn freeze(&mut self, _: &mut Vec<u8>) -> Result<(), SimulatorError> {
            Ok(())
        }
        fn thaw(&mut self, _: &[u8]) -> Result<(), SimulatorError> {
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
        let mut buffers = buffers(numbers.len());
        let window = Window { from: Time::ZERO, to: Time::ZERO, size: 0.0 };
        let result = Crew::new(members, threads, Sources::default())
            .run(Task::Advance { window, stage }, &mut buffers);
        (result.map(|outcome| outcome.evaluations).map_err(|(index, _)| index), buffers.left)
    }

    fn buffers(count: usize) -> Buffers {
        Buffers {
            left: vec![0.0; count],
            slopes: vec![f64::NAN; count],
            integrals: vec![f64::NAN; count],
            ..Buffers::default()
        }
    }

    fn member(index: usize, number: Option<f64>, stage: usize) -> Member {
        let interface = Interface {
            inputs: vec![],
            outputs: vec![],
            feedthrough: vec![],
            abilities: Abilities::NATIVE,
            ..Interface::default()
        };
        Member {
            index,
            simulator: Box::new(Number(number, interface)),
            inputs: 0..0,
            outputs: index..index + 1,
            offers_slopes: false,
            offers_integrals: false,
            seldom: Box::new(Seldom {
                stage,
                states: 0..0,
                locals: 0..0,
                jacobian: 0..0,
                model: None,
                passes: vec![],
                declares: false,
                lively: true,
                takes: vec![],
                gives: vec![],
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
    fn times_are_taken_of_everybody_who_is_called_and_only_where_asked_for() {
        for threads in [1, 2, 3] {
            let mut crew =
                Crew::new((0..3).map(|k| member(k, Some(1.0), k % 2)).collect(), threads, Sources::default());
            let mut board = buffers(3);
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
        // Somebody who does not step in this stage is not looked at.
        assert_eq!(step(&[(good, 0), (bad, 1)], 0, 1).0, Ok(1));
    }
}
