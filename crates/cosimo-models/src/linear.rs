//! Linear equations given as matrices in the system file: x' = A x + B u + drift, y = C x + D u; or, as a sampled
//! controller, x(k+1) = A x(k) + B u(k) + drift, y(k) = C x(k) at the ends of its own steps.
//!
//! ```toml
//! [component.mass]
//! source = "native:linear"
//! parameters = { inputs = ["F [N]"], outputs = ["v [m/s]"], A = [[-0.1]], B = [[2.0]], C = [[1.0]], x0 = [1.0] }
//! ```

use cosimo_core::registry::{ModelInfo, OpenProblem, OpenRequest, OpenResult};
use cosimo_core::simulator::{Memory, Rollback, SerializeState};
use cosimo_core::{
    Abilities, Inputs, Interface, Options, Outputs, Port, Setup, Simulator, SimulatorError, SourceEntry,
    Spec, StepResult, Time, Window,
};
use cosimo_native::native_hybrid::{ABSOLUTE, RELATIVE};
use cosimo_native::solver::MICRO_STEPS;
use cosimo_native::{Hybrid, Linear, NativeHybrid, Ode};

use crate::resolve;

const SOURCE: &str = "native:linear";

const PARAMETERS: &[Spec] = &[
    Spec::names("inputs", "names of the inputs, such as `F [N]`; `u1`, `u2`, .. if not given"),
    Spec::names("outputs", "names of the outputs; `y1`, `y2`, .. if not given"),
    Spec::matrix("A", "states to derivatives; of a sampled controller, to the next states"),
    Spec::matrix(
        "B",
        "inputs to derivatives, or to the next states; a list is a column where there is one input",
    ),
    Spec::matrix("C", "states to outputs; the states themselves if not given"),
    Spec::matrix("D", "inputs to outputs; zero if not given, and for a sampled controller"),
    Spec::matrix("x0", "states at the start; zero if not given"),
    Spec::matrix("drift", "constant part of the derivatives, or of the next states; zero if not given"),
    Spec::flag(
        "sampled",
        false,
        "a sampled controller: it sees its inputs at the start of each of its steps",
    ),
    Spec::choice(
        "solver",
        "exact",
        &["exact", "bdf", "dormand-prince", "bogacki-shampine", "rk4"],
        "the inner solver; `rk4` takes fixed steps, `bdf` and the next two control the error",
    ),
    RELATIVE,
    ABSOLUTE,
    MICRO_STEPS,
];

/// The source `native:linear`. Before [`crate::NATIVE`] in a registry, as both claim it.
pub const LINEAR: SourceEntry = SourceEntry {
    name: "linear",
    summary: "linear equations, given as matrices",
    claims: |source| source == SOURCE,
    open: |request| match LinearDesign::read(request)? {
        design if design.sampled => Ok(Box::new(SampledLinear::new(design.equations))),
        design if design.options.text("solver") == "exact" => Ok(Box::new(Ode::exact(design.equations))),
        design => Ok(Box::new(NativeHybrid::of(design.equations, &design.options))),
    },
    parameters: |_, _| PARAMETERS.iter().map(Into::into).collect(),
    models: || {
        let summary = "linear equations from matrices, or a sampled controller";
        vec![ModelInfo { name: "linear".into(), summary, parameters: PARAMETERS }]
    },
    join: None,
};

/// The equations without a solver; none of a sampled controller.
pub(crate) fn equations(request: &OpenRequest<'_>) -> Result<Option<Box<dyn Hybrid>>, Vec<OpenProblem>> {
    let design = LinearDesign::read(request)?;
    Ok((!design.sampled).then(|| Box::new(design.equations) as Box<dyn Hybrid>))
}

pub(crate) fn claims(source: &str) -> bool {
    source == SOURCE
}

/// What the parameters ask for.
struct LinearDesign {
    equations: Linear,
    sampled: bool,
    options: Options,
}

/// Reads matrices whose sizes follow from each other, and keeps all problems.
struct Sizes<'a> {
    options: &'a Options,
    problems: Vec<OpenProblem>,
}

