//! Every family of native models that no other file is about, coupled: runs come to the monolithic reference with
//! the order of their inputs.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{column, observed_order, start, system, try_rows};
use cosimo::analysis::stability::radius;
use cosimo::engine::plan;

/// A system without its method: components, links, and a `[reference]` for the ports that are compared.
struct Family {
    stop: f64,
    text: &'static str,
}

const MOTION_TO_MOTION: Family = Family {
    stop: 10.0,
    text: r#"
        component.left.source = "native:dual-mass/left-motion"
        component.right.source = "native:dual-mass/right-motion"
        connection = [
            { from = "left.x", to = "right.x_far" }, { from = "left.v", to = "right.v_far" },
            { from = "right.x", to = "left.x_far" }, { from = "right.v", to = "left.v_far" },
        ]
        reference.model = "dual-mass"
        reference.ports = { "left.x" = "x1", "left.v" = "v1", "right.x" = "x2", "right.v" = "v2" }
    "#,
};

const FORCE_TO_FORCE: Family = Family {
    stop: 10.0,
    text: r#"
        component.left.source = "native:dual-mass/left"
        component.coupling.source = "native:dual-mass/coupling"
        component.right.source = "native:dual-mass/right"
        connection = [{ from = "left.x", to = "coupling.x1" }, { from = "right.x", to = "coupling.x2" }]
        bond = [
            { name = "left", a = { effort = "left.f", flow = "left.v" }, b = { effort = "coupling.f1", flow = "coupling.v1" } },
            { name = "right", a = { effort = "coupling.f2", flow = "coupling.v2" }, b = { effort = "right.f", flow = "right.v" } },
        ]
        reference.model = "dual-mass"
        reference.ports = { "left.x" = "x1", "left.v" = "v1", "right.x" = "x2", "right.v" = "v2" }
    "#,
};

const DAHLQUIST: Family = Family {
    stop: 4.0,
    text: r#"
        component.first = { source = "native:dahlquist/first", parameters = { lambda = -0.8, c = 0.7 } }
        component.second = { source = "native:dahlquist/second", parameters = { mu = -1.7, x20 = 0.25 } }
        connection = [{ from = "first.y", to = "second.u" }, { from = "second.y", to = "first.u" }]
        reference.model = "dahlquist"
        reference.ports = { "first.y" = "x1", "second.y" = "x2" }
    "#,
};

const TANKS: Family = Family {
    stop: 5.0,
    text: r#"
        component.first.source = "native:tanks/first"
        component.second = { source = "native:tanks/second-pipe", parameters = { solver = "rk4" } }
        bond = [
            { name = "pipe", a = { effort = "first.p", flow = "first.q" }, b = { effort = "second.p", flow = "second.q" } },
        ]
        reference.model = "tanks"
        reference.ports = { "first.h" = "h1", "second.h" = "h2" }
    "#,
};

const THERMAL_WALL: Family = Family {
    stop: 8000.0,
    text: r#"
        component.left.source = "native:thermal-wall/left-room"
        component.wall = { source = "native:thermal-wall/wall", parameters = { G2 = 80.0 } }
        component.right = { source = "native:thermal-wall/right-room", parameters = { P2 = -100.0 } }
        connection = [
            { from = "left.T", to = "wall.T1" }, { from = "wall.q1", to = "left.q" },
            { from = "right.T", to = "wall.T2" }, { from = "wall.q2", to = "right.q" },
        ]
        reference.model = "thermal-wall"
        reference.ports = { "left.T" = "T1", "right.T" = "T2", "wall.Tw" = "Tw" }
    "#,
};

/// The guess is the solution at the start, b x0 / (1 - a b).
const GAIN_LOOP: Family = Family {
    stop: 4.0,
    text: r#"
        component.first = { source = "native:gain-loop/first", parameters = { a = 0.75 }, start = { u = 0.8 } }
        component.second.source = "native:gain-loop/second"
        component.lag.source = "native:gain-loop/lag"
        connection = [
            { from = "second.y", to = "first.u" }, { from = "lag.x", to = "first.w" },
            { from = "first.y", to = "second.u" }, { from = "second.y", to = "lag.u" },
        ]
        reference.model = "gain-loop"
        reference.ports = { "lag.x" = "x" }
    "#,
};

