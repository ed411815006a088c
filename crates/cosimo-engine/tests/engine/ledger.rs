//! What bonds carried in a window, what is said of it, and how large steps may be, by hand.

use cosimo::core::Segment;
use cosimo::core::link::{Bond, BondSide, Couplings, PowerVariable, Term};
use cosimo::core::method::BondPower;
use cosimo::engine::{BondSummary, BondTotals, Counters, Ledger, StepLimits, Summary, Verdict};
use cosimo::system::Reject;

#[test]
fn powers_have_the_inputs_as_applied_and_energies_add_up() {
    let side = |effort, flow, sign| BondSide { effort, flow, sign };
    // The first simulator gives an effort and takes a flow, the second the other way round; in half of watts.
    let bond = Bond {
        name: String::new(),
        sides: vec![
            side(PowerVariable::Output(0), PowerVariable::Input(0), -0.5),
            side(PowerVariable::Input(1), PowerVariable::Output(1), 0.5),
        ],
        tolerance: None,
        energy_scale: None,
    };
    let bonds = [bond.clone(), bond];
    let rows = [vec![Term { output: 1, gain: 1.0 }], vec![Term { output: 0, gain: 1.0 }]];
    let couplings = Couplings::new(&rows, vec![0.0; 2]);
    let applied = [Segment::line(2.0, 4.0), Segment::constant(6.0)];
    let mut ledger = Ledger::new(&bonds);
    // At the end of a window of a quarter: inputs 3 and 6, outputs 10 and -2.
    ledger.add(&bonds, &couplings, &applied, &[10.0, -2.0], 0.25);
    assert_eq!(ledger.sides, [-15.0, -6.0, -15.0, -6.0]);
    // With the flow as it turned out: 0.5 * 10 * -2.
    let power = BondPower { transmitted: -10.0, residual: -21.0 };
    assert_eq!(ledger.powers, [power; 2]);
    let totals = BondTotals { transmitted: -2.5, exchanged: 2.5, residual: -5.25, residual_absolute: 5.25 };
    assert_eq!(ledger.totals, [totals; 2]);
    ledger.add(&bonds, &couplings, &[Segment::constant(-3.0), Segment::constant(6.0)], &[10.0, 2.0], 0.5);
    let totals = BondTotals {
        transmitted: -2.5 + 5.0,
        exchanged: 2.5 + 5.0,
        residual: -5.25 + 0.5 * (15.0 + 6.0),
        residual_absolute: 5.25 + 0.5 * (15.0 + 6.0),
    };
    assert_eq!(ledger.totals, [totals; 2]);
    let mut copy = Ledger::new(&bonds);
    copy.copy_from(&ledger);
    assert_eq!(copy, ledger);
}

fn totals(exchanged: f64, residual: f64) -> BondTotals {
    BondTotals { transmitted: 0.0, exchanged, residual, residual_absolute: residual.abs() }
}

#[test]
fn a_defect_is_a_share_of_what_was_exchanged() {
    let bond = BondSummary::of("joint", &totals(400.0, -2.0), 8.0);
    assert_eq!((bond.share, bond.power_error, bond.verdict()), (0.005, 0.125, Verdict::Noticeable));
    assert_eq!(BondSummary::of("joint", &totals(400.0, -2.0), 0.0).power_error, 0.0);
    let verdict = |exchanged, residual| BondSummary::of("", &totals(exchanged, residual), 1.0).verdict();
    assert_eq!(
        (verdict(0.0, 0.0), verdict(1.0, 0.0), verdict(0.0, 1.0)),
        (Verdict::Unmeasured, Verdict::Small, Verdict::Large)
    );
    assert_eq!([1e-3, 1.001e-3, 1e-2, 1.001e-2].map(Verdict::of), {
        use Verdict::{Large, Noticeable, Small};
        [Small, Noticeable, Noticeable, Large]
    });
    assert_eq!(Verdict::of(f64::NAN), Verdict::Large);
    for (share, words) in
        [(0.5, "50.000 %"), (1e-4, "0.010 %"), (9e-5, "9.00e-3 %"), (100.0, "1.00e4 %"), (99.0, "9900.000 %")]
    {
        let said = BondSummary::of("joint", &totals(1.0, share), 1.0).words();
        assert!(said.contains(words), "{share}: {said}");
    }
}