impl Sizes<'_> {
    fn problem(&mut self, parameter: &str, message: String, hint: &str) {
        let (parameter, hint) = (Some(parameter.to_owned()), Some(hint.to_owned()));
        self.problems.push(OpenProblem { parameter, message, hint });
    }

    /// A matrix by rows; `otherwise` where it is not given. A list is a column where one is expected.
    fn matrix(
        &mut self,
        name: &str,
        [rows, columns]: [usize; 2],
        otherwise: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let given = self.options.matrix(name);
        let width = given.first().map_or(0, Vec::len);
        let column = columns == 1 && given.len() == 1 && width == rows;
        if given.is_empty() || rows * columns == 0 && width == 0 {
            return (0..rows * columns).map(otherwise).collect();
        }
        if !column && (given.len(), width) != (rows, columns) {
            let message = format!(
                "`{name}` of {SOURCE} must have {rows} x {columns} numbers, got {} x {width}",
                given.len()
            );
            self.problem(
                name,
                message,
                "`A` has a row per state, `B` a column per input, `C` a row per output",
            );
        }
        given.concat()
    }

    /// Ports by their names, or numbered; a unit is in brackets behind the name.
    fn ports(&mut self, name: &str, count: usize, letter: &str) -> Vec<Port> {
        let mut names = self.options.names(name);
        if names.is_empty() {
            names = (1..=count).map(|place| format!("{letter}{place}")).collect();
        }
        let mut ports: Vec<Port> = Vec::new();
        for text in &names {
            let (port, unit) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
                Some((port, unit)) => (port.trim(), Some(unit.trim())),
                None => (text.trim(), None),
            };
            if port.is_empty() || ports.iter().any(|other| other.name == port) {
                self.problem(
                    name,
                    format!("`{text}` in `{name}` of {SOURCE} must be a name that no other has"),
                    "write `name`, or `name [unit]`",
                );
            }
            if unit.is_some_and(|unit| cosimo_core::Unit::parse(unit).is_err()) {
                self.problem(name, format!("`{text}` in `{name}` has no known unit"), "such as `v [m/s]`");
            }
            let known = Port::new(port, unit.unwrap_or_default(), "");
            ports.push(if unit.is_some() { known } else { Port { unit: None, ..known } });
        }
        ports
    }
}

impl LinearDesign {
    fn read(request: &OpenRequest<'_>) -> Result<LinearDesign, Vec<OpenProblem>> {
        let options = resolve("linear", PARAMETERS, request.parameters)?;
        let mut sizes = Sizes { options: &options, problems: Vec::new() };
        let count = |name: &str| options.matrix(name).len();
        let width = |name: &str| options.matrix(name).first().map_or(0, Vec::len);
        let states = count("A");
        let named = |name: &str| options.names(name).len();
        let inputs = match (named("inputs"), count("B")) {
            (0, 0) => width("D"),
            (0, 1) if states != 1 => 1, // a list as a column
            (0, _) => width("B"),
            (names, _) => names,
        };
        let outputs = match (named("outputs"), count("C").max(count("D"))) {
            (0, 0) => states,
            (0, rows) => rows,
            (names, _) => names,
        };
        if states == 0 && count("D") == 0 {
            sizes.problem(
                "A",
                format!("{SOURCE} needs the matrix `A` or `D`"),
                "such as A = [[-1.0]], B = [[1.0]]",
            );
        }
        let zero = |_: usize| 0.0;
        let same = |place: usize| f64::from(u8::from(place / states.max(1) == place % states.max(1)));
        if count("C") == 0 && states > 0 && outputs != states {
            sizes.problem(
                "C",
                format!("{SOURCE} with {outputs} outputs of {states} states needs `C`"),
                "a row per output",
            );
        }
        if inputs > 0 && count("B") == 0 && count("D") == 0 {
            sizes.problem(
                "B",
                format!("{SOURCE} with inputs needs the matrix `B` or `D`"),
                "a column per input",
            );
        }
        let equations = Linear {
            a: sizes.matrix("A", [states, states], zero),
            b: sizes.matrix("B", [states, inputs], zero),
            c: sizes.matrix("C", [outputs, states], same),
            d: sizes.matrix("D", [outputs, inputs], zero),
            initial: sizes.matrix("x0", [states, 1], zero),
            drift: sizes.matrix("drift", [states, 1], zero),
            inputs: sizes.ports("inputs", inputs, "u"),
            outputs: sizes.ports("outputs", outputs, "y"),
        };
        let sampled = options.flag("sampled");
        if sampled && equations.d.iter().any(|gain| *gain != 0.0) {
            let message = format!("`D` of {SOURCE} must be zero for a sampled controller");
            sizes.problem("D", message, "outputs change at the ends of its steps: give it a state");
        }
        let problems = sizes.problems;
        if problems.is_empty() { Ok(LinearDesign { equations, sampled, options }) } else { Err(problems) }
    }
}

