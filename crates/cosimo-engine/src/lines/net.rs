//! All islands of a system, on threads of their own, moving in rounds.
//!
//! In a round every island steps for as long as the stamps that it has let it; then, with everybody at rest, what was
//! published is delivered in the order of the lines. Nothing else passes between islands, so their results are the same
//! for any number of threads. The first thread leads; with one thread nobody waits for anybody.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, JoinHandle};

use cosimo_core::SimulatorError;
use cosimo_core::line::Stamp;

use super::end::{EndTotals, Notice};
use super::frozen::Walk;
use super::isle::{Isle, Seed, lock};
use crate::crew::guarded;
use crate::summary::BondSummary;

/// A system of islands, before and while it runs. Shared by the simulators that show it.
pub struct Net {
    state: Mutex<State>,
    /// Names of the islands, and of their lines.
    pub(crate) names: Vec<String>,
    pub(crate) lines: Vec<String>,
    threads: Mutex<usize>,
}

enum State {
    Waiting(Vec<Seed>),
    Running(Running),
}

struct Running {
    leader: Option<JoinHandle<()>>,
    orders: SyncSender<Order>,
    answers: Receiver<Answer>,
    shared: Arc<Shared>,
    now: f64,
    /// The island that failed, and how. It cannot go on, but what it came to can still be asked for.
    fault: Option<(usize, SimulatorError)>,
}

#[derive(Clone, Copy)]
enum Order {
    /// All islands at or past an instant.
    To(f64),
    /// A new value of an input that nobody drives.
    Set {
        isle: usize,
        member: usize,
        input: usize,
        value: f64,
    },
    /// What they came to.
    Conclude,
    /// One of them to bytes, or back.
    Freeze(usize),
    Thaw(usize),
}

type Answer = Result<(), (usize, SimulatorError)>;

struct Shared {
    fronts: Vec<Mutex<Front>>,
    /// Both sides of each line: island and end.
    ends: Vec<[(usize, usize); 2]>,
}

/// What an island and the others show each other.
#[derive(Default)]
struct Front {
    time: f64,
    incoming: Vec<Vec<Stamp>>,
    heard: Vec<Notice>,
    outgoing: Vec<Vec<Stamp>>,
    said: Vec<Notice>,
    /// Rows since the one before what is shown: time and values.
    rows: VecDeque<f64>,
    width: usize,
    shown: Vec<f64>,
    inputs: Vec<(usize, usize, f64)>,
    moved: bool,
    fault: Option<SimulatorError>,
    frozen: Vec<u8>,
    totals: IsleTotals,
    ends: Vec<(EndTotals, f64)>,
}

/// What an island did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IsleTotals {
    pub name: String,
    pub steps: u64,
    pub taken_back: u64,
    pub evaluations: u64,
    pub bonds: Vec<BondSummary>,
}

/// What a line did.
#[derive(Debug, Clone, PartialEq)]
pub struct LineTotals {
    pub name: String,
    pub ends: [EndTotals; 2],
    /// Energy that went in at both ends, and what of it is still on its way, in joules.
    pub entered: f64,
    pub stored: f64,
}

impl LineTotals {
    /// Energy that the line made or lost: a line of constant delay keeps all of it.
    pub fn defect(&self) -> f64 {
        self.stored - self.entered
    }

    /// By how much the flows at the start do not meet, as a part of the larger one. A line that begins so begins with a jump
    /// that nobody caused.
    pub fn gap(&self) -> f64 {
        let [a, b] = [0, 1].map(|side| self.ends[side].first_flow);
        let largest = a.abs().max(b.abs());
        if largest > 0.0 { (a + b).abs() / largest } else { 0.0 }
    }

    /// The energy that passed, whichever way.
    pub fn exchanged(&self) -> f64 {
        self.ends.iter().map(|end| end.stats.exchanged).sum::<f64>() / 2.0
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct NetTotals {
    pub islands: Vec<IsleTotals>,
    pub lines: Vec<LineTotals>,
    /// Reads of what nobody had published yet. There are none.
    pub beyond: u64,
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Net({:?})", self.names)
    }
}

impl Net {
    pub(crate) fn new(seeds: Vec<Seed>, names: Vec<String>, lines: Vec<String>) -> Net {
        Net { state: Mutex::new(State::Waiting(seeds)), names, lines, threads: Mutex::new(1) }
    }

