//! Strong coupling: units for model exchange that are integrated together equal the monolithic reference, whatever the size
//! of the macro step, with loops and events among them; and the rest of the system is coupled as ever.

use crate::common::{
    DUAL_MASS, DualMass, Made, bits, column, folder, rows, run_to_the_end, start, system, truth,
};
use cosimo::engine::{Run, plan};
use cosimo::export::{Design, InterfaceType, Variant, Version};

const TWO: Made = Made::Equations(Version::Two);
const THREE: Made = Made::Equations(Version::Three);
/// Tight enough that what is left is the coupling.
const TIGHT: &str = "relative = 1e-11\nabsolute = 1e-12\n";

/// How far a column is away at most. Of two rows at one instant, before and after an event, the later counts.
fn largest(table: &cosimo::record::Table, name: &str, exact: impl Fn(f64) -> f64) -> f64 {
    let times = column(table, "time");
    let rows = column(table, name).iter().zip(times).enumerate();
    let last = |row: usize| times.get(row + 1) != Some(&times[row]);
    let errors = rows.filter(|(row, _)| last(*row)).map(|(_, (value, t))| (value - exact(*t)).abs());
    errors.fold(0.0, f64::max)
}

#[test]
fn the_dual_mass_in_two_units_is_the_undivided_one() {
    for (made, solver) in [(TWO, "bdf"), (THREE, "dormand-prince"), (THREE, "bdf")] {
        // The macro step is half a second: ten steps and the weakly coupled system is gone.
        let text = DualMass { made, method: "step = { size = 0.5 }", ..DUAL_MASS }.text();
        let text = text.replace("\"cosimo.relative\" = 1e-10", "");
        let table = rows(&format!(
            "{text}[monolithic.whole]\ncomponents = [\"left\", \"right\"]\nsolver = \"{solver}\"\n{TIGHT}"
        ));
        assert_eq!(column(&table, "time").len(), 21);
        for (name, place) in [("left.x", 0), ("left.v", 1), ("right.x", 2), ("right.v", 3), ("left.f", 4)] {
            let worst = largest(&table, name, |t| truth(&[t])[0][place]);
            // A factor of a hundred between the forces and the displacements.
            let allowed = if name == "left.f" { 1e-7 } else { 1e-8 };
            assert!(worst < allowed, "{made:?} {solver}: {name} is {worst:e} away");
        }
    }
}

/// The spring is a unit without a state that hears both masses and answers at once.
#[test]
fn three_units_of_both_versions_with_one_that_only_passes_on() {
    let parts = [(TWO, "left"), (THREE, "coupling"), (TWO, "right")];
    let [left, spring, right] = parts.map(|(made, name)| made.source(&format!("dual-mass/{name}")));
    let wires = [
        ("left.x", "spring.x1"),
        ("left.v", "spring.v1"),
        ("right.x", "spring.x2"),
        ("right.v", "spring.v2"),
        ("spring.f1", "left.f"),
        ("spring.f2", "right.f"),
    ];
    let wires: String = wires
        .iter()
        .map(|(from, to)| format!("[[connection]]\nfrom = \"{from}\"\nto = \"{to}\"\n"))
        .collect();
    let table = rows(&format!(
        "[experiment]\nstop = 4\n[component.left]\nsource = \"{left}\"\n[component.spring]\nsource = \"{spring}\"\n\
         [component.right]\nsource = \"{right}\"\n{wires}\
         [monolithic.whole]\ncomponents = [\"right\", \"spring\", \"left\"]\n{TIGHT}[method]\nstep = {{ size = 1.0 }}\n"
    ));
    for (name, place) in [("left.x", 0), ("left.v", 1), ("right.x", 2), ("right.v", 3)] {
        let worst = largest(&table, name, |t| truth(&[t])[0][place]);
        assert!(worst < 1e-8, "{name} is {worst:e} away");
    }
}

/// y1 = a y2 + x, y2 = b y1: substitution multiplies errors by a b, so that weak coupling is lost for |a b| >= 1.
#[test]
fn a_loop_that_diverges_by_substitution_is_solved_inside() {
    for (a, b) in [(0.5, 0.5), (3.0, -2.0), (-40.0, 5.0)] {
        let through = 1.0 / (1.0 - a * b);
        let text = gain_loop(a, b).replace("stop = 100", "stop = 2");
        let table = rows(&text);
        let x = |t: f64| ((b * through - 1.0) * t).exp();
        for (name, factor) in [("lag.x", 1.0), ("first.y", through), ("second.y", b * through)] {
            let worst = largest(&table, name, |t| factor * x(t));
            assert!(worst < 1e-8, "a = {a}, b = {b}: {name} is {worst:e} away");
        }
    }
}

fn gain_loop(a: f64, b: f64) -> String {
    let parts = [(TWO, "first"), (THREE, "second"), (TWO, "lag")];
    let sources = parts.map(|(made, name)| made.source(&format!("gain-loop/{name}")));
    crate::common::gain_loop(&sources, a, b)
}

