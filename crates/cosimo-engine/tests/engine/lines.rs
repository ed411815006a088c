//! Islands that lines couple: what passes between them, and that it does not matter who is faster.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::fmt::Write;

use crate::common::{Made, folder};
use cosimo::core::line::{Stamp, StampInterpolation, StampTable};
use cosimo::core::registry::{OpenRequest, OpenResult};
use cosimo::core::{Port, SourceEntry, Time};
use cosimo::engine::lines::LineNetworkTotals;
use cosimo::engine::{Checkpoint, Run, plan};
use cosimo::export::{Variant, Version};
use cosimo::system::toml;
use cosimo_native::{Linear, Ode};

/// All rows of the given outputs at even instants.
fn rows(text: &str, threads: usize, signals: &[&str]) -> (Vec<Vec<f64>>, LineNetworkTotals) {
    let mut run = start(text, threads);
    let mut rows = Vec::new();
    loop {
        let mut row = vec![run.time().seconds()];
        row.extend(signals.iter().map(|path| run.output(path).unwrap_or_else(|| panic!("no `{path}`"))));
        rows.push(row);
        if run.finished() {
            return (rows, run.net().unwrap());
        }
        run.step().unwrap();
    }
}

fn start(text: &str, threads: usize) -> Run {
    Run::new(planned(text).unwrap_or_else(|words| panic!("{words}")), threads).unwrap()
}

fn planned(text: &str) -> Result<cosimo::engine::Plan, String> {
    let mut registry = cosimo::registry();
    registry.add_source(&TEST);
    let (system, problems) = toml::read(text, &folder(), &registry);
    let said = |problems: &[cosimo::system::Problem]| {
        let words: Vec<String> = problems
            .iter()
            .filter(|problem| problem.severity == cosimo::system::Severity::Error)
            .map(|problem| format!("{}: {}", problem.code, problem.message))
            .collect();
        words.join("\n")
    };
    if !said(&problems).is_empty() {
        return Err(said(&problems));
    }
    plan(&system, &registry).map_err(|problems| said(&problems))
}

/// The spring between two sub-models, with keys of the line.
fn spring(line: &str) -> String {
    spring_of("", "", line)
}

fn spring_of(left: &str, right: &str, line: &str) -> String {
    format!(
        "experiment.stop = 0.2\nresults.every = 1e-3\n\
         component.left = {{ source = \"native:spring-mass/left\", parameters = {{ {left} }} }}\n\
         component.right = {{ source = \"native:spring-mass/right\", parameters = {{ {right} }} }}\n\
         [[bond]]\nname = \"spring\"\na = {{ effort = \"left.e\", flow = \"left.f\" }}\n\
         b = {{ effort = \"right.e\", flow = \"right.f\" }}\nopposite = \"flow\"\nline = {{ {line} }}\n"
    )
}

const STEADY: &str =
    "control = \"steady-state\", steady = { sliding-window = { window = 0.01, tolerance = 0.1 } }";

#[test]
fn a_thousand_rows_where_nothing_says_how_many() {
    let text = spring("delay = 1e-4, stiffness = 1e3").replace(
        "experiment.stop = 0.2\nresults.every = 1e-3",
        "experiment.start = 0.1\nexperiment.stop = 0.2",
    );
    let (rows, _) = rows(&text, 1, &["left.f"]);
    assert_eq!((rows.len(), rows[0][0], rows[1000][0]), (1001, 0.1, 0.2));
}

#[test]
fn the_same_bits_for_any_number_of_threads_and_rows() {
    let line = format!("delay = 1e-4, stiffness = 1e3, {STEADY}");
    let text = spring_of("relative = 3e-5", "relative = 2e-4", &line);
    let signals = ["left.f", "right.f", "left.e", "line.spring.delay_a", "right.x3"];
    let (one, first) = rows(&text, 1, &signals);
    for threads in [2, 8] {
        let (other, totals) = rows(&text, threads, &signals);
        assert_eq!(first, totals);
        assert!(one == other, "{threads} threads");
    }
    // Who looks on more often changes no step.
    let (seldom, totals) = rows(&text.replace("every = 1e-3", "every = 1e-2"), 2, &signals);
    assert_eq!(first, totals);
    for row in seldom {
        let same = one.iter().find(|known| (known[0] - row[0]).abs() < 1e-9).unwrap();
        for (a, b) in row.iter().zip(same).skip(1) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{row:?} {same:?}");
        }
    }
    assert_eq!(first.beyond, 0);
    assert!(first.lines[0].ends[0].stats.grown > 0 && first.lines[0].ends[1].stats.shrunk > 0);
}

/// A mass that is pushed against a line from which nothing has come back yet: e = Z f, and v = F / Z (1 - exp(-Z t / M)).
#[test]
fn a_mass_at_a_long_line_only_feels_its_impedance() {
    let line = "delay = 0.05, impedance = 0.1";
    let left = "t0 = 0.01, F = 0.1, B = 0.0, relative = 1e-9, absolute = 1e-9";
    let (rows, _) =
        rows(&spring_of(left, "relative = 1e-9, absolute = 1e-9", line), 1, &["left.v1", "right.v2"]);
    for row in rows.iter().filter(|row| row[0] < 0.06) {
        let wanted = 1.0 - (-0.1 * (row[0] - 0.01).max(0.0) / 5e-3).exp();
        // Between two steps a row has the line between them.
        assert!((row[1] - wanted).abs() < 2e-4, "{row:?}, expected {wanted}");
        assert_eq!(row[2], 0.0, "nothing has arrived");
    }
    assert!(rows.iter().any(|row| row[2].abs() > 1e-2), "it arrives after the delay");
}

