//! What wires make of outputs before they are inputs: units with an offset, sums, maps. Every expected number is
//! computed by hand, at the start and after steps.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::Path;

use cosimo::core::entry::{OpenRequest, Opened};
use cosimo::core::interface::{Abilities, Interface, Port};
use cosimo::core::{
    Inputs, Outputs, Reached, Registry, Setup, Simulator, SimulatorError, Slot, SourceEntry, Time, Trail,
    Unit, Window,
};
use cosimo::engine::{Run, plan};
use cosimo::system::{Problem, Severity, toml};

/// A simulator by its source: `tap:y[degC]=20+1 z=5|u[K] w`. Outputs begin at a value and grow with a slope; each
/// input `u` shows as the output `u.seen`.
struct Tap {
    interface: Interface,
    lines: Vec<(f64, f64)>,
    seen: Vec<f64>,
    now: f64,
}

const TAP: SourceEntry = SourceEntry {
    name: "tap",
    summary: "outputs as lines, inputs as outputs",
    claims: |source| source.starts_with("tap:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
};

fn open(request: &OpenRequest<'_>) -> Opened {
    let (outputs, inputs) = request.source.strip_prefix("tap:").unwrap().split_once('|').unwrap();
    let port = |text: &str| {
        let (name, unit) =
            text.split_once('[').map_or((text, None), |(name, unit)| (name, unit.strip_suffix(']')));
        Port { unit: unit.map(|unit| Unit::parse(unit).unwrap()), ..Port::new(name, "", "") }
    };
    let (mut ports, mut lines) = (Vec::new(), Vec::new());
    for output in outputs.split_whitespace() {
        let (name, line) = output.split_once('=').unwrap();
        let (start, slope) = line.split_once('+').unwrap_or((line, "0"));
        ports.push(port(name));
        lines.push((start.parse().unwrap(), slope.parse().unwrap()));
    }
    let inputs: Vec<Port> = inputs.split_whitespace().map(port).collect();
    ports.extend(inputs.iter().map(|input| Port { name: format!("{}.seen", input.name), ..input.clone() }));
    let feedthrough = (0..inputs.len()).map(|input| (lines.len() + input, input)).collect();
    let seen = vec![0.0; inputs.len()];
    let abilities = Abilities { states: false, ..Abilities::NATIVE };
    let interface = Interface { inputs, outputs: ports, feedthrough, abilities, ..Interface::default() };
    Ok(Box::new(Tap { interface, lines, seen, now: 0.0 }))
}

impl Simulator for Tap {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn enter(&mut self, setup: &Setup) -> Result<(), SimulatorError> {
        self.now = setup.start.seconds();
        Ok(())
    }

    fn settle(&mut self, _: Time, inputs: &Inputs<'_>) -> Result<(), SimulatorError> {
        self.seen.iter_mut().enumerate().for_each(|(k, seen)| *seen = inputs.at(k, 0.0));
        Ok(())
    }

    fn advance(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        _: &mut Trail<'_>,
    ) -> Result<Reached, SimulatorError> {
        self.now = window.to.seconds();
        self.seen.iter_mut().enumerate().for_each(|(k, seen)| *seen = inputs.at(k, window.size));
        Ok(Reached::end_of(window, 1))
    }

    fn outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        let lines = self.lines.iter().map(|(start, slope)| start + slope * self.now);
        out.values
            .iter_mut()
            .zip(lines.chain(self.seen.iter().copied()))
            .for_each(|(out, value)| *out = value);
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

fn registry() -> Registry {
    let mut registry = cosimo::registry();
    registry.sources.push(&TAP);
    registry
}

fn planned(sources: &[(&str, &str)], more: &str) -> Result<cosimo::engine::Plan, Vec<Problem>> {
    let components: String = sources
        .iter()
        .map(|(name, source)| format!("[component.\"{name}\"]\nsource = '{source}'\n"))
        .collect();
    let step = if more.contains("[method]") { "" } else { "[method]\n" };
    let text = format!("[experiment]\nstop = 1\n{components}{more}\n{step}step = {{ size = 0.25 }}\n");
    let (system, problems) = toml::read(&text, Path::new("."), &registry());
    assert_eq!(problems, [], "{text}");
    plan(&system, &registry())
}

fn run(sources: &[(&str, &str)], more: &str) -> Run {
    Run::new(planned(sources, more).unwrap_or_else(|problems| panic!("{problems:#?}")), 1).unwrap()
}

fn close(run: &Run, path: &str, wanted: f64) {
    let found = run.output(path).unwrap();
    assert!((found - wanted).abs() < 1e-9, "{path} is {found}, wanted {wanted}");
}

fn to(run: &mut Run, seconds: f64) {
    run.run_until(Time::new(seconds).unwrap()).unwrap();
}

#[test]
fn levels_of_temperature_are_converted_with_their_zero() {
    // 20 degC = 293.15 K = 68 degF, and one degree more per second; inputs are held, so one step late.
    let mut run = run(
        &[("a", "tap:T[degC]=20+1 v[km/h]=36|"), ("b", "tap:|T[K] F[degF] v[m/s]")],
        "[[wire]]\nfrom = 'a.T'\nto = 'b.T'\n[[wire]]\nfrom = 'a.T'\nto = 'b.F'\n[[wire]]\nfrom = 'a.v'\nto = 'b.v'\n",
    );
    close(&run, "b.T.seen", 293.15);
    close(&run, "b.F.seen", 68.0);
    close(&run, "b.v.seen", 10.0);
    to(&mut run, 1.0);
    close(&run, "b.T.seen", 293.15 + 0.75);
    close(&run, "b.F.seen", 68.0 + 0.75 * 1.8);
    let remarks: Vec<&str> = run.remarks().iter().map(|remark| remark.message.as_str()).collect();
    assert_eq!(remarks[0], "`a.T` [degC] is converted to `b.T` [K]: times 1 plus 273.15");
}

#[test]
fn inputs_that_move_are_converted_too() {
    let mut run = run(
        &[("a", "tap:T[degC]=20+1|"), ("b", "tap:|T[K]")],
        "[[wire]]\nfrom = 'a.T'\nto = 'b.T'\n[method]\ninput = 'linear'",
    );
    to(&mut run, 1.0);
    close(&run, "b.T.seen", 294.15);
}

#[test]
fn a_first_guess_is_in_the_unit_of_the_input_and_not_added_to_the_offset() {
    // Each passes the other's temperature on at once: b begins with its guess, 300 K, and a sees that in degC.
    let mut run = run(
        &[("a", "tap:|T[degC]"), ("b", "tap:|T[K]")],
        "[[wire]]\nfrom = 'a.T.seen'\nto = 'b.T'\n[[wire]]\nfrom = 'b.T.seen'\nto = 'a.T'\n[component.b.start]\nT = 300",
    );
    close(&run, "b.T.seen", 300.0);
    close(&run, "a.T.seen", 26.85);
    to(&mut run, 1.0);
    close(&run, "b.T.seen", 300.0);
}

#[test]
fn no_power_is_made_of_a_level() {
    let bond = "[[bond]]\na = { effort = 'a.T', flow = 'a.S' }\nb = { effort = 'b.T', flow = 'b.S' }\n";
    let sides = [("a", "tap:T[degC]=20|S[W/K]"), ("b", "tap:S[W/K]=1|T[K]")];
    let problems = planned(&sides, bond).unwrap_err();
    let errors: Vec<&Problem> =
        problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    assert_eq!(errors[0].code, "plan/no-power");
    assert_eq!(
        errors[0].message,
        "`a.T` [degC] is a level above a zero of its own, and no power can be made of it"
    );
}
