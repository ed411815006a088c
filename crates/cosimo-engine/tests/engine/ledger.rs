//! What bonds carried in a window, by hand.

use cosimo::core::Segment;
use cosimo::core::link::{Bond, Couplings, End, Side, Term};
use cosimo::core::method::BondPower;
use cosimo::engine::{BondTotals, Ledger};

#[test]
fn powers_have_the_inputs_as_applied_and_energies_add_up() {
    let side = |effort, flow, sign| Side { effort, flow, sign };
    // The first simulator gives an effort and takes a flow, the second the other way round; in half of watts.
    let bond = Bond {
        name: String::new(),
        sides: vec![side(End::Output(0), End::Input(0), -0.5), side(End::Input(1), End::Output(1), 0.5)],
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