    /// How many threads it may use, from its start on.
    pub(crate) fn use_threads(&self, threads: usize) {
        *lock(&self.threads) = threads;
    }

    /// Islands are made where they will live, and stand at the start. Said by everybody who shows one; done once. An error
    /// is that of the asking island.
    pub(crate) fn enter(&self, isle: usize, start: f64) -> Result<(), SimulatorError> {
        let mut state = lock(&self.state);
        if let State::Waiting(seeds) = &mut *state {
            let seeds = std::mem::take(seeds);
            let threads = *lock(&self.threads);
            let mut running = Running::start(seeds, self.lines.len(), threads, start);
            running.obey(Order::To(start));
            *state = State::Running(running);
        }
        match &*state {
            State::Running(running) => running.blame(isle),
            State::Waiting(_) => Ok(()),
        }
    }

    /// All islands at or past an instant, and what they show there.
    pub(crate) fn reach(&self, isle: usize, t: f64) -> Result<(), SimulatorError> {
        self.running(|running| {
            if t > running.now && running.fault.is_none() {
                running.now = t;
                running.obey(Order::To(t));
            }
            running.blame(isle)
        })
    }

    /// A value that an island shows at the instant that was reached last.
    pub(crate) fn shown(
        &self,
        isle: usize,
        places: impl Iterator<Item = usize>,
        into: &mut [f64],
    ) -> Result<(), SimulatorError> {
        self.running(|running| {
            let front = lock(&running.shared.fronts[isle]);
            for (value, place) in into.iter_mut().zip(places) {
                *value = front.shown.get(place).copied().unwrap_or(f64::NAN);
            }
            Ok(())
        })
    }

    /// A new value of an input that nobody drives.
    pub(crate) fn set_input(
        &self,
        isle: usize,
        member: usize,
        input: usize,
        value: f64,
    ) -> Result<(), SimulatorError> {
        self.running(|running| {
            running.obey(Order::Set { isle, member, input, value });
            running.blame(isle)
        })
    }

    /// One island as bytes, with what is on its way to it.
    pub(crate) fn freeze(&self, isle: usize) -> Result<Vec<u8>, SimulatorError> {
        self.running(|running| {
            running.obey(Order::Freeze(isle));
            running.blame(isle)?;
            Ok(std::mem::take(&mut lock(&running.shared.fronts[isle]).frozen))
        })
    }

    pub(crate) fn thaw(&self, isle: usize, bytes: Vec<u8>) -> Result<(), SimulatorError> {
        self.running(|running| {
            lock(&running.shared.fronts[isle]).frozen = bytes;
            running.obey(Order::Thaw(isle));
            running.blame(isle)
        })
    }

    fn running<R>(
        &self,
        work: impl FnOnce(&mut Running) -> Result<R, SimulatorError>,
    ) -> Result<R, SimulatorError> {
        match &mut *lock(&self.state) {
            State::Running(running) => work(running),
            State::Waiting(_) => {
                Err(SimulatorError::new("enter", "the islands of this system are not running"))
            }
        }
    }

