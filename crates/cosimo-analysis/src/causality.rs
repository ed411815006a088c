//! Who should tell whom the effort? From the linearised system: how far a unit effort, held over one step, moves its
//! receiver, told as the effort that this motion causes; the same for the other side, as if the spring were moved over
//! there; and the radius of the cut as it is and of the cut as it would be then.
//!
//! Wu 2018, Sec. 5 and 7: a soft interface, a heavy receiver, and the higher degree of extrapolation for the input that
//! passes through.

use cosimo_core::{Bond, End};
use cosimo_engine::{Layout, Topology};

use crate::linalg::Matrix;
use crate::linearise::{Linearised, exponential};

/// Inputs that pass through a spring do so in a fixed ratio; how closely, so that differences may be rough.
const ALIKE: f64 = 1e-3;

/// From here on an interface is called stiff.
const STIFF: f64 = 0.5;

/// What the linearised system says about one bond.
#[derive(Debug, Clone)]
pub struct Advice {
    pub bond: String,
    /// Simulators: who tells the effort, and who receives it.
    pub teller: usize,
    pub receiver: usize,
    /// A unit effort, held over a step, moves the receiver so far that the effort changes by this.
    pub gain: f64,
    /// The same if the teller received it; `None` where the effort is no spring and damper that could be moved.
    pub other_gain: Option<f64>,
    /// Of the whole system with held inputs and stale outputs.
    pub radius: f64,
    pub other_radius: Option<f64>,
    /// Inputs of the teller that its effort hears at once, and of the receiver: they want the higher and the lower degree.
    pub through: Vec<usize>,
    pub integrated: Vec<usize>,
}

impl Advice {
    /// An effort that comes back larger than it went is too stiff for this step whatever the rest does; one that comes
    /// back at half its size needs little help from a motion that swings.
    pub fn stiff(&self) -> bool {
        self.gain.abs() > STIFF
    }

    /// The other way round would be better, and by how much is no matter of taste.
    pub fn swap(&self) -> bool {
        let worse = |radius: f64| self.radius > 1.0 && radius < self.radius;
        self.other_radius.is_some_and(worse)
            && self.other_gain.is_some_and(|gain| gain.abs() < self.gain.abs())
    }
}

/// Judges every bond between two simulators of which one tells the effort and the other the flow.
pub fn advise(linearised: &Linearised, layout: &Layout, size: f64) -> Vec<Advice> {
    let topology = &layout.topology;
    topology.bonds.iter().filter_map(|bond| judge(linearised, topology, bond, size)).collect()
}

fn judge(linearised: &Linearised, topology: &Topology, bond: &Bond, size: f64) -> Option<Advice> {
    let [one, two] = &bond.sides[..] else { return None };
    let (teller, receiver) = match (one.effort, two.effort) {
        (End::Output(_), End::Input(_)) => (one, two),
        (End::Input(_), End::Output(_)) => (two, one),
        _ => return None,
    };
    let (End::Output(effort), End::Input(felt)) = (teller.effort, receiver.effort) else { return None };
    let place = |output: usize| linearised.outputs.iter().position(|known| *known == output);
    let effort = place(effort)?;
    let cut = Cut::of(linearised, effort, topology.owner(End::Input(felt)));
    let radius = linearised.held_radius(size)?;
    let swapped = cut.swapped(linearised);
    let through = (topology.blocks[cut.teller].inputs.clone())
        .filter(|&input| {
            let mut terms = topology.couplings.terms(input).iter();
            terms.any(|term| place(term.output).is_some_and(|place| cut.motion.contains(&place)))
        })
        .collect();
    Some(Advice {
        bond: bond.name.clone(),
        teller: cut.teller,
        receiver: cut.receiver,
        gain: cut.gain(linearised, size),
        other_gain: swapped.as_ref().map(|swapped| swapped.gain(size)),
        radius,
        other_radius: swapped.and_then(|swapped| swapped.system.held_radius(size)),
        through,
        integrated: vec![felt],
    })
}

/// An effort, and the motion of the other side that it hears at once.
struct Cut {
    effort: usize,
    teller: usize,
    receiver: usize,
    /// Places among the outputs.
    motion: Vec<usize>,
}

/// The spring on the other side.
struct Swapped {
    system: Linearised,
    /// How the effort moves the states of the one who told it before, and how these make the effort.
    push: Matrix,
    pull: Matrix,
    a: Matrix,
}

impl Cut {
    fn of(linearised: &Linearised, effort: usize, receiver: usize) -> Cut {
        let motion = (0..linearised.outputs.len())
            .filter(|&j| linearised.owners[j] == receiver && linearised.d[(effort, j)] != 0.0)
            .collect();
        Cut { effort, teller: linearised.owners[effort], receiver, motion }
    }

    /// How much the effort changes through the motion of its receiver during one step, per effort. Where the effort hears
    /// of the motion only later, its answer over a step counts.
    fn gain(&self, linearised: &Linearised, size: f64) -> f64 {
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
    fn swapped(&self, linearised: &Linearised) -> Option<Swapped> {
        let Linearised { a, b, c, d, .. } = linearised;
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
        // Nobody else may hear this effort, or feed the receiver's motion at once.
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
        let system = Linearised {
            a: new_a.clone(),
            b: new_b,
            c: new_c,
            d: new_d,
            outputs: linearised.outputs.clone(),
            owners: linearised.owners.clone(),
            counts: linearised.counts.clone(),
        };
        Some(Swapped { system, push, pull, a: new_a })
    }
}

impl Swapped {
    /// As [`Cut::gain`], for the side that told the effort before.
    fn gain(&self, size: f64) -> f64 {
        let x = self.a.nrows();
        let generator = Matrix::from_fn(x + 1, x + 1, |row, column| match (row < x, column < x) {
            (true, true) => self.a[(row, column)],
            (true, false) => self.push[(row, 0)],
            _ => 0.0,
        });
        let flow = exponential(&generator, size);
        (0..x).map(|row| self.pull[(0, row)] * flow[(row, x)]).sum()
    }
}