impl Family {
    fn system(&self, method: &str, size: f64) -> String {
        let Family { stop, text } = self;
        format!("experiment.stop = {stop:?}\n{text}\n[method]\n{method}\nstep = {{ size = {size:?} }}\n")
    }

    /// The largest difference from the reference in any declared port; infinite if the run fails.
    fn error(&self, method: &str, steps: u32) -> f64 {
        let text = self.system(method, self.stop / f64::from(steps));
        let Ok(table) = try_rows(&text) else { return f64::INFINITY };
        let registry = cosimo::registry();
        let truth =
            cosimo::reference::solve(&system(&text, &registry), column(&table, "time"), &registry).unwrap();
        assert!(truth.names.len() * truth.rows.len() > steps as usize);
        let mut worst = 0.0f64;
        for (place, name) in truth.names.iter().enumerate() {
            for (found, row) in column(&table, name).iter().zip(&truth.rows) {
                worst = worst.max((found - row[place]).abs());
            }
        }
        worst
    }

    fn order(&self, method: &str) -> f64 {
        let steps = [400, 800, 1600];
        let errors = steps.map(|steps| self.error(method, steps));
        observed_order(&steps.map(|steps| self.stop / f64::from(steps)), &errors)
    }
}

#[test]
fn families_come_to_their_references_with_the_order_of_their_inputs() {
    for family in [MOTION_TO_MOTION, FORCE_TO_FORCE, DAHLQUIST, TANKS, THERMAL_WALL] {
        for (input, wanted) in [("hold", 1.0), ("linear", 2.0)] {
            let order = family.order(&format!("input = \"{input}\""));
            assert!((order - wanted).abs() < 0.1, "{input}: {order} in {}", family.text);
        }
    }
}

/// Choosing the degree per input at run time costs little against the best degree.
#[test]
fn the_online_choice_is_near_the_best_degree_on_every_family() {
    let families = [MOTION_TO_MOTION, FORCE_TO_FORCE, DAHLQUIST, TANKS, THERMAL_WALL, GAIN_LOOP];
    for family in families {
        for schedule in ["jacobi", "gauss-seidel"] {
            for steps in [50, 200, 800] {
                let error = |input: &str| {
                    let method =
                        format!("schedule = \"{schedule}\"\nexchange = \"stale\"\ninput = \"{input}\"");
                    family.error(&method, steps)
                };
                let fixed = ["hold", "linear", "quadratic"].map(error);
                let best = fixed.into_iter().fold(f64::INFINITY, f64::min);
                let online = error("online");
                assert!(
                    online <= 1.5 * best,
                    "{schedule}, {steps} steps: {online:e}, but {fixed:?} in {}",
                    family.text
                );
            }
        }
    }
}

/// A delay in the loop costs an order whatever the input; solved in every step, it costs none.
#[test]
fn an_algebraic_loop_comes_to_its_solution_by_delay_or_by_iteration() {
    let delayed = GAIN_LOOP.order("input = \"hold\"\nexchange = \"stale\"");
    assert!((delayed - 1.0).abs() < 0.1, "{delayed}");
    let waveform = "iteration = { waveform = { sweeps = 100, relative = 1e-12, absolute = 1e-13 } }";
    let solved = GAIN_LOOP.order(&format!("input = \"linear\"\nexchange = \"stale\"\n{waveform}"));
    assert!((solved - 2.0).abs() < 0.1, "{solved}");
}