/// A stiff spring is a line with a short delay: errors fall with it, in second order.
#[test]
fn short_delays_come_near_the_undivided_system() {
    let registry = cosimo::registry();
    let error = |delay: f64| {
        let line = format!("delay = {delay:e}, stiffness = 1e3");
        let tight = "relative = 1e-9, absolute = 1e-9";
        let text = spring_of(tight, tight, &line)
            + "[reference]\nmodel = \"spring-mass\"\nports = { \"left.v1\" = \"v1\" }\n";
        let (rows, _) = rows(&text, 1, &["left.v1"]);
        let (system, _) = toml::read(&text, std::path::Path::new("."), &registry);
        let times: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        let exact = cosimo::reference::solve(&system, &times, &registry).unwrap();
        let differences = rows.iter().zip(exact.rows).map(|(row, exact)| (row[1] - exact[0]).abs());
        differences.fold(0.0, f64::max)
    };
    let (long, short) = (error(4e-4), error(1e-4));
    let order = (long / short).log2() / 2.0;
    assert!((1.7..2.3).contains(&order), "{long} {short}: order {order}");
}

/// A line of constant delay keeps its energy: what went in is on its way. Only what is read between stamps is lost.
#[test]
fn a_line_of_constant_delay_keeps_its_energy() {
    let defect = |interpolation: &str, tolerance: f64| {
        let line = format!("delay = 1e-4, stiffness = 1e3, interpolation = \"{interpolation}\"");
        let tight = format!("relative = {tolerance:e}, absolute = {tolerance:e}");
        let (_, net) = rows(&spring_of(&tight, &tight, &line), 1, &[]);
        net.lines[0].defect().abs() / net.lines[0].exchanged()
    };
    let (linear, cubic) = (defect("linear", 1e-6), defect("hermite", 1e-6));
    assert!(linear < 1e-3, "{linear}");
    assert!(cubic < 1e-4 && cubic < linear, "{cubic} {linear}");
}

/// A mass with a port on either side, and a spring with a damper to the ground. No paper's model has both a line and a bond.
fn open(request: &OpenRequest<'_>) -> OpenResult {
    let port = |name: &str, unit: &str| Port::new(name, unit, "");
    let linear = match request.source {
        "test:spring" => Linear {
            inputs: vec![port("v", "m/s")],
            outputs: vec![port("F", "N")],
            initial: vec![0.0],
            a: vec![0.0],
            b: vec![1.0],
            c: vec![200.0],
            d: vec![0.3],
            drift: vec![0.0],
        },
        // Grows without bound as soon as it is touched.
        "test:bomb" => Linear {
            inputs: vec![port("e", "N")],
            outputs: vec![port("f", "m/s")],
            initial: vec![0.0],
            a: vec![1e5],
            b: vec![1.0],
            c: vec![1.0],
            d: vec![0.0],
            drift: vec![0.0],
        },
        // A damper: its flow answers at once.
        "test:damper" => Linear {
            inputs: vec![port("e", "N")],
            outputs: vec![port("f", "m/s")],
            initial: vec![0.0],
            a: vec![-1.0],
            b: vec![0.0],
            c: vec![0.0],
            d: vec![-0.1],
            drift: vec![0.0],
        },
        // What comes from the left pushes forward, and the flow into a line there is the way back.
        _ => Linear {
            inputs: vec![port("e", "N"), port("F", "N")],
            outputs: vec![port("f", "m/s"), port("v", "m/s")],
            initial: vec![0.0],
            a: vec![0.0],
            b: vec![1.0 / 5e-3, -1.0 / 5e-3],
            c: vec![-1.0, 1.0],
            d: vec![0.0; 4],
            drift: vec![0.0],
        },
    };
    Ok(Box::new(Ode::exact(linear)))
}

const TEST: SourceEntry = SourceEntry {
    name: "test",
    summary: "parts of these tests",
    claims: |source| source.starts_with("test:"),
    open,
    parameters: |_, _| Vec::new(),
    models: Vec::new,
    join: None,
};

/// A line from a pushed mass to an island of a mass and a spring under ECCO and NEPCE.
fn combined(tolerance: f64) -> String {
    format!(
        "experiment.stop = 0.3\nresults.every = 1e-3\n\
         component.left = {{ source = \"native:spring-mass/left\" }}\n\
         component.mass.source = \"test:mass\"\ncomponent.spring.source = \"test:spring\"\n\
         [[bond]]\nname = \"long\"\na = {{ effort = \"left.e\", flow = \"left.f\" }}\n\
         b = {{ effort = \"mass.e\", flow = \"mass.f\" }}\nopposite = \"flow\"\n\
         line = {{ delay = 1e-4, stiffness = 1e3 }}\n\
         [[bond]]\nname = \"near\"\na = {{ effort = \"mass.F\", flow = \"mass.v\" }}\n\
         b = {{ effort = \"spring.F\", flow = \"spring.v\" }}\nenergy_scale = 20.0\n\
         [method]\ncorrection = {{ nepce = {{ gain = 0.5 }} }}\n\
         step = {{ estimate = \"power-residual\", controller = \"pi\", tolerance = {tolerance:e}, min = 1e-6, max = 5e-5 }}\n"
    )
}