#[test]
fn a_loop_without_a_solution_is_named_with_its_path() {
    let registry = cosimo::registry();
    let plan = plan(&system(&gain_loop(2.0, 0.5), &registry), &registry).unwrap();
    let error = Run::new(plan, 1).unwrap_err().to_string();
    for part in ["the algebraic loop through first.u, second.u has no solution", "iterations the residual is"]
    {
        assert!(error.contains(part), "{error}");
    }
}

/// Time events of one unit are events to the other, which hears a jump there.
#[test]
fn events_of_one_unit_reach_the_other_at_their_time() {
    for made in [TWO, THREE] {
        let (stair, driven) = (made.source("stair"), made.source("driven"));
        let text = format!(
            "[experiment]\nstop = 3.2\n[component.stair]\nsource = \"{stair}\"\nparameters = {{ period = 0.7, rise = 2.0 }}\n\
             [component.driven]\nsource = \"{driven}\"\n\
             [[connection]]\nfrom = \"stair.level\"\nto = \"driven.u\"\n\
             [monolithic.whole]\ncomponents = [\"stair\", \"driven\"]\n{TIGHT}[method]\nstep = {{ size = 0.4 }}\n"
        );
        let table = rows(&text);
        let exact = |t: f64| {
            let (mut x, mut from, mut level) = (0.5, 0.0, 0.0);
            loop {
                let until = f64::min(0.7 * (level + 1.0), t);
                x = level + (x - level) * f64::exp(-(until - from) / 0.8);
                if until >= t {
                    return x;
                }
                (from, level) = (until, level + 1.0);
            }
        };
        let worst = largest(&table, "driven.x", exact);
        assert!(worst < 1e-8, "{made:?}: {worst:e}");
        let worst = largest(&table, "driven.e", |t| (t / 0.7 + 1e-9).floor() - exact(t));
        assert!(worst < 1e-8, "{made:?}: what answers at once is {worst:e} away");
    }
}

/// A state event: the room's relay switches while a lag follows its temperature.
#[test]
fn state_events_happen_inside_a_group() {
    let (room, follower) = (THREE.source("thermostat"), TWO.source("driven"));
    let text = |group: &str| {
        format!(
            "[experiment]\nstop = 3000\n[component.room]\nsource = \"{room}\"\n\
             [component.follower]\nsource = \"{follower}\"\nparameters = {{ T = 20.0, x0 = 0.0 }}\n\
             [[connection]]\nfrom = \"room.heating\"\nto = \"follower.u\"\n{group}[method]\nstep = {{ size = 50.0 }}\n"
        )
    };
    let table = rows(&text(&format!("[monolithic.whole]\ncomponents = [\"room\", \"follower\"]\n{TIGHT}")));
    let heating = column(&table, "room.heating");
    assert!(
        heating.windows(2).filter(|pair| pair[0] != pair[1]).count() > 2,
        "the relay switches: {heating:?}"
    );
    // Alone the room is the same, and the follower of what it did is the closed form of every piece.
    let fine = text("").replace("size = 50.0", "size = 0.01");
    let fine = fine.replace(
        "[component.follower]",
        "parameters = { \"cosimo.relative\" = 1e-11 }\n[component.follower]",
    );
    let fine = rows(&fine);
    let at = |name: &str, t: f64| {
        let (times, values) = (column(&fine, "time"), column(&fine, name));
        let next = times.partition_point(|time| *time <= t).clamp(1, times.len() - 1);
        let share = (t - times[next - 1]) / (times[next] - times[next - 1]);
        values[next - 1] + share * (values[next] - values[next - 1])
    };
    for (row, t) in column(&table, "time").iter().enumerate() {
        for (name, allowed) in [("room.T", 1e-5), ("follower.x", 1e-3)] {
            let apart = (column(&table, name)[row] - at(name, *t)).abs();
            assert!(apart < allowed, "{name} at {t}: {apart:e}");
        }
    }
}

/// A bond inside the group has no defect to speak of; one that leaves it is accounted for as ever.
#[test]
fn what_leaves_the_group_is_coupled_as_ever() {
    let made = TWO;
    let weak = DualMass { made, method: "step = { size = 0.01 }", ..DUAL_MASS }.text();
    // Left and a watcher of its own are joined; the bond to the right stays.
    let text = format!(
        "{weak}[monolithic.half]\ncomponents = [\"left\", \"watch\"]\nrelative = 1e-10\n[component.watch]\nsource = \"{}\"\n",
        THREE.source("van-der-pol")
    );
    let mut joined = start(&text, 1);
    let mut alone = start(&weak, 1);
    run_to_the_end(&mut joined);
    run_to_the_end(&mut alone);
    let (one, other) = (&joined.ledger().totals[0], &alone.ledger().totals[0]);
    assert!(one.residual_absolute > 1e-3, "{one:?}");
    assert!((one.residual_absolute / other.residual_absolute - 1.0).abs() < 1e-6, "{one:?} {other:?}");

    let text = format!("{weak}[monolithic.whole]\ncomponents = [\"left\", \"right\"]\n");
    let run = start(&text, 1);
    assert!(run.ledger().totals.is_empty());
    let said: Vec<&str> = run.warnings().iter().map(|problem| problem.code).collect();
    assert!(said.contains(&"plan/bond-inside"), "{said:?}");
}