/// A sampled controller. It sees what its inputs are at the start of a step, which needs no assumption.
#[derive(Debug)]
struct SampledLinear {
    equations: Linear,
    interface: Interface,
    inputs: Vec<f64>,
    next: Vec<f64>,
    memory: Memory<Box<[f64]>>,
}

impl SampledLinear {
    fn new(equations: Linear) -> SampledLinear {
        let discrete = |port: &Port| Port { discrete: true, ..port.clone() };
        let interface = Interface {
            inputs: equations.inputs.clone(),
            outputs: equations.outputs.iter().map(discrete).collect(),
            abilities: Abilities {
                rollback: true,
                serialize_state: true,
                variable_step: true,
                ..Abilities::default()
            },
            ..Interface::default()
        };
        SampledLinear {
            interface,
            inputs: vec![0.0; equations.inputs.len()],
            next: vec![0.0; equations.initial.len()],
            memory: Memory::new(equations.initial.clone().into()),
            equations,
        }
    }
}

impl Simulator for SampledLinear {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn initialize(&mut self, _setup: &Setup) -> Result<(), SimulatorError> {
        self.memory = Memory::new(self.equations.initial.clone().into());
        Ok(())
    }

    fn set_inputs(&mut self, _at: Time, _inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }

    fn do_step(&mut self, window: Window, inputs: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        for (port, value) in self.inputs.iter_mut().enumerate() {
            *value = inputs.at(port, 0.0);
        }
        let at = cosimo_native::ModelPoint { t: 0.0, x: &self.memory.now, m: &[], u: &self.inputs };
        Hybrid::derivatives(&self.equations, &at, &mut self.next);
        self.memory.now.copy_from_slice(&self.next);
        Ok(StepResult::end_of(window, 1))
    }

    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let at = cosimo_native::ModelPoint { t: 0.0, x: &self.memory.now, m: &[], u: &self.inputs };
        Hybrid::outputs(&self.equations, &at, out.values);
        Ok(())
    }

    fn rollback(&mut self) -> Option<&mut dyn Rollback> {
        Some(&mut self.memory)
    }

    fn serialize_state(&mut self) -> Option<&mut dyn SerializeState> {
        Some(&mut self.memory)
    }
}