#[test]
fn an_island_under_a_method_of_its_own_ends_a_line() {
    let signals = ["left.v1", "mass.v", "spring.F", "mass.e"];
    let (coarse, net) = rows(&combined(1e-4), 2, &signals);
    let (fine, _) = rows(&combined(1e-7), 1, &signals);
    assert_eq!(net.islands.len(), 2);
    assert_eq!(net.beyond, 0);
    // All books are there and close: that of the line, and that of the bond inside.
    let [bond] = &net.islands[1].bonds[..] else { panic!("{:?}", net.islands) };
    assert_eq!(bond.name, "near");
    assert!(bond.totals.exchanged > 1.0 && bond.share < 1e-2, "{bond:?}");
    let line = &net.lines[0];
    assert!(line.exchanged() > 1.0 && line.defect().abs() < 1e-3 * line.exchanged(), "{line:?}");
    for signal in 1..=signals.len() {
        let largest = fine.iter().map(|row| row[signal].abs()).fold(0.0, f64::max);
        let worst = coarse.iter().zip(&fine).map(|(a, b)| (a[signal] - b[signal]).abs()).fold(0.0, f64::max);
        assert!(worst < 2e-2 * largest, "{}: {worst} of {largest}", signals[signal - 1]);
    }
    // The energy that the pushing mass sent is what arrived, was stored or is on its way.
    let run = start(&combined(1e-4), 1);
    assert_eq!(run.layout().topology.names, ["left", "mass", "spring", "line.long"]);
}

/// The method of the system in which the pushed mass is alone on its island is that of the other one.
#[test]
fn a_method_for_one_island_is_the_same_as_one_for_all() {
    let signals = ["left.v1", "mass.v", "spring.F"];
    let (all, totals) = rows(&combined(1e-4), 2, &signals);
    let own = combined(1e-4).replace("[method]\n", "[island.tail]\ncomponents = [\"spring\", \"mass\"]\n");
    let (same, again) = rows(&own, 2, &signals);
    assert!(all == same && totals == again);
    // Keys that are left out have the common values.
    let (fine, totals) = rows(&combined(1e-7), 1, &signals);
    let half = combined(1e-4) + "[island.tail]\ncomponents = [\"mass\"]\nstep.tolerance = 1e-7\n";
    let (same, again) = rows(&half, 1, &signals);
    assert!(fine == same && totals == again);
}

/// Tanks beside a mass with a spring, each under a method of its own, side by side.
#[test]
fn islands_keep_methods_of_their_own_apart() {
    let tanks = "[component.first]\nsource = \"native:tanks/first\"\n[component.second]\nsource = \"native:tanks/second-pipe\"\n\
         [[connection]]\nfrom = \"first.p\"\nto = \"second.p\"\n[[connection]]\nfrom = \"second.q\"\nto = \"first.q\"\n";
    let method = "[island.tanks]\ncomponents = [\"second\"]\ncorrection = \"none\"\n\
                  step = { estimate = \"none\", controller = \"fixed\", size = 1e-3 }\n";
    let text = format!("{}{tanks}{method}", combined(1e-4));
    assert!(start(&text, 1).warnings().iter().all(|warning| warning.code != "plan/island-method"));
    let (_, both) = rows(&text, 2, &["second.h"]);
    assert_eq!(both.islands[2].steps, 300);
    let (_, alone) = rows(&combined(1e-4), 2, &["mass.v"]);
    assert_eq!(both.islands[1], alone.islands[1]);
    assert!(alone.islands[1].steps != 300 && alone.islands[1].taken_back == 0);
}

#[test]
fn what_an_island_cannot_be_is_said() {
    let refused = |more: &str| planned(&(combined(1e-4) + more)).unwrap_err();
    let two = refused("[island.x]\ncomponents = [\"left\", \"spring\"]\n");
    assert!(
        two.contains("plan/island") && two.contains("`left` and `spring` are in different islands"),
        "{two}"
    );
    let twice = refused("[island.x]\ncomponents = [\"mass\"]\n[island.y]\ncomponents = [\"spring\"]\n");
    assert!(twice.contains("`[island.x]` declares the same island"), "{twice}");
    let empty = refused("[island.x]\ncomponents = []\n");
    assert!(empty.contains("it lists no component"), "{empty}");
    let unknown = refused("[island.x]\ncomponents = [\"sprig\"]\ncorrection = \"nepze\"\n");
    assert!(unknown.contains("no component is called `sprig`") && unknown.contains("`nepze`"), "{unknown}");
    let alone = combined(1e-4) + "[island.x]\ncomponents = [\"left\"]\ncorrection = \"none\"\n";
    let said = start(&alone, 1).warnings().iter().map(|warning| warning.message.clone()).collect::<String>();
    assert!(said.contains("`[island.x]` contains `left` only"), "{said}");
}

