//! The ledger: what bonds and junctions carry, by hand and against the monolithic circuit; corrections that are
//! idle where nothing is owed; signs; and what the papers say of energy on the quarter car.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use crate::common::{DUAL_MASS, DualMass, bits, column, observed_order, rows, run_to_the_end, start};
use cosimo::record::Table;
use cosimo_papers::ecco_nepce::{self, Changes};
use nalgebra::{DMatrix, DVector};

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{what}: {found}, not {expected}");
}

/// Two hold inputs with stale exchange, so that everything can be told from neighbouring rows.
#[test]
fn a_bond_carries_what_its_sides_reckon() {
    let table = rows(&DualMass { stop: 2.0, method: "step = { size = 0.02 }", ..DUAL_MASS }.text());
    let [f, v, a, b, transmitted, residual, e_transmitted, e_residual, local] = [
        "left.f",
        "right.v",
        "bond.joint.power_a",
        "bond.joint.power_b",
        "bond.joint.transmitted_power",
        "bond.joint.residual_power",
        "bond.joint.transmitted_energy",
        "bond.joint.residual_energy",
        "bond.joint.local_error",
    ]
    .map(|name| column(&table, name));
    let (mut sum_transmitted, mut sum_residual) = (0.0, 0.0);
    for n in 1..f.len() {
        // The left side gives f and was told the velocity of the step before, the right side the other way round.
        assert_near(a[n], -f[n] * v[n - 1], "power into the left side");
        assert_near(b[n], f[n - 1] * v[n], "power into the right side");
        assert_eq!(residual[n], a[n] + b[n]);
        assert_near(transmitted[n], f[n] * v[n], "power from left to right");
        assert_near(local[n], -0.5 * residual[n] * 0.02, "local error");
        sum_transmitted += transmitted[n] * 0.02;
        sum_residual += residual[n] * 0.02;
        assert_near(e_transmitted[n], sum_transmitted, "transmitted energy");
        assert_near(e_residual[n], sum_residual, "residual energy");
    }
    assert!(residual.iter().any(|residual| residual.abs() > 0.1), "nothing to see");
}

/// The second simulator interpolates, so its side of the bond sees what the first side really did.
#[test]
fn the_second_of_gauss_seidel_sees_exact_end_values() {
    for (first, second_is_b) in [("left", true), ("right", false)] {
        let method = format!(
            "schedule = {{ gauss-seidel = {{ order = [\"{first}\"] }} }}\ninput = \"linear\"\nstep = {{ size = 0.05 }}"
        );
        let table = rows(&DualMass { stop: 3.0, method: &method, ..DUAL_MASS }.text());
        let [a, b, transmitted, residual] = ["power_a", "power_b", "transmitted_power", "residual_power"]
            .map(|name| column(&table, &format!("bond.joint.{name}")));
        for n in 1..a.len() {
            let second = if second_is_b { b[n] } else { -a[n] };
            assert_near(second, transmitted[n], "power of the second side");
        }
        assert!(residual[2..].iter().any(|residual| residual.abs() > 1e-3), "the first side guesses");
    }
}

/// A circuit at rest in numbers that a double holds exactly: 3 V over 1 Ohm leave 2 V and 1 A.
fn at_rest(correction: &str, input: &str) -> String {
    format!(
        "[experiment]\nstop = 5\n\
         [component.rc]\nsource = \"native:rc-rl/rc\"\n\
         parameters = {{ R1 = 1.0, C = 0.5, V0 = 3.0, v0 = 2.0, solver = \"euler\", micro_steps = 4 }}\n\
         [component.rl]\nsource = \"native:rc-rl/rl\"\n\
         parameters = {{ R2 = 2.0, L = 0.5, i0 = 1.0, solver = \"euler\", micro_steps = 4 }}\n\
         [[bond]]\na = {{ effort = \"rc.v\", flow = \"rc.i\" }}\nb = {{ effort = \"rl.v\", flow = \"rl.i\" }}\n\
         [method]\ninput = \"{input}\"\ncorrection = {correction}\nstep = {{ size = 0.03125 }}\n"
    )
}

