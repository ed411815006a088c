use cosimo_core::link::{Couplings, Term};

#[test]
fn an_input_is_a_row_of_terms_and_a_constant() {
    let term = |output, gain| Term { output, gain };
    let rows = [vec![term(0, 2.0), term(1, -1.0)], vec![], vec![term(2, 3.0)]];
    let couplings = Couplings::new(&rows, vec![0.5, 7.0, -1.0]);
    assert_eq!(couplings.inputs(), 3);
    assert_eq!([0, 1, 2].map(|input| couplings.terms(input).len()), [2, 0, 1]);
    assert_eq!([0, 1, 2].map(|input| couplings.value(input, &[10.0, 4.0, 2.0])), [16.5, 7.0, 5.0]);
    assert_eq!(couplings.constant(2), -1.0);

    let mut changed = couplings.clone();
    changed.set_row(0, &couplings, 0.5, 3.0);
    assert_eq!(changed.value(0, &[10.0, 4.0, 2.0]), 0.5 * 16.5 + 3.0);
    assert_eq!(changed.value(2, &[10.0, 4.0, 2.0]), 5.0);
    // The factor is that of the given couplings, not of what the row was before.
    changed.set_row(0, &couplings, 1.0, 0.0);
    assert_eq!(changed, couplings);
}