/// Opens the source; for those that have no registry.
pub(crate) fn open(request: &OpenRequest<'_>) -> OpenResult {
    (LINEAR.open)(request)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cosimo_core::{Segment, Value};

    use super::*;

    fn opened(parameters: &[(&str, Value)]) -> OpenResult {
        let parameters: Vec<(String, Value)> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        (LINEAR.open)(&OpenRequest {
            name: "it",
            source: SOURCE,
            folder: Path::new(""),
            parameters: &parameters,
            joined: false,
        })
    }

    fn row(numbers: &[f64]) -> Value {
        Value::List(numbers.iter().copied().map(Value::Number).collect())
    }

    fn rows(numbers: &[&[f64]]) -> Value {
        Value::List(numbers.iter().map(|numbers| row(numbers)).collect())
    }

    /// A step from zero, and the outputs at its end.
    fn stepped(mut simulator: Box<dyn Simulator>, size: f64, input: Segment) -> Vec<f64> {
        simulator
            .initialize(&Setup { start: Time::ZERO, stop: None, stop_at_events: false, rewinds: true })
            .unwrap();
        let segments = vec![input; simulator.interface().inputs.len()];
        let window = Window { from: Time::ZERO, to: Time::new(size).unwrap(), size };
        simulator.do_step(window, &Inputs::of(&segments)).unwrap();
        let mut values = vec![0.0; simulator.interface().outputs.len()];
        simulator.get_outputs(&mut Outputs { values: &mut values, slopes: &mut [] }).unwrap();
        values
    }

    #[test]
    fn a_ramp_through_a_mass_is_exact_and_close_with_an_integrator() {
        // x'' = u = 3 s: v = 3 t^2 / 2 + 2, x = t^3 / 2 + 2 t + 1.
        let mass = |solver: &str| {
            opened(&[
                ("inputs", Value::List(vec!["F [N]".into()])),
                ("outputs", Value::List(vec!["v [m/s]".into(), "x [m]".into()])),
                ("A", rows(&[&[0.0, 1.0], &[0.0, 0.0]])),
                ("B", row(&[0.0, 1.0])),
                ("C", rows(&[&[0.0, 1.0], &[1.0, 0.0]])),
                ("x0", row(&[1.0, 2.0])),
                ("solver", solver.into()),
                ("relative", Value::Number(1e-9)),
                ("absolute", Value::Number(1e-9)),
            ])
            .unwrap()
        };
        let ramp = Segment([0.0, 3.0, 0.0, 0.0]);
        for (solver, within) in [("exact", 1e-14), ("dormand-prince", 1e-8)] {
            let values = stepped(mass(solver), 2.0, ramp);
            assert!((values[0] - 8.0).abs() < within && (values[1] - 9.0).abs() < within, "{values:?}");
        }
        let interface = mass("exact").interface().clone();
        assert_eq!(interface.outputs[0].unit.as_ref().map(|unit| unit.text.as_str()), Some("m/s"));
    }

    #[test]
    fn a_sampled_controller_sees_the_start_of_its_step() {
        let controller = opened(&[
            ("A", row(&[0.5])),
            ("B", row(&[2.0])),
            ("C", row(&[3.0])),
            ("x0", row(&[1.0])),
            ("drift", row(&[0.25])),
            ("sampled", Value::Flag(true)),
        ])
        .unwrap();
        assert!(controller.interface().outputs[0].discrete);
        // 3 (0.5 * 1 + 2 * 4 + 0.25): the slope of the input is not seen.
        assert_eq!(stepped(controller, 0.1, Segment([4.0, 9.0, 0.0, 0.0])), [26.25]);
    }

    #[test]
    fn a_gain_has_no_states() {
        let gain = opened(&[("D", rows(&[&[2.0, 1.0]]))]).unwrap();
        assert_eq!(gain.interface().feedthrough, [(0, 0), (0, 1)]);
        assert_eq!(stepped(gain, 0.1, Segment([1.5, 0.0, 0.0, 0.0])), [4.5]);
    }

    #[test]
    fn all_sizes_that_do_not_fit_are_named_at_once() {
        let given = [
            ("A", rows(&[&[1.0, 2.0]])),
            ("B", rows(&[&[1.0], &[2.0]])),
            ("x0", row(&[1.0, 2.0])),
            ("outputs", Value::List(vec!["v [furlong]".into()])),
        ];
        let problems = opened(&given).map(|_| ()).unwrap_err();
        let named: Vec<&str> = problems.iter().filter_map(|it| it.parameter.as_deref()).collect();
        assert_eq!(named, ["A", "B", "x0", "outputs"]);
        assert_eq!(problems[0].message, "`A` of native:linear must have 1 x 1 numbers, got 1 x 2");
        assert!(opened(&[]).is_err());
        assert!(opened(&[("A", rows(&[&[1.0], &[1.0, 2.0]]))]).is_err());
        assert!(opened(&[("D", row(&[1.0])), ("sampled", Value::Flag(true))]).is_err());
    }
}
