//! Masses on springs at both ends of a transmission line. The truth is the spring that the line stands for, of the stiffness
//! impedance / delay: its delay is what makes components independent of each other, and counts as an error.

use std::fmt::Write as _;

use super::Draft;
use crate::network::{Block, Form, Network, Wire};
use crate::random::Random;
use crate::truth::{Event, Rows, Truth};

/// Both ends with a spring between them, of which the run has no outputs.
struct Spring(Network);

/// Outputs of both ends.
const OUTPUTS: usize = 4;

impl Truth for Spring {
    fn names(&self) -> Vec<String> {
        self.0.names().into_iter().take(OUTPUTS).collect()
    }

    fn rows(&self, instants: &[f64]) -> Result<Rows, String> {
        let Rows { mut values, events } = self.0.rows(instants)?;
        values.iter_mut().for_each(|row| row.truncate(OUTPUTS));
        debug_assert_eq!(events, Vec::<Event>::new());
        Ok(Rows { values, events })
    }
}

pub(super) fn lines(random: &mut Random) -> Draft {
    let tolerance = random.log_between(1e-9, 1e-7);
    let mut end = |name: &str, sign: f64| {
        let mass = random.log_between(0.3, 3.0);
        let (frequency, share) = (random.log_between(0.5, 3.0), random.log_between(0.02, 0.3));
        let a = vec![0.0, 1.0, -frequency * frequency, -2.0 * share * frequency];
        // The flow into the line pushes the mass back.
        let parts = [a, vec![0.0, -sign / mass], vec![0.0, sign, 1.0, 0.0]];
        let start = vec![random.between(-1.0, 1.0), 0.0];
        let block = Block::linear(name, &["e [N]"], &["f [m/s]", "x [m]"], parts, start);
        Block { form: Form::Tolerant(tolerance), ..block }
    };
    let mut network = Network { blocks: vec![end("left", 1.0), end("right", -1.0)], ..Network::default() };
    let stiffness = random.log_between(0.5, 20.0);
    let delay = random.log_between(1e-3, 5e-2);
    let (of_network, designs) = network.text();
    let mut text = format!("[experiment]\nstop = {:?}\n\n{of_network}", random.between(8.0, 20.0));
    let _ = write!(
        text,
        "[[bond]]\nname = \"line\"\na = {{ effort = \"left.e\", flow = \"left.f\" }}\n\
         b = {{ effort = \"right.e\", flow = \"right.f\" }}\nopposite = \"flow\"\n\
         line = {{ delay = {delay:?}, stiffness = {stiffness:?} }}\n"
    );
    let parts = [vec![0.0], vec![stiffness; 2], vec![1.0]];
    network.blocks.push(Block::linear("spring", &["f1 [m/s]", "f2 [m/s]"], &["e [N]"], parts, vec![0.0]));
    for (from, to) in [((0, 0), (2, 0)), ((1, 0), (2, 1)), ((2, 0), (0, 0)), ((2, 0), (1, 0))] {
        network.wires.push(Wire { from, to, gain: 1.0 });
    }
    Draft { text, designs, truth: Box::new(Spring(network)), forms: "native-tol".into(), tolerance }
}