/// Going back is exact: steps that are rejected leave no trace, and a checkpoint goes on with the same bits.
#[test]
fn a_group_goes_back_and_comes_back_exactly() {
    let loops = gain_loop(3.0, -2.0);
    let masses = DualMass { made: TWO, method: "step = { size = 0.1 }", ..DUAL_MASS }.text();
    let masses = format!("{masses}[monolithic.whole]\ncomponents = [\"left\", \"right\"]\n");
    for text in [loops, masses] {
        let (mut straight, mut detour) = (start(&text, 1), start(&text, 1));
        for _ in 0..3 {
            straight.step().unwrap();
            detour.step().unwrap();
        }
        let kept = detour.save().unwrap();
        detour.step().unwrap();
        detour.step().unwrap();
        detour.load(&kept).unwrap();
        let mut fresh = start(&text, 2);
        fresh.load(&kept).unwrap();
        run_to_the_end(&mut straight);
        run_to_the_end(&mut detour);
        run_to_the_end(&mut fresh);
        assert_eq!(bits(&straight), bits(&detour), "{text}");
        assert_eq!(bits(&straight), bits(&fresh), "{text}");
    }
}

#[test]
fn what_cannot_be_joined_is_said() {
    let registry = cosimo::registry();
    let problems = |text: &str| {
        let found = plan(&system(text, &registry), &registry).map(|_| ()).unwrap_err();
        found.into_iter().map(|problem| (problem.code, problem.message)).collect::<Vec<_>>()
    };
    let weak = DualMass { made: TWO, method: "step = { size = 0.01 }", ..DUAL_MASS }.text();
    let native = DualMass { method: "step = { size = 0.01 }", ..DUAL_MASS }.text();
    let group = "[monolithic.whole]\ncomponents = [\"left\", \"right\"]\n";
    let stepping = DualMass { made: Made::Unit(Version::Two, Variant::Plain), ..DUAL_MASS }.text();
    for (text, code, part) in [
        (format!("{native}{group}"), "plan/cannot-join", "`left` cannot be part of a monolithic group"),
        (
            format!("{stepping}{group}"),
            "plan/cannot-open",
            "does not support model exchange, which a monolithic group requires",
        ),
        (
            format!("{weak}[monolithic.whole]\ncomponents = [\"left\"]\n"),
            "plan/nothing-to-join",
            "needs at least two components, got 1",
        ),
        (
            format!("{weak}[monolithic.whole]\ncomponents = [\"left\", \"right\", \"left\"]\n"),
            "plan/joined-twice",
            "`left` is listed twice in `whole`",
        ),
        (
            format!("{weak}{group}[monolithic.more]\ncomponents = [\"right\", \"left\"]\n"),
            "plan/joined-twice",
            "`right` is already in `whole`",
        ),
        (
            format!("{weak}{group}solver = \"euler\"\n"),
            "plan/cannot-open",
            "group `whole`: `solver` must be \"dormand-prince\", \"bogacki-shampine\" or \"bdf\", got \"euler\"",
        ),
        (
            format!(
                "{}{group}",
                weak.replacen("\"cosimo.relative\" = 1e-10", "\"cosimo.solver\" = \"dormand-prince\"", 1)
            ),
            "plan/cannot-open",
            "members of one monolithic group have different solvers: `left` has `dormand-prince`, `right` has `bdf`",
        ),
    ] {
        let found = problems(&text);
        assert!(found.iter().any(|(known, said)| *known == code && said.contains(part)), "{found:?}\n{text}");
    }
}

/// A unit for both uses is integrated where it is joined.
#[test]
fn units_for_both_uses_are_joined_as_equations() {
    let folder = folder();
    let library = cosimo::export::built_library().unwrap();
    let mut text = DualMass { made: TWO, method: "step = { size = 0.5 }", ..DUAL_MASS }.text();
    for side in ["left-force", "right"] {
        let design = Design::exchange(&format!("native:dual-mass/{side}"), Version::Two);
        let both = design.clone().kind(InterfaceType::Both);
        let name = format!("strong-{}", both.file_name());
        cosimo::export::write(&both, &library, &folder.join(&name)).unwrap();
        text = text.replace(&design.file_name(), &name);
    }
    let table = rows(&format!("{text}[monolithic.whole]\ncomponents = [\"left\", \"right\"]\n"));
    let worst = largest(&table, "left.x", |t| truth(&[t])[0][0]);
    assert!(worst < 1e-7, "{worst:e}");
}
