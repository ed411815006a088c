use cosimo_core::{Segment, Value};

use crate::common::{advance, open, outputs};

#[test]
fn four_quarter_turns_are_one() {
    let quarter = Value::Number(std::f64::consts::FRAC_PI_2);
    let mut rotor = open("ring/rotor", &[("angle", quarter)]);
    let mut pair = outputs(&mut *rotor);
    assert_eq!(pair, [1.0, 0.0]);
    for turn in 0..4 {
        advance(&mut *rotor, 0.1, &[Segment::constant(pair[0]), Segment::constant(pair[1])]);
        pair = outputs(&mut *rotor);
        assert!((pair[0] - [0.0, -1.0, 0.0, 1.0][turn]).abs() < 1e-15);
    }
}
