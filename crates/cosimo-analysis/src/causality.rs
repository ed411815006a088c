//! Causality of a bond: which side should have the effort as input? From the linearised system: how far an effort of 1,
//! held over one step, moves its receiver, as the effort that this motion causes; the same for the other side, as if the
//! spring were moved there; and the spectral radius with both causalities.
//!
//! Wu 2018, Sec. 5 and 7: a soft interface, a heavy receiver, and the higher degree of extrapolation for the input that
//! passes through.

use cosimo_core::{Bond, PowerVariable, Registry};
use cosimo_engine::{Layout, Topology};
use cosimo_system::System;
use serde::Serialize;

use crate::linalg::Matrix;
use crate::linearise::{LinearSystem, held_flow};
use crate::stability::radius;
use crate::variant::{started, with_methods};

/// Inputs that pass through a spring do so in a fixed ratio; how closely, so that differences may be rough.
const ALIKE: f64 = 1e-3;

/// From here on an interface is called stiff.
const STIFF: f64 = 0.5;

/// Input approximations that are compared.
const COMPARED: [&str; 4] = ["hold", "causal", "linear", "quadratic"];

/// Result of the linearised system for one bond.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    pub bond: String,
    /// Components.
    pub tells_effort: String,
    pub receives_effort: String,
    /// An effort that comes back larger than it went is too stiff for this step whatever the rest does; one that comes
    /// back at half its size needs little help from a motion that swings.
    pub stiff: bool,
    /// A unit effort, held over a step, moves the receiver so far that the effort changes by this.
    pub gain: f64,
    /// The same if the teller received it; `None` where the effort is no spring and damper that could be moved.
    pub gain_exchanged: Option<f64>,
    /// Of the whole system with held inputs and stale outputs.
    pub radius_held: f64,
    pub radius_exchanged: Option<f64>,
    /// The error of held inputs after the exchange, where a disturbance moves every state by 1.
    #[serde(skip)]
    pub error_exchanged: Option<f64>,
    /// The other way round would be better, and by how much is no matter of taste.
    pub exchange: bool,
    /// Inputs of the teller that its effort hears at once, and of the receiver: they want the higher and the lower degree.
    pub degree_1: Vec<String>,
    pub degree_0: Vec<String>,
}

/// What another input approximation does to the radius.
#[derive(Debug, Clone, Serialize)]
pub struct InputRadius {
    pub input: &'static str,
    pub radius: f64,
}

/// Measures other input approximations; those that the system cannot have are left out.
pub fn other_inputs(system: &System, registry: &Registry, at: Option<f64>, size: f64) -> Vec<InputRadius> {
    let measure = |input: &'static str| {
        let changed = with_methods(system, input, registry).ok()?;
        let found = radius(&mut started(&changed, registry, at).ok()?, size).ok()?;
        Some(InputRadius { input, radius: found.radius })
    };
    COMPARED.into_iter().filter_map(measure).collect()
}

/// Judges every bond between two simulators of which one tells the effort and the other the flow.
pub fn advise(linearised: &LinearSystem, layout: &Layout, size: f64) -> Vec<Advice> {
    let topology = &layout.topology;
    topology.bonds.iter().filter_map(|bond| judge(linearised, topology, bond, size)).collect()
}

fn judge(linearised: &LinearSystem, topology: &Topology, bond: &Bond, size: f64) -> Option<Advice> {
    let [one, two] = &bond.sides[..] else { return None };
    let (teller, receiver) = match (one.effort, two.effort) {
        (PowerVariable::Output(_), PowerVariable::Input(_)) => (one, two),
        (PowerVariable::Input(_), PowerVariable::Output(_)) => (two, one),
        _ => return None,
    };
    let (PowerVariable::Output(effort), PowerVariable::Input(felt)) = (teller.effort, receiver.effort) else {
        return None;
    };
    let place = |output: usize| linearised.outputs.iter().position(|known| *known == output);
    let effort = place(effort)?;
    let cut = CausalCut::of(linearised, effort, topology.owner(PowerVariable::Input(felt)));
    let radius = linearised.held_radius(size)?;
    let swapped = cut.swapped(linearised);
    let through = (topology.blocks[cut.teller].inputs.clone()).filter(|&input| {
        let mut terms = topology.couplings.terms(input).iter();
        terms.any(|term| place(term.output).is_some_and(|place| cut.motion.contains(&place)))
    });
    let ports = topology.ports();
    let gain = cut.gain(linearised, size);
    let gain_exchanged = swapped.as_ref().map(|swapped| swapped.gain(size));
    let error_exchanged = swapped.as_ref().and_then(|swapped| swapped.system.held_error(size));
    let radius_exchanged = swapped.and_then(|swapped| swapped.system.held_radius(size));
    let better = |other: f64| radius > 1.0 && other < radius;
    Some(Advice {
        bond: bond.name.clone(),
        tells_effort: topology.names[cut.teller].clone(),
        receives_effort: topology.names[cut.receiver].clone(),
        stiff: gain.abs() > STIFF,
        gain,
        gain_exchanged,
        radius_held: radius,
        radius_exchanged,
        error_exchanged,
        exchange: radius_exchanged.is_some_and(better)
            && gain_exchanged.is_some_and(|other| other.abs() < gain.abs()),
        degree_1: through.map(|input| ports.path(PowerVariable::Input(input))).collect(),
        degree_0: vec![ports.path(PowerVariable::Input(felt))],
    })
}