/// What goes round a loop comes to (1 - L J)^-1 times what outputs show of it: paid back, an order is gained. The sum of
/// its first terms would do that for small gains, and diverge for large ones.
#[test]
fn a_correction_pays_for_what_goes_round_a_loop() {
    for (a, exchange, gain) in [(0.75, "stale", 0.5), (0.75, "fresh", 1.0), (-3.0, "fresh", 1.0)] {
        let text = GAIN_LOOP.text.replace("a = 0.75", &format!("a = {a:?}")).leak();
        let nepce = format!("correction = {{ nepce = {{ gain = {gain:?}, feedthrough = \"declared\" }} }}");
        let order = Family { text, ..GAIN_LOOP }
            .order(&format!("input = \"hold\"\nexchange = \"{exchange}\"\n{nepce}"));
        assert!((order - 2.0).abs() < 0.05, "{a}, {exchange}: {order}");
    }
}

/// Solved at every communication point, a loop costs no order.
#[test]
fn a_fresh_exchange_solves_loops() {
    for (input, wanted) in [("hold", 1.0), ("linear", 2.0)] {
        let order = GAIN_LOOP.order(&format!("input = \"{input}\"\nexchange = \"fresh\""));
        assert!((order - wanted).abs() < 0.1, "{input}: {order}");
    }
}

/// Each of two delayed gains is one step late, so a round trip of two steps multiplies by a b.
#[test]
fn a_delayed_loop_is_stable_as_long_as_its_gain_is_below_one() {
    for (a, wanted) in [(1.62, 0.9), (2.42, 1.1), (-2.42, 1.1)] {
        let text = GAIN_LOOP.system("input = \"hold\"\nexchange = \"stale\"", 1e-6);
        let text = text.replace("a = 0.75", &format!("a = {a:?}"));
        let mut run = start(&text, 1);
        for _ in 0..4 {
            run.step().unwrap();
        }
        let found = radius(&mut run, 1e-6).unwrap().radius;
        // The lag stands still in so short a step, which is a mode of its own at 1.
        let wanted = f64::max(wanted, 1.0);
        assert!((found - wanted).abs() < 1e-5, "a = {a}: {found}");
    }
}

/// Power that leaves the first tank through the pipe, against a fine quadrature of the monolithic p q.
#[test]
fn the_bond_between_tanks_carries_the_power_of_the_reference() {
    let registry = cosimo::registry();
    let text = TANKS.system("input = \"linear\"", 1e-3);
    let entry = registry.references.iter().find(|entry| entry.name == "tanks").unwrap();
    let options = cosimo::core::Options::resolve("tanks", entry.parameters, &[]).unwrap();
    let instants: Vec<f64> = (0..=5000).map(|i| f64::from(i) * 1e-3).collect();
    let power: Vec<f64> = (entry.solve)(&options, 0.0, &instants).iter().map(|row| row[4]).collect();
    let energy: f64 = power.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]) * 1e-3).sum();
    let mut run = start(&text, 1);
    crate::common::run_to_the_end(&mut run);
    let totals = &run.ledger().totals[0];
    assert!(energy > 1000.0 && (totals.transmitted - energy).abs() < 1e-3 * energy, "{totals:?}, {energy} J");
    assert!(totals.residual.abs() < 1e-3 * energy, "{totals:?}");
}

#[test]
fn temperature_and_heat_flow_make_no_bond() {
    let bond = r#"bond = [{ a = { effort = "left.T", flow = "left.q" }, b = { effort = "wall.T1", flow = "wall.q1" } }]"#;
    let wires = r#"{ from = "left.T", to = "wall.T1" }, { from = "wall.q1", to = "left.q" },"#;
    let text = THERMAL_WALL.system("input = \"hold\"", 10.0);
    assert!(text.contains(wires));
    let text = text
        .replace(wires, "")
        .replace("        connection = [", &format!("        {bond}\n        connection = ["));
    let registry = cosimo::registry();
    let problems = plan(&system(&text, &registry), &registry).unwrap_err();
    assert!(problems.iter().any(|problem| problem.code == "plan/no-power"), "{problems:#?}");
}