/// Islands of one simulator under control of their delay, and of several under a method: saved in the middle, read by
/// another run on another number of threads, they go on bit for bit, and everything is counted.
#[test]
fn a_run_goes_on_where_it_was_saved() {
    let line = format!("delay = 1e-4, stiffness = 1e3, linked = true, announced = true, {STEADY}");
    let before_steps = |way: &str| spring(&format!("delay = 1e-4, stiffness = 1e3, boundary = \"{way}\""));
    for text in [spring(&line), before_steps("corrected"), before_steps("semi-implicit"), combined(1e-4)] {
        let finish = |run: &mut Run| {
            let mut seen = Vec::new();
            while !run.finished() {
                run.step().unwrap();
                seen.extend(run.outputs().iter().map(|value| value.to_bits()));
            }
            (seen, run.net().unwrap())
        };
        let mut whole = start(&text, 2);
        whole.run_until(Time::new(0.1234).unwrap()).unwrap();
        let saved = whole.save().unwrap();
        let bytes = saved.bytes().to_vec();
        let (wanted, totals) = finish(&mut whole);
        assert!(wanted.len() > 100);
        for threads in [1, 3] {
            let mut other = start(&text, threads);
            other.load(&Checkpoint::from_bytes(bytes.clone()).unwrap()).unwrap();
            assert_eq!(other.time(), Time::new(0.124).unwrap());
            let (found, again) = finish(&mut other);
            assert!(found == wanted, "{threads} threads");
            assert_eq!(again, totals);
        }
    }
    // The memory of another control is not what this one remembers.
    let mut saved = start(&spring(&line), 1);
    let bytes = saved.save().unwrap();
    let refused = start(&spring("delay = 1e-4, stiffness = 1e3"), 1).load(&bytes).unwrap_err();
    assert!(refused.to_string().contains("damaged"), "{refused}");
}

/// What was set from outside is what an island has, also after it was saved; and setting it again changes nothing.
#[test]
fn inputs_that_nothing_drives_are_set_between_steps() {
    let text = combined(1e-4)
        + "[component.free]\nsource = \"test:mass\"\n[component.other]\nsource = \"native:spring-mass/right\"\n\
           [[bond]]\nname = \"free\"\na = { effort = \"free.e\", flow = \"free.f\" }\n\
           b = { effort = \"other.e\", flow = \"other.f\" }\nopposite = \"flow\"\n\
           line = { delay = 1e-4, stiffness = 1e3 }\n";
    let begun = |threads: usize| Run::new(planned(&text).unwrap().open_to_changes(), threads).unwrap();
    let on = |run: &mut Run, steps: usize| -> Vec<u64> {
        (0..steps)
            .flat_map(|_| {
                run.step().unwrap();
                run.outputs().iter().map(|value| value.to_bits()).collect::<Vec<_>>()
            })
            .collect()
    };
    let mut whole = begun(1);
    let still = on(&mut whole, 20);
    assert_eq!(whole.output("free.v"), Some(0.0));
    whole.set_inputs(&[("free.F", -2.0)]).unwrap();
    assert_eq!(whole.input("free.F"), Some(-2.0));
    let pushed = on(&mut whole, 20);
    assert!(whole.output("free.v").unwrap() > 0.0);
    let saved = whole.save().unwrap();
    let wanted = on(&mut whole, 20);
    for threads in [1, 3] {
        let mut other = begun(threads);
        assert_eq!(on(&mut other, 20), still);
        other.set_inputs(&[("free.F", -2.0)]).unwrap();
        other.set_inputs(&[("free.F", -2.0)]).unwrap();
        assert_eq!(on(&mut other, 20), pushed);
        let mut resumed = begun(threads);
        resumed.load(&saved).unwrap();
        assert_eq!(resumed.input("free.F"), Some(-2.0));
        assert_eq!(on(&mut resumed, 20), wanted);
    }
}

/// Wall time is that of islands, in the place of their first component, and changes no bit.
#[test]
fn times_of_islands_are_taken_where_asked_for() {
    for threads in [1, 2] {
        let (mut plain, mut timed) = (start(&combined(1e-4), threads), start(&combined(1e-4), threads));
        timed.take_times();
        for _ in 0..20 {
            plain.step().unwrap();
            timed.step().unwrap();
        }
        assert_eq!(plain.outputs(), timed.outputs());
        assert_eq!(plain.time_per_component().count(), 0);
        let spent: Vec<(&str, bool)> =
            timed.time_per_component().map(|(name, time)| (name, time.is_zero())).collect();
        assert_eq!(spent, [("left", false), ("mass", false), ("spring", true), ("line.long", true)]);
    }
}

#[test]
fn an_island_without_bonds_has_steps_of_one_size() {
    let text = combined(1e-4)
        + "[component.first]\nsource = \"native:tanks/first\"\n[component.second]\nsource = \"native:tanks/second-pipe\"\n\
           [[connection]]\nfrom = \"first.p\"\nto = \"second.p\"\n[[connection]]\nfrom = \"second.q\"\nto = \"first.q\"\n";
    let run = start(&text, 2);
    let said = run.warnings().iter().find(|warning| warning.code == "plan/island-method").unwrap();
    assert!(said.message.contains("the island first, second has no bond"), "{}", said.message);
    let (rows, net) = rows(&text, 2, &["second.h"]);
    assert_eq!(net.islands.len(), 3);
    assert!(rows[rows.len() - 1][1] > rows[0][1], "water flows");
}