/// An effort, and the motion of the other side that it hears at once.
struct CausalCut {
    effort: usize,
    teller: usize,
    receiver: usize,
    /// Places among the outputs.
    motion: Vec<usize>,
}

/// The spring on the other side.
struct SwappedCausality {
    system: LinearSystem,
    /// How the effort moves the states of the one who told it before, and how these make the effort.
    push: Matrix,
    pull: Matrix,
}

impl CausalCut {
    fn of(linearised: &LinearSystem, effort: usize, receiver: usize) -> CausalCut {
        let motion = (0..linearised.outputs.len())
            .filter(|&j| linearised.owners[j] == receiver && linearised.d[(effort, j)] != 0.0)
            .collect();
        CausalCut { effort, teller: linearised.owners[effort], receiver, motion }
    }

    /// How much the effort changes through the motion of its receiver during one step, per effort. Where the effort hears
    /// of the motion only later, its answer over a step counts.
    fn gain(&self, linearised: &LinearSystem, size: f64) -> f64 {
        let answer = linearised.held_step(size);
        let x = linearised.a.nrows();
        let later = self.motion.is_empty();
        let heard = (0..linearised.outputs.len())
            .filter(|&j| linearised.owners[j] == self.receiver && (later || self.motion.contains(&j)));
        heard
            .map(|j| {
                let back =
                    if later { answer[(x + self.effort, x + j)] } else { linearised.d[(self.effort, j)] };
                back * answer[(x + j, x + self.effort)]
            })
            .sum()
    }

    /// The system with the spring and damper on the receiver's side. The effort is e = C_e x1 + sum of D_ej y_j; it moves the
    /// teller by x1' = ... + b e, as b D_ej is what y_j does to it. Without the spring, A1 loses b C_e and has e as an
    /// input; the receiver gets w = C_e x1 instead and makes e itself.
    fn swapped(&self, linearised: &LinearSystem) -> Option<SwappedCausality> {
        let LinearSystem { a, b, c, d, .. } = linearised;
        let (e, x, y) = (self.effort, a.nrows(), d.nrows());
        let own = linearised.states_of(self.teller);
        let other = linearised.states_of(self.receiver);
        let strongest = self.motion.iter().copied().max_by(|&j, &k| {
            let size = |j: usize| own.clone().map(|row| b[(row, j)].abs()).fold(0.0, f64::max);
            size(j).total_cmp(&size(k))
        })?;
        let push = Matrix::from_fn(x, 1, |row, _| {
            if own.contains(&row) { b[(row, strongest)] / d[(e, strongest)] } else { 0.0 }
        });
        let largest = (0..x).map(|row| push[(row, 0)].abs()).fold(0.0, f64::max);
        let alike = |&j: &usize| {
            let scale = d[(e, j)].abs() * largest;
            own.clone().all(|row| (b[(row, j)] - push[(row, 0)] * d[(e, j)]).abs() <= ALIKE * scale)
        };
        // No other component may use this effort, or have feed-through to the receiver's motion.
        let simple = |&j: &usize| (0..y).all(|k| d[(j, k)] == 0.0);
        if largest == 0.0 || !self.motion.iter().all(alike) || !self.motion.iter().all(simple) {
            return None;
        }
        let pull =
            Matrix::from_fn(1, x, |_, column| if own.contains(&column) { c[(e, column)] } else { 0.0 });
        let motion = Matrix::from_fn(1, x, |_, column| {
            self.motion.iter().map(|&j| d[(e, j)] * c[(j, column)]).sum::<f64>()
        });
        let new_a = Matrix::from_fn(x, x, |row, column| {
            let mut value = a[(row, column)] - push[(row, 0)] * pull[(0, column)];
            if other.contains(&row) {
                value += b[(row, e)] * motion[(0, column)];
            }
            value
        });
        // Outputs as before, but that of the effort is w; the effort itself comes last.
        let new_b = Matrix::from_fn(x, y + 1, |row, column| {
            if column == y {
                push[(row, 0)]
            } else if own.contains(&row) && self.motion.contains(&column) {
                0.0
            } else {
                b[(row, column)]
            }
        });
        let new_c = Matrix::from_fn(
            y + 1,
            x,
            |row, column| {
                if row == y { motion[(0, column)] } else { c[(row, column)] }
            },
        );
        let new_d = Matrix::from_fn(y + 1, y + 1, |row, column| match (row, column) {
            (row, column) if row == y => f64::from(column == e),
            (row, _) if row == e => 0.0,
            (_, column) if column == y => 0.0,
            (row, column) => d[(row, column)],
        });
        let system = LinearSystem {
            a: new_a,
            b: new_b,
            c: new_c,
            d: new_d,
            outputs: linearised.outputs.clone(),
            owners: linearised.owners.clone(),
            counts: linearised.counts.clone(),
        };
        Some(SwappedCausality { system, push, pull })
    }
}

impl SwappedCausality {
    /// As [`Cut::gain`], for the side that told the effort before.
    fn gain(&self, size: f64) -> f64 {
        let x = self.system.a.nrows();
        let flow = held_flow(&self.system.a, &self.push, size);
        (0..x).map(|row| self.pull[(0, row)] * flow[(row, x)]).sum()
    }
}
