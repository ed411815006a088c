//! The classes of systems, and what makes one from a seed.

mod building;
mod events;
mod hard;
mod linear;
mod lines;
mod nonlinear;

use cosimo_export::Design;

use crate::random::Random;
use crate::truth::Truth;

/// What is expected of error bars in a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// Bars within a factor of two, hardly anything unknown.
    Smooth,
    /// Hardly anything unknown.
    Stiff,
    /// Nothing claimed that is wrong.
    Honest,
}

/// A kind of systems.
#[derive(Debug)]
pub struct Class {
    pub name: &'static str,
    pub demand: Demand,
    make: fn(&mut Random) -> Draft,
}

/// A system without its name.
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) designs: Vec<(String, Design)>,
    pub(crate) truth: Box<dyn Truth>,
    pub(crate) forms: String,
    /// The loosest relative tolerance of a solver inside a component.
    pub(crate) tolerance: f64,
}

/// A system with a known truth.
pub struct TestSystem {
    pub class: &'static Class,
    pub seed: u64,
    /// The system file.
    pub text: String,
    /// File names of FMUs, and what is in them.
    pub designs: Vec<(String, Design)>,
    pub truth: Box<dyn Truth>,
    pub forms: String,
    /// The loosest relative tolerance of a solver inside a component; 0 where all are exact.
    pub tolerance: f64,
}

impl std::fmt::Debug for TestSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TestSystem({})", self.about())
    }
}

impl TestSystem {
    /// To find it again.
    pub fn about(&self) -> String {
        format!("class {}, seed {:#x}, {}", self.class.name, self.seed, self.forms)
    }
}

/// All classes, in the order of the table.
pub const CLASSES: &[Class] = &[
    Class { name: "smooth", demand: Demand::Smooth, make: linear::smooth },
    Class { name: "oscillators", demand: Demand::Smooth, make: linear::oscillators },
    Class { name: "long", demand: Demand::Smooth, make: linear::long },
    Class { name: "fast-start", demand: Demand::Smooth, make: linear::fast_start },
    Class { name: "stiff", demand: Demand::Stiff, make: linear::stiff },
    Class { name: "frozen", demand: Demand::Honest, make: hard::frozen },
    Class { name: "nonlinear", demand: Demand::Smooth, make: nonlinear::nonlinear },
    Class { name: "aliased", demand: Demand::Honest, make: hard::aliased },
    Class { name: "events", demand: Demand::Honest, make: events::events },
    Class { name: "sampled", demand: Demand::Honest, make: hard::sampled },
    Class { name: "noisy", demand: Demand::Honest, make: hard::noisy },
    Class { name: "zero-power", demand: Demand::Smooth, make: linear::zero_power },
    Class { name: "multi-rate", demand: Demand::Smooth, make: linear::multi_rate },
    Class { name: "lines", demand: Demand::Honest, make: lines::lines },
];

impl Class {
    /// Seeds of systems, from that of a corpus. Each class has its own, so that classes can be run one by one.
    pub fn seeds(&self, corpus: u64, count: usize) -> Vec<u64> {
        let letters =
            self.name.bytes().fold(corpus, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let mut random = Random::new(letters);
        (0..count).map(|_| random.bits()).collect()
    }

    /// The system of a seed.
    pub fn system(&'static self, seed: u64) -> TestSystem {
        let Draft { text, designs, truth, forms, tolerance } = (self.make)(&mut Random::new(seed));
        TestSystem { class: self, seed, text, designs, truth, forms, tolerance }
    }
}