/// Masses with a line on either side, all islands of their own, with delays that do not fit each other.
fn chain(count: usize) -> String {
    let mut text = String::from("experiment.stop = 0.02\nresults.every = 1e-3\n");
    text += "component.c0 = { source = \"native:spring-mass/left\", parameters = { t0 = 0.001 } }\n";
    for k in 1..count {
        writeln!(text, "component.c{k}.source = \"test:mass\"").unwrap();
    }
    for k in 1..count {
        let [effort, flow] = if k == 1 { ["e", "f"] } else { ["F", "v"] };
        writeln!(
            text,
            "[[bond]]\nname = \"l{k}\"\na = {{ effort = \"c{}.{effort}\", flow = \"c{}.{flow}\" }}\n\
             b = {{ effort = \"c{k}.e\", flow = \"c{k}.f\" }}\nopposite = \"flow\"\n\
             line = {{ delay = {:e}, stiffness = 1e3 }}",
            k - 1,
            k - 1,
            1e-4 * (1.0 + 0.37 * (k % 3) as f64)
        )
        .unwrap();
    }
    text
}

/// Steps, not time: it is the same for any machine.
#[test]
fn the_work_of_a_chain_grows_with_its_length() {
    let work = |count: usize| {
        let (rows, net) = rows(&chain(count), 2, &["c0.v1"]);
        assert_eq!((net.beyond, net.islands.len()), (0, count));
        assert!(rows.iter().all(|row| row[1].is_finite()));
        net.islands.iter().map(|island| island.steps).sum::<u64>()
    };
    let (ten, hundred) = (work(10), work(100));
    assert!(hundred < 11 * ten, "{ten} {hundred}");
    let (one, _) = rows(&chain(10), 1, &["c9.v", "c5.v"]);
    let (many, _) = rows(&chain(10), 8, &["c9.v", "c5.v"]);
    assert!(one == many);
}

/// The table of a line against one that keeps everything and looks for the two stamps around an instant.
#[test]
fn a_table_reads_as_a_naive_one_does() {
    let mut random = 0x2545_F491_4F6C_DD1Du64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..50 {
        let (delay, keep) = (0.1 + next(), 3.0);
        let mut naive = vec![Stamp { t: 0.0, effort: next(), flow: next(), ..Stamp::default() }];
        let mut table = StampTable::new(naive[0], StampInterpolation::Linear);
        for _ in 0..2000 {
            let t = naive[naive.len() - 1].t + 1e-3 + 0.2 * next() * next();
            naive.push(table.publish(t, next(), next()));
            table.forget_before(t - keep);
            let at = (t - delay * (0.5 + next())).max(t - keep).min(t);
            let after = naive.iter().position(|stamp| stamp.t > at).unwrap_or(naive.len() - 1).max(1);
            let (a, b) = (naive[after - 1], naive[after]);
            let part = ((at - a.t) / (b.t - a.t)).clamp(0.0, 1.0);
            let wanted = a.effort + part * (b.effort - a.effort);
            let (found, ..) = table.at(at);
            assert!((found - wanted).abs() < 1e-12, "{at}: {found}, {wanted}");
        }
        assert_eq!(table.beyond(), 0);
    }
}

/// Whatever the delays and tolerances, no stamp is read before it is published, and no island waits for ever.
#[test]
fn horizons_are_kept_for_any_delays_and_steps() {
    for (k, delay) in [3.1e-5, 1e-4, 3.7e-4, 2e-3].into_iter().enumerate() {
        for (most, told) in [("1.0", false), ("[1.0, 7.0]", true), ("20.0", true)] {
            let line = format!(
                "delay = {delay:e}, stiffness = 1e3, most = {most}, linked = {told}, announced = {told}, {STEADY}"
            );
            let text = spring_of(
                &format!("relative = {:e}, t0 = 0.03", 1e-3 / 10f64.powi(k as i32)),
                &format!("relative = {:e}", 1e-6 * 10f64.powi(k as i32)),
                &line,
            );
            let (rows, net) = rows(&text.replace("stop = 0.2", "stop = 0.06"), 2, &["left.f", "right.x3"]);
            assert_eq!(net.beyond, 0);
            assert!((rows[rows.len() - 1][0] - 0.06).abs() < 1e-12);
        }
    }
}

/// Charge that is lost with waves that a shorter delay skipped comes back, if that is wanted.
#[test]
fn lost_charge_is_given_back() {
    let drift = |more: &str| {
        let line = format!(
            "delay = 1e-4, stiffness = 1e3, most = 20.0, linked = false, announced = false, {STEADY}{more}"
        );
        let (rows, _) =
            rows(&spring(&line).replace("stop = 0.2", "stop = 0.65"), 1, &["left.x1", "right.x2", "left.e"]);
        let last = &rows[rows.len() - 1];
        // A spring of 1e3 N/m.
        (last[1] - last[2] - last[3] / 1e3).abs()
    };
    let (lost, given) = (drift(""), drift(", repay = 0.02"));
    assert!(lost > 0.02 && given < 1e-5, "{lost} {given}");
}