    pub fn totals(&self) -> NetTotals {
        let totals = self.running(|running| {
            running.obey(Order::Conclude);
            Ok(running.totals(&self.names, &self.lines))
        });
        totals.unwrap_or_default()
    }
}

impl Running {
    fn start(seeds: Vec<Seed>, lines: usize, threads: usize, start: f64) -> Running {
        let mut ends = vec![[(0, 0); 2]; lines];
        let mut fronts = Vec::new();
        for (isle, seed) in seeds.iter().enumerate() {
            for (place, end) in seed.ends.iter().enumerate() {
                ends[end.line][end.side] = (isle, place);
            }
            let count = seed.ends.len();
            fronts.push(Mutex::new(Front {
                time: start,
                incoming: vec![Vec::new(); count],
                outgoing: vec![Vec::new(); count],
                heard: vec![Notice::default(); count],
                said: vec![Notice::default(); count],
                ..Front::default()
            }));
        }
        let shared = Arc::new(Shared { fronts, ends });
        let threads = threads.clamp(1, seeds.len().max(1));
        let share = seeds.len().div_ceil(threads).max(1);
        let mut rest = seeds.into_iter().enumerate();
        let first: Vec<(usize, Seed)> = rest.by_ref().take(share).collect();
        let mut crews = Vec::new();
        loop {
            let crew: Vec<(usize, Seed)> = rest.by_ref().take(share).collect();
            if crew.is_empty() {
                break;
            }
            crews.push(crew);
        }
        // With room for one, which is there from the start: there is never more than one.
        let (orders, obeyed) = sync_channel(1);
        let (answering, answers) = sync_channel(1);
        let seen = Arc::clone(&shared);
        let leader = thread::spawn(move || lead(first, crews, &seen, &obeyed, &answering));
        Running { leader: Some(leader), orders, answers, shared, now: start, fault: None }
    }

    fn obey(&mut self, order: Order) {
        let sent = self.orders.send(order).is_ok();
        let answer = self.answers.recv().ok().filter(|_| sent);
        let gone = || Err((0, SimulatorError::new("step", "the thread of the islands ended")));
        if let Err(fault) = answer.unwrap_or_else(gone) {
            self.fault.get_or_insert(fault);
        }
    }

    /// The fault, if it is this island's.
    fn blame(&self, isle: usize) -> Result<(), SimulatorError> {
        match &self.fault {
            Some((guilty, fault)) if *guilty == isle => Err(fault.clone()),
            _ => Ok(()),
        }
    }

    fn totals(&self, names: &[String], lines: &[String]) -> NetTotals {
        let fronts: Vec<_> = self.shared.fronts.iter().map(lock).collect();
        let of = |(isle, end): (usize, usize)| fronts[isle].ends.get(end).cloned();
        let both = |(name, sides): (&String, &[(usize, usize); 2])| {
            let [(a, sent_a), (b, sent_b)] = [of(sides[0])?, of(sides[1])?];
            let entered = a.stats.energy + b.stats.energy;
            Some(LineTotals { name: name.clone(), ends: [a, b], entered, stored: sent_a + sent_b })
        };
        let lines: Vec<LineTotals> = lines.iter().zip(&self.shared.ends).filter_map(both).collect();
        let named = |(name, front): (&String, &std::sync::MutexGuard<'_, Front>)| IsleTotals {
            name: name.clone(),
            ..front.totals.clone()
        };
        NetTotals {
            islands: names.iter().zip(&fronts).map(named).collect(),
            beyond: lines.iter().flat_map(|line| &line.ends).map(|end| end.beyond).sum(),
            lines,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without orders the leader ends, and everybody with him.
        self.orders = sync_channel(1).0;
        if let Some(leader) = self.leader.take() {
            let _ = leader.join();
        }
    }
}

/// Islands on one thread.
struct Crew {
    isles: Vec<(usize, Option<Isle>)>,
}

impl Crew {
    fn make(seeds: Vec<(usize, Seed)>, shared: &Shared) -> Crew {
        let make = |(index, seed): (usize, Seed)| {
            let mut front = lock(&shared.fronts[index]);
            let made = blamed(|| Isle::new(seed)).map(|mut isle| {
                front.show_first(&mut isle);
                isle
            });
            (index, made.map_err(|fault| front.fault = Some(fault)).ok())
        };
        Crew { isles: seeds.into_iter().map(make).collect() }
    }