/// A bond that should carry nothing exchanges only its errors; bonds with a larger exchange are as before.
#[test]
fn a_small_exchange_is_held_against_a_larger_energy() {
    let bond = BondSummary::of("idle", &totals(1e-3, 5e-4), 1.0);
    assert_eq!((bond.share, bond.scaled_share(), bond.verdict()), (0.5, 0.5, Verdict::Large));
    let held = bond.clone().held_against(10.0);
    assert_eq!((held.share, held.scaled_share(), held.verdict()), (0.5, 5e-5, Verdict::Small));
    let words = held.words();
    assert!(
        words.contains(
            "50.000 % of the energy exchanged and 5.00e-3 % of its energy scale of 1.000e1 J: small"
        ),
        "{words}"
    );
    let busy = BondSummary::of("busy", &totals(100.0, 0.5), 1.0);
    assert_eq!(busy.clone().held_against(10.0), busy);
    assert!(!busy.words().contains("scale"));
    let idle = BondSummary::of("idle", &totals(0.0, 0.0), 1.0).held_against(10.0);
    assert_eq!(idle.verdict(), Verdict::Unmeasured);
    let text = |bond: BondSummary| {
        let verdict = bond.verdict();
        Summary { coupled: true, bonds: vec![bond], verdict, ..Summary::default() }.text()
    };
    assert!(text(bond).contains("give the energy to compare with as its `energy_scale`"));
    assert!(!text(busy).contains("energy_scale"));
}

#[test]
fn energies_that_overflow_are_said_to_have_overflowed() {
    let infinite = BondTotals {
        transmitted: f64::NAN,
        exchanged: f64::INFINITY,
        residual: f64::NAN,
        residual_absolute: f64::INFINITY,
    };
    let none = BondTotals { exchanged: f64::NAN, residual_absolute: f64::NAN, ..infinite };
    for totals in [
        infinite,
        none,
        BondTotals { exchanged: 1.0, ..infinite },
        BondTotals { residual_absolute: 1.0, ..infinite },
    ] {
        let bond = BondSummary::of("joint", &totals, 1.0).held_against(1.0);
        assert!(bond.overflowed() && bond.verdict() == Verdict::Large, "{bond:?}");
        assert_eq!(bond.percent_text(), "overflow");
        let summary = Summary {
            coupled: true,
            verdict: Verdict::Large,
            bonds: vec![bond.clone()],
            ..Summary::default()
        };
        for text in [bond.words(), summary.text()] {
            assert!(
                text.contains("the energies overflowed, since outputs diverged") && !text.contains("NaN"),
                "{text}"
            );
        }
    }
    // Energy out of nothing is no overflow.
    let bond = BondSummary::of("joint", &totals(0.0, 1.0), 1.0);
    assert!(!bond.overflowed() && bond.verdict() == Verdict::Large);
    assert_eq!(BondSummary { share: f64::NAN, ..bond }.percent_text(), "–");
}

/// Two masses with a spring between them, and a third on a spring of its own that hangs on the second and never moves.
#[test]
fn the_neighbours_of_a_bond_give_its_scale() {
    let system = |scale: &str| {
        format!(
            "experiment.stop = 2.0\n\
         component.left = {{ source = 'native:dual-mass/left', parameters = {{ x10 = 1.0 }} }}\n\
         component.coupling.source = 'native:dual-mass/coupling'\ncomponent.right.source = 'native:dual-mass/right'\n\
         connection = [{{ from = 'left.x', to = 'coupling.x1' }}, {{ from = 'right.x', to = 'coupling.x2' }}]\n\
         bond = [\n{{ name = 'one', a = {{ effort = 'left.f', flow = 'left.v' }}, b = {{ effort = 'coupling.f1', flow = 'coupling.v1' }} }},\n\
         {{ name = 'two', a = {{ effort = 'coupling.f2', flow = 'coupling.v2' }}, b = {{ effort = 'right.f', flow = 'right.v' }}{scale} }},\n]\n\
         method.step.size = 0.01\n"
        )
    };
    let bonds = |scale: &str, more: &str| {
        let mut run = crate::common::start(&(system(scale) + more), 1);
        crate::common::run_to_the_end(&mut run);
        run.summary().bonds
    };
    // A heavy second mass hardly moves: what its bond exchanges is far below a tenth of the first one's.
    let heavy = "component.right.parameters = { m2 = 1e6, k2 = 1e6 }\n";
    let [one, two] = &bonds("", heavy)[..] else { panic!() };
    assert!(two.totals.exchanged < 0.01 * one.totals.exchanged, "{one:?} {two:?}");
    assert_eq!((one.scale, two.scale), (one.totals.exchanged, 0.1 * one.totals.exchanged));
    let [_, given] = &bonds(", energy_scale = 123.0", heavy)[..] else { panic!() };
    assert_eq!((given.scale, given.totals), (123.0, two.totals));
    for bond in bonds("", "") {
        assert_eq!(bond.scale, bond.totals.exchanged, "{bond:?}");
    }
}