#[test]
fn what_cannot_be_a_line_is_refused_by_name() {
    let line = "delay = 1e-4, impedance = 0.1";
    for (text, wanted) in [
        (spring("delay = 0.0, impedance = 0.1"), "`delay` must be a finite number above 0, got 0.0"),
        (spring("delay = -1e-4, impedance = 0.1"), "`delay` must be a finite number above 0"),
        (spring("delay = 1e-4, impedance = -0.1"), "`impedance` must be a finite number above 0"),
        (spring("delay = 1e-4"), "`line` of bond `spring` needs `impedance`"),
        (spring("delay = 1e-4, impedance = 0.1, stiffness = 3.0"), "gives its impedance by 2 keys"),
        (spring("impedance = 0.1"), "`line` of bond `spring` needs `delay`"),
        (spring("delay = 1e-4, impedance = 0.1, most = 0.5"), "`most` must be a number of at least 1"),
        (
            spring("delay = 1e-4, impedance = 0.1, steady = \"sliding-window\""),
            "`steady` of `line` of bond `spring` has no effect without `control = \"steady-state\"`",
        ),
        (
            spring("delay = 1e-4, impedance = 0.1, control = \"steady-state\", steady = \"sliding-door\""),
            "`sliding-door` is not a method for `steady`",
        ),
        (spring("delay = 1e-4, impedance = 0.1, boundary = \"held\""), "line `spring`: an effort held"),
        (spring(line).replace("flow = \"left.f\"", "flow = \"left.x1\""), "is not a power"),
        (spring(line).replace("left.f\" }", "left.e\" }"), "plan/no-power"),
        (
            spring(line).replace("native:spring-mass/right", "native:quarter-car/chassis-strut").replace(
                "effort = \"right.e\", flow = \"right.f\"",
                "effort = \"right.F\", flow = \"right.v\"",
            ),
            "line `spring`: `right.F` is an output; a line needs the effort as input and the flow as output",
        ),
        (
            spring(line).replace("native:spring-mass/right\", parameters = {  }", "test:damper\""),
            "plan/line-feedthrough: line `spring`: `right.f` depends on `right.e` by direct feed-through",
        ),
        (
            spring_made(Made::Unit(Version::Two, Variant::NoRollback), "", line),
            "`left` neither supports rollback nor evaluates the line",
        ),
        (
            spring_made(Made::Unit(Version::Two, Variant::FixedStep), "", line)
                + "[method]\nstep = { size = 1e-3 }\n",
            "plan/line-step: line `spring` has a delay of 0.0001 s, shorter than the fixed step of `left`, 0.001 s",
        ),
    ] {
        let words = planned(&text).err().unwrap_or_else(|| panic!("{wanted}: no problem"));
        assert!(words.contains(wanted), "expected {wanted:?}, said:\n{words}");
    }
}

/// One value per step is refused where it would grow without bound, and taken where it would not.
#[test]
fn explicit_efforts_have_a_limit() {
    let run = |stiffness: f64| {
        let text = spring(&format!("delay = 1e-4, stiffness = {stiffness:e}, boundary = \"mid-step\""))
            + "[method]\nstep = { size = 1e-4 }\n";
        Run::new(planned(&text).unwrap(), 1).map(drop).map_err(|error| error.to_string())
    };
    // Z H / M = 0.2 and 2.
    assert!(run(1e5).is_ok());
    let words = run(1e6).unwrap_err();
    assert!(words.contains("too stiff for one value per step") && words.contains("`left`"), "{words}");
}

/// Long waits and failures end in order.
#[test]
fn a_simulator_that_fails_is_named() {
    let text = spring_of("t0 = 0.001", "", "delay = 1e-4, impedance = 0.1")
        .replace("native:spring-mass/right\", parameters = {  }", "test:bomb\"");
    let mut run = start(&text, 2);
    let mut failed = None;
    while !run.finished() && failed.is_none() {
        failed = run.step().err().map(|error| error.to_string());
    }
    let words = failed.expect("it fails");
    assert!(words.contains("`right`"), "{words}");
    // What the others came to can still be asked for.
    assert!(run.net().unwrap().islands[0].steps > 0);
}

/// Units in the place of the native models, with the same keys of the line.
fn spring_made(made: Made, parameters: &str, line: &str) -> String {
    let text = spring_of(parameters, parameters, line);
    ["left", "right"].into_iter().fold(text, |text, side| {
        let model = format!("spring-mass/{side}");
        text.replace(&format!("native:{model}"), &made.source(&model))
    })
}

fn largest_difference(one: &[Vec<f64>], other: &[Vec<f64>]) -> f64 {
    assert_eq!(one.len(), other.len());
    let range = other.iter().map(|row| row[1].abs()).fold(0.0, f64::max);
    one.iter().zip(other).map(|(a, b)| (a[1] - b[1]).abs()).fold(0.0, f64::max) / range
}

#[test]
fn units_for_model_exchange_do_as_native_models_do() {
    let line = format!("delay = 1e-4, stiffness = 1e3, {STEADY}");
    let tolerances = "relative = 1e-6, absolute = 1e-8";
    let (native, books) = rows(&spring_of(tolerances, tolerances, &line), 1, &["left.f"]);
    for version in Version::ALL {
        let text = spring_made(Made::Equations(version), "\"cosimo.relative\" = 1e-6", &line);
        let (found, net) = rows(&text, 2, &["left.f"]);
        let difference = largest_difference(&found, &native);
        assert!(difference < 1e-5, "{version:?}: {difference}");
        assert_eq!(net.beyond, 0);
        let counts =
            |net: &LineNetworkTotals| net.islands.iter().map(|island| island.evaluations).sum::<u64>() as f64;
        assert!((counts(&net) / counts(&books) - 1.0).abs() < 0.2, "{version:?}");
        assert!(net.lines[0].ends[0].stats.grown > 0);
    }
}