const FORMS: [&str; 4] = [
    "{ nepce = { form = \"account\" } }",
    "{ nepce = { form = \"paper\" } }",
    "{ nepce = { form = \"account\", feedthrough = \"declared\" } }",
    "{ nepce = { form = \"paper\", quadrature = \"trapezoid\" } }",
];

#[test]
fn perfect_coupling_owes_nothing_and_corrections_stay_idle() {
    for entry in cosimo::registry().inputs {
        let mut plain = start(&at_rest("\"none\"", entry.name), 1);
        run_to_the_end(&mut plain);
        assert_eq!(plain.outputs(), [2.0, 1.0]);
        assert_eq!(plain.ledger().powers[0].residual, 0.0);
        let totals = plain.ledger().totals[0];
        assert_eq!((totals.residual, totals.residual_absolute), (0.0, 0.0));
        assert_eq!((totals.transmitted, totals.exchanged), (10.0, 10.0)); // 2 W for 5 s
        for correction in FORMS {
            let mut corrected = start(&at_rest(correction, entry.name), 1);
            while !corrected.finished() {
                corrected.step().unwrap();
                for offset in &corrected.island().board.offsets {
                    assert_eq!(offset.0, [0.0; 4], "{correction}");
                }
            }
            assert_eq!(bits(&corrected), bits(&plain), "{}, {correction}", entry.name);
        }
    }
}

/// The same corrections, where something is owed: otherwise the test above could pass on dead code.
#[test]
fn corrections_are_not_idle_where_something_is_owed() {
    let run = |correction: &str| {
        let method = format!("correction = {correction}\nstep = {{ size = 0.02 }}");
        let mut run = DualMass { stop: 1.0, method: &method, ..DUAL_MASS }.start();
        run_to_the_end(&mut run);
        bits(&run)
    };
    for correction in FORMS {
        assert_ne!(run(correction), run("\"none\""), "{correction}");
    }
}

const SOURCE: [f64; 3] = [1.0, 0.01, 10.0]; // R1, C, V0
const LOADS: [[f64; 2]; 2] = [[0.5, 0.01], [1.0, 0.03]]; // R2, L

/// One capacitor that feeds two loads.
fn junction(sides: &str, input: &str, size: f64) -> String {
    let [r1, c, v0] = SOURCE;
    let mut text = format!(
        "[experiment]\nstop = 0.05\n[component.rc]\nsource = \"native:rc-rl/rc\"\n\
         parameters = {{ R1 = {r1:?}, C = {c:?}, V0 = {v0:?} }}\n"
    );
    for (name, [r, l]) in ["one", "two"].iter().zip(LOADS) {
        text += &format!(
            "[component.{name}]\nsource = \"native:rc-rl/rl\"\nparameters = {{ R2 = {r:?}, L = {l:?} }}\n"
        );
    }
    format!(
        "{text}[[junction]]\nname = \"node\"\ncommon = \"effort\"\nsides = [ {sides} ]\n\
         [method]\ninput = \"{input}\"\nstep = {{ size = {size:?} }}\n"
    )
}

/// `rc.i` is what is drawn, so its power leaves; that of the loads enters.
const HOST: &str = "{ effort = \"rc.v\", flow = \"rc.i\", power = \"leaves\" }";
const SIDES: [&str; 2] =
    ["{ effort = \"one.v\", flow = \"one.i\" }", "{ effort = \"two.v\", flow = \"two.i\" }"];

fn node() -> String {
    [HOST, SIDES[0], SIDES[1]].join(", ")
}

/// v, i of the first and i of the second load, in one piece.
fn circuit(t: f64) -> DVector<f64> {
    let [r1, c, v0] = SOURCE;
    let [[ra, la], [rb, lb]] = LOADS;
    #[rustfmt::skip]
    let a = DMatrix::from_row_slice(4, 4, &[
        -1.0 / (r1 * c), -1.0 / c, -1.0 / c, v0 / (r1 * c),
        1.0 / la, -ra / la, 0.0, 0.0,
        1.0 / lb, 0.0, -rb / lb, 0.0,
        0.0, 0.0, 0.0, 0.0,
    ]);
    (a * t).exp() * DVector::from_vec(vec![0.0, 0.0, 0.0, 1.0])
}

