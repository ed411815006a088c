//! Error bars beside a run: what they cost, counted, and that they change no number of it.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::path::PathBuf;

use cosimo::Simulation;
use cosimo::analysis::error_bars::{AccuracyVerdict, CompanionSet, ErrorBars};
use cosimo::core::recorder::Table;

fn example(name: &str) -> Simulation<'static> {
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    Simulation::open(examples.join(name)).unwrap()
}

fn bits(table: &Table) -> Vec<Vec<u64>> {
    table.values.iter().map(|column| column.iter().map(|value| value.to_bits()).collect()).collect()
}

/// Oscillators that hold each other by springs.
fn coupled() -> Simulation<'static> {
    Simulation::new()
        .add_source("left", "native:dual-mass/left-force")
        .add_source("right", "native:dual-mass/right")
        .connect("right.x", "left.x_far")
        .bond("joint", ("left.f", "left.v_far"), ("right.f", "right.v"))
        .step_size(1e-2)
        .stop_time(16.0)
}

#[test]
fn companions_change_no_bit_of_the_run_on_any_number_of_threads() {
    for name in ["quarter-car/system.toml", "rc-rl/system.toml", "spring-mass/system.toml"] {
        let run = |bars, threads| {
            let simulation = example(name).record_in_memory().error_bars(bars).threads(threads);
            simulation.run().unwrap()
        };
        let alone = run(ErrorBars::Off, 1);
        assert_eq!((alone.accuracy.companions, alone.accuracy.signals.len()), (CompanionSet::None, 0));
        let mut judged = Vec::new();
        for (bars, threads) in [(ErrorBars::Coarse, 1), (ErrorBars::Fine, 1), (ErrorBars::Fine, 2)] {
            let beside = run(bars, threads);
            assert_eq!(bits(beside.table.as_ref().unwrap()), bits(alone.table.as_ref().unwrap()), "{name}");
            assert_eq!(beside.summary, alone.summary, "{name}");
            judged.push(beside.accuracy);
        }
        // As text, where a number that is not known equals itself.
        assert_eq!(format!("{:?}", judged[1]), format!("{:?}", judged[2]), "{name}");
    }
}

/// 1/2 + 1/4 + 1/64 of the steps, and 18 of the graded first steps.
#[test]
fn companions_take_three_quarters_of_the_steps() {
    let outcome = coupled().error_bars(ErrorBars::Coarse).run().unwrap();
    let (steps, companions) = (outcome.summary.counters.steps, outcome.accuracy.companion_steps);
    assert_eq!(steps, 1600);
    let cuts = 3 + 400 / 16 - 1;
    assert_eq!(companions, steps / 2 + steps / 4 + cuts + 18);
    assert!((companions as f64) < 0.8 * steps as f64);
}

#[test]
fn the_verdict_is_about_the_wanted_accuracy() {
    let run = |wanted| coupled().accuracy(wanted).run().unwrap().accuracy;
    let bars = run(0.5);
    let worst = bars.signals.iter().map(|signal| signal.relative).fold(0.0, f64::max);
    assert!(bars.verdict == AccuracyVerdict::Accurate && worst > 0.0 && worst < 0.5, "{bars:#?}");
    let strict = run(worst / 3.0);
    assert_eq!(strict.verdict, AccuracyVerdict::NotAccurate, "{}", strict.words);
    assert!(coupled().accuracy(f64::NAN).run().is_err() && coupled().accuracy(0.0).run().is_err());
}

#[test]
fn what_has_no_error_bars_says_why() {
    let reason = |simulation: Simulation<'_>| {
        let accuracy = simulation.run().unwrap().accuracy;
        assert_eq!(accuracy.verdict, AccuracyVerdict::Unknown);
        accuracy.words
    };
    assert_eq!(reason(coupled().error_bars(ErrorBars::Off)), "unknown: no error bars were requested.");
    let alone = Simulation::new().add_source("mass", "native:oscillator/mass").set("mass.F", 1.0);
    let alone = reason(alone.step_size(0.1).stop_time(1.0));
    assert!(alone.starts_with("unknown: no components are coupled"), "{alone}");
    let paced = reason(coupled().stop_time(0.1).real_time(1e6));
    assert_eq!(paced, "unknown: companions would disturb a run in real time.");
    let mut stepped = coupled().stop_time(0.1).start().unwrap();
    while !stepped.finished() {
        stepped.step().unwrap();
    }
    let stepped = stepped.finish().accuracy.words;
    assert!(stepped.starts_with("unknown: the run is stepped from outside"), "{stepped}");
}