/// Who publishes only where its steps end takes two of them per delay. With one, what it sends is a straight line over a whole
/// delay, and twice as far off.
#[test]
fn who_hides_the_steps_of_its_solver_takes_half_a_delay() {
    let (tight, line) = ("relative = 1e-9, absolute = 1e-9", "delay = 1e-4, stiffness = 1e5");
    let short = |text: String| text.replace("stop = 0.2", "stop = 0.14");
    let size = |parts: f64| format!("[method]\nstep = {{ size = {:e} }}\n", 1e-4 / parts);
    let inner = "solver = \"rk4\", micro_steps = 32";
    let (exact, _) = rows(&short(spring_of(inner, inner, line) + &size(64.0)), 1, &["left.f"]);
    let text = |version: Version, more: &str| short(spring_made(Made::Waves(version), tight, line) + more);
    let said = |text: &str| {
        let warnings = planned(text).unwrap().warnings;
        let said: Vec<String> = warnings
            .into_iter()
            .filter(|warning| warning.code == "plan/line-inner")
            .map(|warning| warning.message)
            .collect();
        said
    };
    let usual = text(Version::Two, "");
    let warnings = said(&usual);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains(
            "internal steps of `left` are not published, so its steps are limited to half the delay"
        ),
        "{warnings:?}"
    );
    let (half, halves) = rows(&usual, 1, &["left.f"]);
    assert_eq!(halves.islands[0].steps, 2800);
    assert!(half == rows(&text(Version::Two, &size(2.0)), 2, &["left.f"]).0);
    assert!(said(&text(Version::Two, &size(2.0))).is_empty());
    // An explicit size gets a warning.
    let insisting = text(Version::Two, &size(1.0));
    assert!(
        said(&insisting)[1].contains("`right`") && said(&insisting)[1].contains("longer than half the delay")
    );
    let (whole, wholes) = rows(&insisting, 1, &["left.f"]);
    assert_eq!((halves.beyond, wholes.beyond), (0, 0));
    let [half, whole] = [&half, &whole].map(|rows| 100.0 * largest_difference(rows, &exact));
    println!("half a delay: {half} %; a whole one: {whole} %");
    assert!(half < 1.0 && whole > 1.8 * half, "{half} {whole}");
    // A unit that shows every step of its solver takes them as it likes.
    let shown = text(Version::Three, "");
    assert!(said(&shown).is_empty());
}

/// Largest and root mean square difference of one signal, as parts of its range.
fn deviations(found: &[Vec<f64>], wanted: &[Vec<f64>], signal: usize) -> (f64, f64) {
    assert_eq!(found.len(), wanted.len());
    let values = || wanted.iter().map(|row| row[signal]);
    let range = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
    let off = || found.iter().zip(wanted).map(|(a, b)| (a[signal] - b[signal]).abs() / range);
    (off().fold(0.0, f64::max), (off().map(|off| off * off).sum::<f64>() / wanted.len() as f64).sqrt())
}

/// Units that control the delays of their ends: as good and as cheap as the control of the engine is with native models.
/// The bounds are those for a factor of 8 and a step that is not announced; only a run of a constant delay is compared with.
#[test]
fn units_may_control_their_delays_themselves() {
    let line = |most: f64| {
        format!("delay = 1e-4, stiffness = 1e3, most = {most:?}, linked = false, announced = false, {STEADY}")
    };
    let long = |text: String| text.replace("stop = 0.2", "stop = 0.65");
    let steady = "\"line.window\" = 0.01, \"line.tolerance\" = 0.1";
    let unit = |side: &str| Made::Stretching.source(&format!("spring-mass/{side}"));
    let (wanted, books) = rows(&long(spring(&line(1.0))), 2, &["left.f", "right.f"]);
    let (native, told) = rows(&long(spring(&line(8.0))), 2, &["left.f", "right.f"]);
    let spent =
        |net: &LineNetworkTotals| net.islands.iter().map(|island| island.evaluations as f64).sum::<f64>();
    let engine = 1.0 - spent(&told) / spent(&books);
    println!("the engine: saved {engine:.3}, {:?}", deviations(&native, &wanted, 1));
    for sides in [&["left"][..], &["right"], &["left", "right"]] {
        let text = |most: f64| {
            let parameters = |side: &str| if sides.contains(&side) { steady } else { "" };
            let text = spring_of(parameters("left"), parameters("right"), &line(most));
            sides.iter().fold(long(text), |text, side| {
                text.replace(&format!("native:spring-mass/{side}"), &unit(side))
            })
        };
        let mut signals = vec!["left.f".to_owned(), "right.f".to_owned()];
        for side in sides {
            let letter = if *side == "left" { "a" } else { "b" };
            signals.extend([
                format!("{side}.evaluations"),
                format!("{side}.e.kappa"),
                format!("line.spring.delay_{letter}"),
            ]);
        }
        let signals: Vec<&str> = signals.iter().map(String::as_str).collect();
        let (short, net) = rows(&text(1.0), 1, &signals);
        assert_eq!(net.beyond, 0);
        let (found, net) = rows(&text(8.0), 1, &signals);
        assert_eq!(net.beyond, 0, "nothing is extrapolated");
        for threads in [2, 8] {
            let (other, totals) = rows(&text(8.0), threads, &signals);
            assert!(found == other && net == totals, "{sides:?} with {threads} threads");
        }
        for (place, side) in sides.iter().enumerate() {
            let (count, kappa, delay) = (3 + 3 * place, 4 + 3 * place, 5 + 3 * place);
            let last = |rows: &[Vec<f64>]| rows[rows.len() - 1][count];
            let saved = 1.0 - last(&found) / last(&short);
            println!("{sides:?}: {side} {} -> {} evaluations", last(&short), last(&found));
            assert!(saved >= 0.33, "{sides:?}: {side} saved {saved}");
            assert!(short.iter().all(|row| row[kappa] == 1.0 && row[delay] == 1e-4));
            assert!(found.iter().all(|row| (row[delay] - 1e-4 * row[kappa]).abs() < 1e-15));
            assert!(found.iter().any(|row| row[kappa] == 8.0));
            let end = &net.lines[0].ends[usize::from(*side == "right")];
            assert!(end.owned && end.stats.grown > 3 && end.stats.shrunk > 0, "{end:?}");
        }
        let owned = net.lines[0].ends.iter().filter(|end| end.owned).count();
        assert_eq!(owned, sides.len());
        for signal in [1, 2] {
            // At its shortest the line is what it is with native models.
            let (largest, mean) = deviations(&short, &wanted, signal);
            assert!(largest < 5e-3 && mean < 1e-3, "{sides:?}, shortest: {largest} {mean}");
            let (largest, mean) = deviations(&found, &wanted, signal);
            println!("{sides:?}, signal {signal}: {largest:.5} at most, {mean:.5} in the mean");
            assert!(largest <= 0.017 && mean <= 0.0035, "{sides:?}: {largest} {mean}");
        }
    }
}

