//! A sample of the corpus, a system of each class with the same seed. `cargo xtask corpus` has as many as you like.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use cosimo_corpus::classes::{CLASSES, Demand};
use cosimo_corpus::measure::measure;
use cosimo_corpus::table::Tally;

/// Of all signals of smooth and stiff systems; a sample is too small for the limits of the whole corpus.
const BARS: f64 = 0.85;
const RIGHT: f64 = 0.93;
const UNKNOWN: f64 = 0.1;

#[test]
fn error_bars_of_a_sample_of_systems_hold_against_the_truth() {
    let registry = cosimo::registry();
    let folder = std::env::temp_dir().join(format!("cosimo-sample-{}", std::process::id()));
    let (mut smooth, mut offences) = (Tally::default(), Vec::new());
    for class in CLASSES {
        let mut tally = Tally::default();
        for seed in class.seeds(3, 2) {
            let system = class.system(seed);
            let own = folder.join(format!("{}-{seed:x}", class.name));
            let findings = measure(&system, &own, &registry).unwrap();
            assert!(!findings.is_empty(), "{}", system.about());
            tally.add(&system, &findings);
        }
        offences.extend(tally.offences.iter().map(|offence| offence.text.clone()));
        assert_eq!(
            (tally.false_accurate, tally.contradictions, tally.unexplained),
            ([0; 3], 0, 0),
            "{offences:#?}"
        );
        if class.demand != Demand::Honest {
            smooth.join(tally);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let share = |part: usize, whole: usize| part as f64 / whole as f64;
    for place in [1, 2] {
        let bars = share(smooth.near[place - 1], smooth.bars[place - 1]);
        let right = share(smooth.right[place], smooth.judged[place]);
        let unknown = share(smooth.unknown[place], smooth.signals);
        let good = bars >= BARS && right >= RIGHT && unknown <= UNKNOWN;
        assert!(good, "{bars} {right} {unknown}: {offences:#?}");
    }
}

#[test]
fn a_seed_makes_the_same_system_again() {
    for class in CLASSES {
        let seeds = class.seeds(1, 3);
        assert_eq!(seeds, class.seeds(1, 3));
        let texts: Vec<String> = seeds.iter().map(|seed| class.system(*seed).text).collect();
        assert_eq!(texts[0], class.system(seeds[0]).text);
        assert!(texts[0] != texts[1] && texts[1] != texts[2], "{}", class.name);
    }
}