    fn work(&mut self, order: Order, shared: &Shared) {
        for (index, isle) in &mut self.isles {
            let Some(isle) = isle else { continue };
            let mut front = lock(&shared.fronts[*index]);
            match order {
                Order::To(t) => {
                    if let Err(fault) = blamed(|| front.round(isle, t)) {
                        front.fault = Some(fault);
                    }
                }
                Order::Freeze(wanted) | Order::Thaw(wanted) if wanted == *index => {
                    let work = || match order {
                        Order::Freeze(_) => front.freeze(isle),
                        _ => front.thaw(isle),
                    };
                    if let Err(fault) = blamed(work) {
                        front.fault = Some(fault);
                    }
                }
                Order::Conclude => front.conclude(isle),
                _ => {}
            }
        }
    }
}

/// A panic in a simulator is its fault, not the engine's.
fn blamed<R>(work: impl FnOnce() -> Result<R, SimulatorError>) -> Result<R, SimulatorError> {
    guarded(work)
        .unwrap_or_else(|message| Err(SimulatorError::new("step", format!("it panicked: {message}"))))
}

impl Front {
    fn show_first(&mut self, isle: &mut Isle) {
        self.note(isle);
        self.width = self.rows.len();
        self.publish(isle);
    }

    fn round(&mut self, isle: &mut Isle, until: f64) -> Result<(), SimulatorError> {
        for (member, input, value) in self.inputs.drain(..) {
            isle.set_input(member, input, value);
        }
        let mut incoming = std::mem::take(&mut self.incoming);
        let heard = std::mem::take(&mut self.heard);
        let moved = isle.round(&mut incoming, &heard, until, |isle| self.note(isle));
        self.incoming = incoming;
        self.heard = heard;
        self.publish(isle);
        self.moved = moved?;
        Ok(())
    }

    /// A row of what the island shows now.
    fn note(&mut self, isle: &mut Isle) {
        self.time = isle.time;
        self.shown.clear();
        self.shown.push(isle.time);
        isle.row(&mut self.shown);
        self.rows.extend(&self.shown);
    }

    fn publish(&mut self, isle: &mut Isle) {
        let (outgoing, said) = (&mut self.outgoing, &mut self.said);
        isle.with_ends(|ends| {
            for ((end, out), said) in ends.iter_mut().zip(outgoing).zip(said) {
                out.append(&mut end.outbox);
                end.notice.factor = end.factor;
                *said = end.notice;
                end.notice.shrunk = false;
            }
        });
    }

    /// What people want to know in the end.
    fn conclude(&mut self, isle: &mut Isle) {
        let (now, elapsed) = (isle.time, isle.time - isle.start);
        let ends = &mut self.ends;
        isle.with_ends(|own| {
            ends.clear();
            ends.extend(own.iter().map(|end| (end.totals(elapsed), end.stored(now))));
        });
        self.totals = IsleTotals {
            name: String::new(),
            steps: isle.steps,
            taken_back: isle.rejected(),
            evaluations: isle.evaluations,
            bonds: isle.bonds(),
        };
    }

    fn freeze(&mut self, isle: &mut Isle) -> Result<(), SimulatorError> {
        let mut bytes = Vec::new();
        let mut walk = Walk::Write(&mut bytes);
        self.walk(&mut walk);
        isle.walk(&mut walk)?;
        walk.end()?;
        self.frozen = bytes;
        Ok(())
    }

    fn thaw(&mut self, isle: &mut Isle) -> Result<(), SimulatorError> {
        let bytes = std::mem::take(&mut self.frozen);
        let mut walk = Walk::Read(Some(&bytes));
        self.walk(&mut walk);
        isle.walk(&mut walk)?;
        walk.end()
    }

    /// Over everything that the next round may read, and what is shown.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.number(&mut self.time);
        self.incoming.iter_mut().for_each(|stamps| walk.stamps(stamps));
        self.outgoing.iter_mut().for_each(|stamps| walk.stamps(stamps));
        self.heard.iter_mut().chain(&mut self.said).for_each(|notice| notice.walk(walk));
        let flat =
            self.inputs.iter().flat_map(|(member, input, value)| [*member as f64, *input as f64, *value]);
        let mut flat: Vec<f64> = flat.collect();
        walk.list(&mut flat);
        self.inputs = flat.chunks_exact(3).map(|set| (set[0] as usize, set[1] as usize, set[2])).collect();
        walk.queue(&mut self.rows);
        walk.list(&mut self.shown);
    }