fn junction_error(table: &Table) -> f64 {
    let times = column(table, "time");
    let mut worst = 0.0f64;
    for (k, name) in ["rc.v", "one.i", "two.i"].iter().enumerate() {
        let found = column(table, name);
        for n in (0..times.len()).step_by(times.len() / 20) {
            worst = worst.max((found[n] - circuit(times[n])[k]).abs());
        }
    }
    worst
}

#[test]
fn a_junction_adds_up_as_the_undivided_circuit_does() {
    for (input, expected) in [("hold", 1.0), ("linear", 2.0)] {
        let sizes = [4e-5, 2e-5, 1e-5];
        let errors = sizes.map(|size| junction_error(&rows(&junction(&node(), input, size))));
        let order = observed_order(&sizes, &errors);
        assert!((order - expected).abs() < 0.05, "{input}: {order}, {errors:?}");
        assert!(errors[2] < if input == "hold" { 0.02 } else { 2e-5 }, "{input}: {errors:?}");
    }
}

#[test]
fn a_junction_has_a_ledger_of_all_its_sides() {
    let table = rows(&junction(&node(), "hold", 1e-4));
    let [v, i, one, two] = ["rc.v", "rc.i", "one.i", "two.i"].map(|name| column(&table, name));
    let power = |name: &str| column(&table, &format!("bond.node.{name}"));
    let [host, first, second] = ["power_a", "power_b", "power_c"].map(power);
    let (residual, transmitted) = (power("residual_power"), power("transmitted_power"));
    for n in 1..v.len() {
        assert_eq!(i[n], one[n] + two[n]);
        assert_near(host[n], -v[n] * i[n - 1], "into the host");
        assert_near(first[n], v[n - 1] * one[n], "into the first load");
        assert_near(second[n], v[n - 1] * two[n], "into the second load");
        assert_near(residual[n], host[n] + first[n] + second[n], "residual");
        assert_near(transmitted[n], v[n] * i[n], "from the host to the loads");
    }
    assert!(residual.iter().any(|residual| residual.abs() > 0.1));
}

#[test]
fn the_order_of_sides_does_not_matter() {
    let numbers = |sides: &[&str]| {
        let mut run = start(&junction(&sides.join(", "), "linear", 1e-4), 1);
        run_to_the_end(&mut run);
        let totals = run.ledger().totals[0];
        (run.outputs().to_vec(), totals)
    };
    let (outputs, totals) = numbers(&[HOST, SIDES[0], SIDES[1]]);
    for sides in [[SIDES[0], HOST, SIDES[1]], [SIDES[1], SIDES[0], HOST]] {
        let (other, other_totals) = numbers(&sides);
        for (found, expected) in other.iter().zip(&outputs) {
            assert_near(*found, *expected, "output");
        }
        assert_near(other_totals.residual, totals.residual, "residual energy");
        assert_near(other_totals.residual_absolute, totals.residual_absolute, "sum of absolute residuals");
    }
}

#[test]
fn sides_are_lettered_as_in_the_file_and_power_is_counted_from_the_first() {
    let table = rows(&junction(&[SIDES[0], HOST, SIDES[1]].join(", "), "hold", 1e-4));
    let [v, one] = ["rc.v", "one.i"].map(|name| column(&table, name));
    let [first, transmitted] =
        ["power_a", "transmitted_power"].map(|name| column(&table, &format!("bond.node.{name}")));
    for n in 1..v.len() {
        assert_near(first[n], v[n - 1] * one[n], "into the first load");
        assert_near(transmitted[n], -v[n] * one[n], "from the first load to the rest");
    }
}