/// Who owns an end hears what the other end has to say all the same.
#[test]
fn a_unit_in_control_of_its_delay_hears_of_events_and_of_the_other_end() {
    let line = format!("delay = 1e-4, stiffness = 1e3, most = 20.0, {STEADY}");
    let steady = "\"line.window\" = 0.01, \"line.tolerance\" = 0.1";
    let source = Made::Stretching.source("spring-mass/right");
    let text = |line: &str| spring_of("", steady, line).replace("native:spring-mass/right", &source);
    let warnings = |line: &str| {
        let plan = planned(&text(line)).unwrap();
        plan.warnings.iter().filter(|warning| warning.code == "plan/line-owner").count()
    };
    assert_eq!(warnings(&line), 1);
    // Where impedances belong to both ends, or nothing is to be controlled, the unit is not asked to.
    assert_eq!(warnings(&format!("{line}, impedances = \"common\"")), 0);
    assert_eq!(warnings("delay = 1e-4, stiffness = 1e3"), 0);
    let signals = ["right.e.kappa", "left.f"];
    let (common, net) = rows(&text(&format!("{line}, impedances = \"common\"")), 2, &signals);
    assert!(common.iter().all(|row| row[1] == 1.0) && net.lines[0].ends[1].stats.grown > 0);
    // The left mass is pushed at 0.1 s, and says so beforehand: the line is short when it happens.
    let (announced, net) = rows(&text(&line), 2, &signals);
    let at = |t: f64| announced.iter().find(|row| (row[0] - t).abs() < 1e-9).unwrap()[1];
    assert_eq!((at(0.09), at(0.101)), (20.0, 1.0));
    assert_eq!(net.beyond, 0);
    let silent = format!("{line}, announced = false, linked = false");
    let (silent, _) = rows(&text(&silent), 2, &signals);
    let (short, _) = rows(&text(&line.replace("most = 20.0", "most = 1.0")), 2, &signals);
    let [with, without] = [&announced, &silent].map(|rows| deviations(rows, &short, 2).0);
    println!("announced {with}, not {without}");
    assert!(with < 0.005 && without > 10.0 * with, "{with} {without}");
}

/// The errors of the table for units that take a segment, by the tenth of the delay and by all of it, and half as much again.
#[test]
fn units_for_co_simulation_get_the_effort_before_each_step() {
    for (stiffness, parts, boundary, accepted) in [
        (1e3, 1.0, "best", 0.05),
        (1e5, 1.0, "best", 2.25),
        (1e6, 1.0, "corrected", 1.32),
        (1e6, 10.0, "semi-implicit", 0.405),
        (1e5, 10.0, "mid-step", 1.8),
    ] {
        let line =
            |boundary: &str| format!("delay = 1e-4, stiffness = {stiffness:e}, boundary = \"{boundary}\"");
        let size = |parts: f64| format!("[method]\nstep = {{ size = {:e} }}\n", 1e-4 / parts);
        // What was pushed at 0.1 s has gone to and fro by then.
        let short = |text: String| text.replace("stop = 0.2", "stop = 0.14");
        let inner = "solver = \"rk4\", micro_steps = 32";
        let tight = "relative = 1e-9, absolute = 1e-9";
        let (exact, _) = rows(&short(spring_of(inner, inner, &line("inside")) + &size(64.0)), 1, &["left.f"]);
        for version in Version::ALL {
            let text =
                spring_made(Made::Unit(version, Variant::Plain), tight, &line(boundary)) + &size(parts);
            let (found, _) = rows(&short(text), 1, &["left.f"]);
            let error = 100.0 * largest_difference(&found, &exact);
            assert!(error < accepted, "{boundary}, {stiffness:e} N/m, m = {parts}, {version:?}: {error} %");
        }
    }
}
