//! Properties of every model of the registry, for every choice of its options.

use cosimo_core::registry::{OpenProblem, OptionKind};
use cosimo_core::{Outputs, Segment, Simulator, Slot, Value};
use cosimo_models::{HYBRID, NATIVE, REFERENCES};
use cosimo_native::{Hybrid, ModelPoint, Quantity, Tangent, Unknown};

use crate::common::{self, advance, advance_from, equations, integrals, open, outputs, set_inputs, try_open};

fn slopes(simulator: &mut dyn Simulator) -> Vec<f64> {
    let count = simulator.interface().outputs.len();
    let (mut values, mut slopes) = (vec![0.0; count], vec![f64::NAN; count]);
    simulator.get_outputs(&mut Outputs { values: &mut values, slopes: &mut slopes }).unwrap();
    slopes
}

/// Every model with every combination of its choices, and a damper with a root where there is one.
fn variants() -> Vec<(String, Box<dyn Simulator>)> {
    combinations().into_iter().map(|Variant { title, name, given }| (title, open(&name, &given))).collect()
}

/// A model with parameters.
struct Variant {
    title: String,
    name: String,
    given: Vec<(&'static str, Value)>,
}

fn combinations() -> Vec<Variant> {
    let mut variants = vec![];
    for model in (NATIVE.models)() {
        let mut combinations: Vec<Vec<(&str, Value)>> = vec![vec![]];
        for spec in model.parameters {
            let values: Vec<Value> = match spec.kind {
                OptionKind::Choice { of, .. } => {
                    of.iter().map(|choice| Value::Text((*choice).into())).collect()
                }
                OptionKind::Number { .. } if spec.name == "p" => [1.0, 0.5, 0.7].map(Value::Number).to_vec(),
                OptionKind::Number { .. } if spec.name == "at" => vec![Value::Number(1e3)],
                _ => continue,
            };
            combinations = combinations
                .iter()
                .flat_map(|old| {
                    values.iter().map(|value| {
                        let mut new = old.clone();
                        new.push((spec.name, value.clone()));
                        new
                    })
                })
                .collect();
        }
        for given in combinations {
            let title = format!("{} {given:?}", model.name);
            variants.push(Variant { title, name: model.name.to_string(), given });
        }
    }
    variants
}

/// Cubics that differ from port to port, as seen from `s` seconds after their start.
fn cubics(count: usize, s: f64) -> Vec<Segment> {
    let cubic = |port: usize| {
        let [a, b, c, d] = [0.3 + port as f64, -2.0, 5.0 - port as f64, 7.0];
        let whole = Segment([a, b, c, d]);
        Segment([whole.at(s), whole.slope(s), c + 3.0 * d * s, d])
    };
    (0..count).map(cubic).collect()
}

pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// All observable values of a simulator: outputs, slopes, derivatives, states.
fn observe(simulator: &mut dyn Simulator) -> Vec<u64> {
    let mut values = outputs(simulator);
    if simulator.interface().abilities.slopes {
        values.extend(slopes(simulator));
    }
    if simulator.interface().abilities.jacobian {
        values.extend(jacobian(simulator));
    }
    if let Some(states) = simulator.states() {
        let mut x = vec![0.0; states.count()];
        states.get(&mut x);
        values.extend(x);
    }
    bits(&values)
}

fn jacobian(simulator: &mut dyn Simulator) -> Vec<f64> {
    let interface = simulator.interface();
    let mut into = vec![f64::NAN; interface.outputs.len() * interface.inputs.len()];
    simulator.jacobian().unwrap().fill(&mut into).unwrap();
    into
}

#[test]
fn rollback_and_deserializing_restore_every_bit() {
    for ((title, mut simulator), (_, mut twin)) in variants().into_iter().zip(variants()) {
        let ports = simulator.interface().inputs.len();
        let inputs = |s| cubics(ports, s);
        let onwards = |simulator: &mut dyn Simulator| {
            let mut all = observe(simulator);
            for (from, size) in [(0.01, 0.003), (0.013, 0.0071)] {
                advance_from(simulator, from, size, &inputs(from));
                all.extend(observe(simulator));
            }
            all
        };
        advance(&mut *simulator, 0.01, &inputs(0.0));
        for slot in [Slot::Attempt, Slot::Window, Slot::Jacobian, Slot::Probe] {
            simulator.rollback().unwrap().save(slot).unwrap();
        }
        let mut bytes = vec![];
        simulator.serialize_state().unwrap().serialize(&mut bytes).unwrap();
        let first = onwards(&mut *simulator);
        for slot in [Slot::Probe, Slot::Jacobian, Slot::Window, Slot::Attempt, Slot::Probe] {
            set_inputs(&mut *simulator, &cubics(ports, 0.5));
            simulator.rollback().unwrap().restore(slot).unwrap();
            assert_eq!(first, onwards(&mut *simulator), "{title}: {slot:?}");
        }
        twin.serialize_state().unwrap().deserialize(&bytes).unwrap();
        assert_eq!(first, onwards(&mut *twin), "{title}: deserialized");
        let error = twin.serialize_state().unwrap().deserialize(&bytes[1..]).unwrap_err().to_string();
        assert!(error.contains(&format!("{} bytes", bytes.len() - 1)), "{error}");
    }
}

#[test]
fn declared_abilities_and_sizes_are_true() {
    for (title, mut simulator) in variants() {
        let interface = simulator.interface().clone();
        let abilities = interface.abilities;
        assert!(interface.inputs.iter().chain(&interface.outputs).all(|port| port.unit.is_some()), "{title}");
        assert!(
            interface
                .feedthrough
                .iter()
                .all(|(y, u)| *y < interface.outputs.len() && *u < interface.inputs.len())
        );
        assert_eq!(abilities.states, simulator.states().is_some(), "{title}");
        assert_eq!(abilities.jacobian, simulator.jacobian().is_some(), "{title}");
        let inputs = cubics(interface.inputs.len(), 0.0);
        assert_eq!(
            abilities.integrals,
            integrals(&mut *simulator, 0.1, &inputs).iter().all(|i| i.is_finite())
        );
        assert_eq!(
            abilities.slopes,
            slopes(&mut *simulator).iter().all(|slope| slope.is_finite()),
            "{title}"
        );
    }
}

#[test]
fn setting_inputs_changes_no_state_and_only_outputs_with_feedthrough() {
    for (title, mut simulator) in variants() {
        let interface = simulator.interface().clone();
        let ports = interface.inputs.len();
        advance(&mut *simulator, 0.01, &cubics(ports, 0.0));
        let state_of = |simulator: &mut dyn Simulator| {
            let states = simulator.states()?;
            let mut x = vec![0.0; states.count()];
            states.get(&mut x);
            Some(x)
        };
        let (before, state) = (outputs(&mut *simulator), state_of(&mut *simulator));
        for port in 0..ports {
            let mut inputs = cubics(ports, 0.01);
            inputs[port] = Segment::constant(inputs[port].at(0.0) + 1.0);
            set_inputs(&mut *simulator, &inputs);
            for (output, (old, new)) in before.iter().zip(outputs(&mut *simulator)).enumerate() {
                let declared = interface.feedthrough.contains(&(output, port));
                assert_eq!(declared, (old - new).abs() > 1e-9, "{title}: output {output} by input {port}");
            }
        }
        assert_eq!(state, state_of(&mut *simulator), "{title}");
    }
}

#[test]
fn declared_jacobians_are_the_differences_of_outputs() {
    for (title, mut simulator) in variants() {
        let (ports, shown) = (simulator.interface().inputs.len(), simulator.interface().outputs.len());
        if !simulator.interface().abilities.jacobian {
            continue;
        }
        advance(&mut *simulator, 0.01, &cubics(ports, 0.0));
        let declared = jacobian(&mut *simulator);
        let held = cubics(ports, 0.01);
        let step = 1e-4;
        for port in 0..ports {
            let mut at = |shift: f64| {
                let mut inputs = held.clone();
                inputs[port] = Segment::constant(held[port].at(0.0) + shift);
                set_inputs(&mut *simulator, &inputs);
                outputs(&mut *simulator)
            };
            let (above, below) = (at(step), at(-step));
            for output in 0..shown {
                let difference = (above[output] - below[output]) / (2.0 * step);
                let found = declared[output * ports + port];
                assert!(
                    (found - difference).abs() < 1e-5 * (1.0 + difference.abs()),
                    "{title}: {found} {difference}"
                );
            }
        }
    }
}

/// Derivatives and outputs at a point, one after the other.
fn answers(model: &dyn Hybrid, at: &ModelPoint<'_>) -> Vec<f64> {
    let (states, shown) = (at.x.len(), model.interface().outputs.len());
    let mut all = vec![f64::NAN; states + shown];
    let (dx, y) = all.split_at_mut(states);
    model.derivatives(at, dx);
    model.outputs(at, y);
    all
}

/// Tangents along every state and input against differences, and no change where no dependency is declared.
fn check_tangents(title: &str, model: &dyn Hybrid, at: &ModelPoint<'_>) {
    let (states, inputs) = (at.x.len(), at.u.len());
    let mut nominals = vec![1.0; states + inputs];
    model.nominals(&mut nominals[..states]);
    for known in 0..states + inputs {
        let step = 1e-4 * nominals[known];
        let moved = |by: f64| {
            let (mut x, mut u) = (at.x.to_vec(), at.u.to_vec());
            *(if known < states { &mut x[known] } else { &mut u[known - states] }) += by;
            answers(model, &ModelPoint { x: &x, u: &u, ..*at })
        };
        let (above, below) = (moved(step), moved(-step));
        let mut direction = vec![0.0; states + inputs];
        direction[known] = 1.0;
        let (x, u) = direction.split_at(states);
        let mut found = vec![f64::NAN; above.len()];
        let (dx, y) = found.split_at_mut(states);
        model.tangent(at, &Tangent { x, u }, dx, y);
        for value in 0..found.len() {
            let difference = (above[value] - below[value]) / (2.0 * step);
            let found = found[value];
            assert!(
                (found - difference).abs() < 1e-4 * (1.0 + difference.abs()),
                "{title}: value {value} by {known}: {found} {difference}"
            );
            let unknown =
                if value < states { Unknown::Derivative(value) } else { Unknown::Output(value - states) };
            let on = if known < states { Quantity::State(known) } else { Quantity::Input(known - states) };
            let input_to_output = value >= states && known >= states;
            let declared = match input_to_output {
                true => model.interface().feedthrough.contains(&(value - states, known - states)),
                false => model.depends(unknown, on),
            };
            assert!(declared || found == 0.0, "{title}: {unknown:?} depends on {on:?}");
        }
    }
}

#[test]
fn tangents_are_the_differences_of_the_equations() {
    let mut checked = 0;
    for Variant { title, name, given } in combinations() {
        let Some(model) = equations(&name, &given) else { continue };
        let (initial, memory) = model.initial();
        let names = model.states();
        assert_eq!(names.len(), initial.len(), "{title}");
        let mut nominals = vec![f64::NAN; initial.len()];
        model.nominals(&mut nominals);
        for round in 0..3 {
            let shift = |i: usize| 0.1 + 0.03 * i as f64 + 0.7 * f64::from(round);
            let shifted = |(i, x): (usize, &f64)| x + shift(i) * nominals[i];
            let x: Vec<f64> = initial.iter().enumerate().map(shifted).collect();
            let u: Vec<f64> = (0..model.interface().inputs.len()).map(|i| shift(i + 7)).collect();
            check_tangents(&title, &*model, &ModelPoint { t: 0.3, x: &x, m: &memory, u: &u });
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn hybrid_models_have_tangents_names_and_references() {
    for entry in HYBRID {
        let model = equations(entry.name, &[]).unwrap();
        let interface = model.interface();
        let (mut x, mut m) = model.initial();
        let mut u: Vec<f64> = interface.inputs.iter().map(|port| port.start.unwrap_or(0.0)).collect();
        assert!(interface.inputs.iter().chain(&interface.outputs).all(|port| port.unit.is_some()));
        assert!(model.states().len() == x.len() && model.states().iter().all(|port| port.unit.is_some()));
        assert!(model.kinds().is_empty() || model.kinds().len() == interface.outputs.len());
        let mut nominals = vec![f64::NAN; x.len()];
        model.nominals(&mut nominals);
        assert!(nominals.iter().all(|nominal| *nominal > 0.0));

        // The reference begins where the model does.
        model.event(0.0, &u, &mut x, &mut m);
        let mut y = vec![f64::NAN; interface.outputs.len()];
        model.outputs(&ModelPoint { t: 0.0, x: &x, m: &m, u: &u }, &mut y);
        let rows = (entry.reference)();
        assert_eq!((rows[0][0], &rows[0][1..]), (0.0, y.as_slice()), "{}", entry.name);
        let step = rows[1][0];
        let equal = |(i, row): (usize, &Vec<f64>)| (row[0] - i as f64 * step).abs() < 1e-12;
        assert!(rows.iter().enumerate().all(equal) && rows[rows.len() - 1][0] <= entry.stop);

        for round in 0..3 {
            let shift = 0.2 + 0.3 * f64::from(round);
            x.iter_mut().zip(&nominals).for_each(|(x, nominal)| *x += shift * nominal);
            u.iter_mut().for_each(|u| *u += shift);
            check_tangents(entry.name, &*model, &ModelPoint { t: shift, x: &x, m: &m, u: &u });
        }
    }
}

/// A wrong slope is silent: methods that use it merely lose their order.
#[test]
fn slopes_are_the_differences_of_further_steps() {
    let mut offered = 0;
    for (title, mut simulator) in variants() {
        let ports = simulator.interface().inputs.len();
        if !simulator.interface().abilities.slopes {
            continue;
        }
        offered += 1;
        advance(&mut *simulator, 0.1, &cubics(ports, 0.0));
        for inputs_set in [false, true] {
            // At a communication point the segments may change; the slope must be that of the new ones.
            let onwards = cubics(ports, if inputs_set { 0.4 } else { 0.1 });
            if inputs_set {
                set_inputs(&mut *simulator, &onwards);
            }
            let (y, found) = (outputs(&mut *simulator), slopes(&mut *simulator));
            simulator.rollback().unwrap().save(Slot::Attempt).unwrap();
            let mut rise = |size: f64| {
                simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
                advance(&mut *simulator, size, &onwards);
                let rise: Vec<f64> =
                    outputs(&mut *simulator).iter().zip(&y).map(|(new, old)| new - old).collect();
                rise
            };
            let step = 1e-5;
            let (whole, half) = (rise(step), rise(step / 2.0));
            for output in 0..y.len() {
                let difference = (4.0 * half[output] - whole[output]) / step;
                let scale = 1.0 + difference.abs();
                assert!((found[output] - difference).abs() < 2e-4 * scale, "{title}: {found:?} {difference}");
            }
            simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
        }
    }
    assert!(offered >= 8);
}

#[test]
fn integrals_are_those_of_a_fine_quadrature() {
    let mut offered = 0;
    for (title, mut simulator) in variants() {
        let ports = simulator.interface().inputs.len();
        if !simulator.interface().abilities.integrals {
            continue;
        }
        offered += 1;
        let (size, pieces) = (0.25, 2000);
        set_inputs(&mut *simulator, &cubics(ports, 0.0));
        simulator.rollback().unwrap().save(Slot::Attempt).unwrap();
        let found = integrals(&mut *simulator, size, &cubics(ports, 0.0));
        let end = outputs(&mut *simulator);
        simulator.rollback().unwrap().restore(Slot::Attempt).unwrap();
        let piece = size / f64::from(pieces);
        let mut sums = outputs(&mut *simulator);
        for i in 1..=pieces {
            advance(&mut *simulator, piece, &cubics(ports, f64::from(i - 1) * piece));
            let weight = if i == pieces { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
            for (sum, y) in sums.iter_mut().zip(outputs(&mut *simulator)) {
                *sum += weight * y;
            }
        }
        for ((found, sum), (end, fine)) in
            found.iter().zip(sums).zip(end.iter().zip(outputs(&mut *simulator)))
        {
            let simpson = sum * piece / 3.0;
            assert!((found - simpson).abs() < 1e-10 * (1.0 + simpson.abs()), "{title}: {found} {simpson}");
            assert!((end - fine).abs() < 1e-11 * (1.0 + end.abs()), "{title}: one step or many");
        }
    }
    assert!(offered >= 8);
}

#[test]
fn a_held_input_keeps_its_exact_value() {
    for (title, mut simulator) in variants() {
        let held: Vec<Segment> =
            simulator.interface().inputs.iter().map(|_| Segment::constant(0.1)).collect();
        advance(&mut *simulator, 1e-3 / 3.0, &held);
        let left = outputs(&mut *simulator);
        set_inputs(&mut *simulator, &held);
        assert_eq!(bits(&left), bits(&outputs(&mut *simulator)), "{title}");
    }
}

fn refuse(name: &str, given: &[(&str, Value)]) -> Vec<OpenProblem> {
    match try_open(name, given) {
        Ok(_) => panic!("`{name}` opened"),
        Err(problems) => problems,
    }
}

#[test]
fn unknown_models_get_a_suggestion() {
    let problems = refuse("quarter-car/chasis", &[]);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].parameter, None);
    assert_eq!(problems[0].message, "there is no native model `quarter-car/chasis`");
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean `quarter-car/chassis`?"));
    assert!((NATIVE.claims)("native:x") && !(NATIVE.claims)("x.fmu"));
}

#[test]
fn every_model_opens_and_refuses_unknown_parameters() {
    for model in (NATIVE.models)() {
        let name = &*model.name;
        assert!(try_open(name, &[]).is_ok(), "{name}");

        let problems = refuse(name, &[("nonsense", Value::Number(1.0))]);
        assert_eq!(problems[0].parameter.as_deref(), Some("nonsense"));
        assert_eq!(problems[0].message, format!("model `{name}` has no `nonsense`"));

        for spec in model.parameters {
            let wrong = match spec.kind {
                OptionKind::Choice { .. } => Value::Text("nonsense".into()),
                OptionKind::Count { least, .. } => Value::Number(f64::from(least) - 1.0),
                _ => Value::Number(f64::NAN),
            };
            let problems = refuse(name, &[(spec.name, wrong)]);
            assert_eq!(problems[0].parameter.as_deref(), Some(spec.name));
            assert!(problems[0].message.contains("must be"), "{}", problems[0].message);
        }
    }
    let problems = refuse("dual-mass/right", &[("m2", Value::Number(0.0))]);
    assert_eq!(problems[0].message, "`m2` of model `dual-mass/right` must be a finite number above 0, got 0");
}

#[test]
fn references_have_a_row_per_instant_and_a_number_per_column() {
    for reference in REFERENCES {
        let instants: Vec<f64> = (0..=200).map(|i| f64::from(i) * 1e-4).collect();
        let rows = common::reference(reference.name, &[], &instants);
        assert_eq!(rows.len(), instants.len());
        for row in rows {
            assert_eq!(row.len(), reference.columns.len());
            assert!(row.iter().all(|value| value.is_finite()), "{}", reference.name);
        }
    }
}