#[test]
fn saying_of_all_sides_the_opposite_turns_the_ledger_and_nothing_else() {
    let flipped = [
        "{ effort = \"rc.v\", flow = \"rc.i\", power = \"enters\" }",
        "{ effort = \"one.v\", flow = \"one.i\", power = \"leaves\" }",
        "{ effort = \"two.v\", flow = \"two.i\", power = \"leaves\" }",
    ];
    let (plain, other) =
        (rows(&junction(&node(), "linear", 1e-4)), rows(&junction(&flipped.join(", "), "linear", 1e-4)));
    assert_flipped(&plain, &other, "bond.node");
}

#[test]
fn a_side_that_says_the_opposite_alone_changes_the_sum() {
    let wrong = HOST.replace("leaves", "enters");
    let table = rows(&junction(&[&wrong, SIDES[0], SIDES[1]].join(", "), "hold", 1e-4));
    let [i, one, two] = ["rc.i", "one.i", "two.i"].map(|name| column(&table, name));
    for n in 0..i.len() {
        assert_eq!(i[n], -(one[n] + two[n]));
    }
    assert!(i[10] != 0.0);
}

/// Powers and energies have changed their sign, the rest not a bit.
fn assert_flipped(plain: &Table, other: &Table, bond: &str) {
    assert_eq!(plain.columns.names, other.columns.names);
    for name in &plain.columns.names {
        let (one, two) = (column(plain, name), column(other, name));
        let turned = name.starts_with(bond) && !name.ends_with(".indicator");
        for (one, two) in one.iter().zip(two) {
            let expected = if turned { -one } else { *one };
            assert!(*two == expected || (two.is_nan() && expected.is_nan()), "{name}: {two} from {one}");
        }
    }
}

#[test]
fn direction_turns_the_ledger_and_nothing_else() {
    let table = |bond: &str| {
        rows(&DualMass { stop: 2.0, bond: Some(bond), method: "step = { size = 0.02 }", ..DUAL_MASS }.text())
    };
    assert_flipped(&table("direction = \"a-to-b\""), &table("direction = \"b-to-a\""), "bond.joint");
}

/// Capacitor and coil, joined by a bond or by wires of the given gains.
fn pair(links: &str, size: f64) -> String {
    format!(
        "[experiment]\nstop = 0.02\n[component.rc]\nsource = \"native:rc-rl/rc\"\n\
         [component.rl]\nsource = \"native:rc-rl/rl\"\n{links}\n\
         [method]\ninput = \"linear\"\nstep = {{ size = {size:?} }}\n"
    )
}

#[test]
fn opposite_is_a_gain_of_minus_one_that_the_ledger_knows() {
    for (opposite, effort, flow) in [("none", 1.0, 1.0), ("effort", -1.0, 1.0), ("flow", 1.0, -1.0)] {
        for direction in ["a-to-b", "b-to-a"] {
            let bond = format!(
                "[[bond]]\nname = \"joint\"\na = {{ effort = \"rc.v\", flow = \"rc.i\" }}\n\
                 b = {{ effort = \"rl.v\", flow = \"rl.i\" }}\nopposite = \"{opposite}\"\ndirection = \"{direction}\""
            );
            let wires = format!(
                "[[connection]]\nfrom = \"rc.v\"\nto = \"rl.v\"\ngain = {effort:?}\n\
                 [[connection]]\nfrom = \"rl.i\"\nto = \"rc.i\"\ngain = {flow:?}"
            );
            let (mut bonded, mut wired) = (start(&pair(&bond, 1e-4), 1), start(&pair(&wires, 1e-4), 1));
            run_to_the_end(&mut bonded);
            run_to_the_end(&mut wired);
            assert_eq!(bonded.outputs(), wired.outputs(), "{opposite}");

            // With a wrong sign the residual would be twice the power, at any size.
            let shares = [1e-4, 5e-5, 2.5e-5].map(|size| {
                let mut run = start(&pair(&bond, size), 1);
                run_to_the_end(&mut run);
                let totals = run.ledger().totals[0];
                totals.residual_absolute / totals.exchanged
            });
            let order = observed_order(&[1e-4, 5e-5, 2.5e-5], &shares);
            assert!(shares[0] < 1e-3 && (order - 2.0).abs() < 0.1, "{opposite}: {shares:?}, {order}");

            // Side a gives v and draws i; with this direction, power is counted from a or towards it.
            let [v, i] = ["rc.v", "rl.i"].map(|name| bonded.output(name).unwrap());
            let sign = if direction == "a-to-b" { 1.0 } else { -1.0 };
            assert_near(bonded.ledger().powers[0].transmitted, sign * v * flow * i, "transmitted power");
        }
    }
}