#[test]
fn a_summary_says_which_bond_is_worst_and_which_carry_nothing() {
    let bond = |name: &str, exchanged, residual| BondSummary::of(name, &totals(exchanged, residual), 1.0);
    let summary = |coupled, bonds: Vec<BondSummary>, tampered: &[&str]| {
        let verdict = bonds.iter().map(BondSummary::verdict).max().unwrap_or_default();
        let tampered = tampered.iter().map(|name| (*name).to_owned()).collect();
        Summary { coupled, bonds, verdict, tampered, ..Summary::default() }.text()
    };
    let alone = summary(false, Vec::new(), &[]);
    let wired = summary(true, Vec::new(), &[]);
    let idle = summary(true, vec![bond("idle", 0.0, 0.0)], &[]);
    assert!(alone.is_empty() && wired.contains("no power bond"), "{alone} {wired}");
    assert!(idle.contains("no power is transmitted by `idle`") && !idle.contains("No power is"), "{idle}");
    let bonds = || vec![bond("good", 1.0, 1e-5), bond("bad", 1.0, 5e-3), bond("idle", 0.0, 0.0)];
    let mixed = summary(true, bonds(), &[]);
    assert!(
        mixed.contains("`bad`")
            && !mixed.contains("`good`")
            && mixed.contains("No power is transmitted by `idle`")
    );
    assert!(!mixed.contains("The scenario") && summary(true, bonds(), &["good"]).contains("The scenario"));
}

#[test]
fn sizes_are_limited_in_their_change_and_then_in_themselves() {
    let control =
        StepLimits { min: 0.1, max: 1.0, shrink: 0.5, grow: 2.0, reject: Reject::AboveOne, adaptive: true };
    let next = |size: f64, factor: f64| {
        let mut counters = Counters::default();
        let next = control.next(size, factor, &mut counters);
        (next, counters.reasons().map(|(_, count)| count))
    };
    // Above tolerance, at the smallest, at the largest, limited by the growth and the shrink ratio, at an event.
    assert_eq!(next(0.25, 1.5), (0.375, [0, 0, 0, 0, 0, 0]));
    assert_eq!(next(0.25, 2.0), (0.5, [0, 0, 0, 0, 0, 0]));
    assert_eq!(next(0.25, 3.0), (0.5, [0, 0, 0, 1, 0, 0]));
    assert_eq!(next(0.25, 0.5), (0.125, [0, 0, 0, 0, 0, 0]));
    assert_eq!(next(0.25, 0.25), (0.125, [0, 0, 0, 0, 1, 0]));
    assert_eq!(next(0.5, 2.0), (1.0, [0, 0, 1, 0, 0, 0]));
    assert_eq!(next(0.2, 0.5), (0.1, [0, 1, 0, 0, 0, 0]));
    let retry = |error: f64, factor: f64, size: f64, control: &StepLimits| {
        let mut counters = Counters::default();
        (control.retry(error, factor, size, &mut counters), counters.rejected, counters.above_one)
    };
    assert_eq!(retry(1.0, 0.7, 0.5, &control), (None, 0, 0));
    assert_eq!(retry(1.1, 0.75, 0.5, &control), (Some(0.375), 1, 0));
    assert_eq!(retry(1.1, 5.0, 0.5, &control), (Some(0.4), 1, 0));
    assert_eq!(retry(1.1, 0.1, 0.5, &control), (Some(0.25), 1, 0));
    assert_eq!(retry(1.1, 0.5, 0.15, &control), (Some(0.1), 1, 0));
    assert_eq!(retry(1.1, 0.5, 0.1, &control), (None, 0, 1));
    let never = StepLimits { reject: Reject::Never, ..control.clone() };
    let fixed = StepLimits { adaptive: false, ..control.clone() };
    assert_eq!((retry(9.0, 0.5, 0.5, &never), retry(9.0, 0.5, 0.5, &fixed)), ((None, 0, 1), (None, 0, 1)));
    assert_eq!([0.5, 0.15, 0.1].map(|size| control.smaller(size)), [Some(0.25), Some(0.1), None]);
    assert_eq!(fixed.next(7.0, 0.5, &mut Counters::default()), 7.0);
    let first =
        |control: &StepLimits| [None, Some(0.01), Some(0.5), Some(7.0)].map(|size| control.first(size));
    assert_eq!((first(&control), first(&fixed)), ([0.1, 0.1, 0.5, 1.0], [0.1, 0.01, 0.5, 7.0]));
}