    /// What it showed at an instant: between two rows evenly.
    fn show(&mut self, t: f64) {
        let width = self.width;
        let time = |rows: &VecDeque<f64>, row: usize| rows[row * width];
        // Of two rows of one instant the second counts.
        while self.rows.len() > width && time(&self.rows, 1) <= t {
            self.rows.drain(..width);
        }
        let rows = &self.rows;
        let part = if rows.len() > width {
            ((t - time(rows, 0)) / (time(rows, 1) - time(rows, 0))).max(0.0)
        } else {
            0.0
        };
        self.shown.clear();
        for place in 1..width {
            let a = rows[place];
            self.shown.push(if part > 0.0 { a + part * (rows[width + place] - a) } else { a });
        }
    }
}

/// The life of the first thread.
fn lead(
    seeds: Vec<(usize, Seed)>,
    crews: Vec<Vec<(usize, Seed)>>,
    shared: &Arc<Shared>,
    orders: &Receiver<Order>,
    answers: &SyncSender<Answer>,
) {
    let gate = Arc::new(Barrier::new(crews.len() + 1));
    // What the others are to do when the gate opens; nothing any more ends them.
    let task = Arc::new(Mutex::new(None));
    let mut helpers: Vec<JoinHandle<()>> = Vec::new();
    for crew in crews {
        let (gate, task, shared) = (Arc::clone(&gate), Arc::clone(&task), Arc::clone(shared));
        helpers.push(thread::spawn(move || {
            let mut crew = Crew::make(crew, &shared);
            gate.wait();
            loop {
                gate.wait();
                let Some(order) = *lock(&task) else { return };
                crew.work(order, &shared);
                gate.wait();
            }
        }));
    }
    let mut own = Crew::make(seeds, shared);
    gate.wait();
    let mut everybody = |order: Order| {
        *lock(&task) = Some(order);
        gate.wait();
        own.work(order, shared);
        gate.wait();
    };
    let guilty = || {
        let faults = shared.fronts.iter().enumerate();
        faults.into_iter().find_map(|(isle, front)| Some((isle, lock(front).fault.clone()?)))
    };
    let mut fault = guilty();
    if fault.is_none() {
        deliver(shared);
    }
    while let Ok(order) = orders.recv() {
        match order {
            Order::Set { isle, member, input, value } => {
                lock(&shared.fronts[isle]).inputs.push((member, input, value));
            }
            Order::Conclude => everybody(order),
            Order::Freeze(_) | Order::Thaw(_) => {
                everybody(order);
                fault = fault.take().or_else(&guilty);
            }
            Order::To(t) => {
                while fault.is_none() && shared.fronts.iter().any(|front| lock(front).time < t) {
                    everybody(order);
                    fault = guilty();
                    if fault.is_none() && shared.fronts.iter().all(|front| !lock(front).moved) {
                        let words =
                            "no island can go on: each waits for another; this is a mistake in Cosimo";
                        fault = Some((0, SimulatorError::new("step", words)));
                    }
                    deliver(shared);
                }
                shared.fronts.iter().for_each(|front| lock(front).show(t));
            }
        }
        if answers.send(fault.clone().map_or(Ok(()), Err)).is_err() {
            break;
        }
    }
    *lock(&task) = None;
    gate.wait();
    for helper in helpers {
        let _ = helper.join();
    }
}

/// Stamps and notices to the other side, line by line.
fn deliver(shared: &Shared) {
    for sides in &shared.ends {
        for side in 0..2 {
            let ((from, end), (to, other)) = (sides[side], sides[1 - side]);
            let (mut stamps, notice) = {
                let mut front = lock(&shared.fronts[from]);
                (std::mem::take(&mut front.outgoing[end]), front.said[end])
            };
            {
                let mut front = lock(&shared.fronts[to]);
                front.incoming[other].append(&mut stamps);
                front.heard[other] = notice;
            }
            lock(&shared.fronts[from]).outgoing[end] = stamps;
        }
    }
}