fn measured(row: &str, changes: &Changes) -> Vec<(String, f64)> {
    let registry = cosimo::registry();
    let found = cosimo_papers::ECCO_NEPCE.rows(row).unwrap();
    let (row, cells) = &found[0];
    let values = ecco_nepce::measure(row, cells, changes, &registry).unwrap();
    cells.iter().map(|cell| cell.id.rsplit_once('/').unwrap().1.to_owned()).zip(values).collect()
}

fn quantity(row: &str, changes: &Changes, name: &str) -> f64 {
    let found = measured(row, changes);
    found
        .iter()
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("{row} has no {name}: {found:?}"))
        .1
}

/// By how much a row lowers the residual energy of constant steps of 1 ms.
fn lowered(table: &str, row: &str) -> f64 {
    let plain = Changes::default();
    let energy = |row: &str| quantity(&format!("{table}/{row}"), &plain, "E");
    1.0 - energy(row) / energy("constant")
}

/// 4 s in steps of 1 ms.
const COST: f64 = 4000.0;

#[test]
fn nepce_with_ecco_lowers_the_residual_energy_as_claimed() {
    let gain = |table: &str, row: &str| {
        let steps = quantity(&format!("{table}/{row}"), &Changes::default(), "steps");
        assert!((steps - COST).abs() < 0.03 * COST, "{table}, {row}: {steps} steps");
        lowered(table, row)
    };
    for row in ["NEPCE a=0.95 r=1.6e-06", "NEPCE mod. a=0.95 r=1.6e-06"] {
        let found = gain("000/6", row);
        assert!((0.86..=0.88).contains(&found), "reticulation 1, {row}: {found}");
    }
    for row in ["NEPCE a=0.85 r=1.4e-06", "NEPCE mod. a=0.85 r=1.4e-06"] {
        let found = gain("000/7", row);
        assert!((0.975..=0.99).contains(&found), "reticulation 2, {row}: {found}");
    }
}

#[test]
fn ecco_alone_lowers_the_residual_energy_as_claimed() {
    let one = lowered("003/III", "ECCO 2.8e-06");
    assert!((0.74..=0.75).contains(&one), "reticulation 1: {one}");
    let two = lowered("003/VI", "ECCO 9.1e-07");
    assert!((0.925..=0.935).contains(&two), "reticulation 2: {two}");
}

/// Other masses and steps than the papers': held inputs cost an energy that is proportional to the step.
#[test]
fn the_residual_energy_of_held_inputs_is_proportional_to_the_step() {
    for row in ["000/4/constant", "000/5/constant"] {
        let base = quantity(row, &Changes::default(), "E");
        let sets: Vec<String> = ["mc=300", "mw=55", "kw=120000"].map(String::from).to_vec();
        let steps = [2.5e-4, 1.25e-4, 6.25e-5];
        let energies = steps.map(|step| {
            let changes = Changes { sets: sets.clone(), step: Some(step), ..Changes::default() };
            let all = measured(row, &changes);
            assert!(all.iter().all(|(_, value)| value.is_finite()), "{row}: {all:?}");
            quantity(row, &changes, "E")
        });
        let order = observed_order(&steps, &energies.map(f64::abs));
        assert!((order - 1.0).abs() < 0.05, "{row}: {energies:?}, {order}");
        let unchanged = Changes { sets, step: Some(1e-3), ..Changes::default() };
        assert!(quantity(row, &unchanged, "E") != base, "{row}: the masses had no effect");
    }
}
