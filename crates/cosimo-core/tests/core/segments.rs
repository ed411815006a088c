use cosimo_core::Segment;

const CUBIC: Segment = Segment([1.0, -2.0, 0.5, 3.0]);

#[test]
fn a_cubic_at_an_instant() {
    assert_eq!(CUBIC.at(2.0), 1.0 - 4.0 + 2.0 + 24.0);
    assert_eq!(CUBIC.slope(2.0), -2.0 + 2.0 + 36.0);
    assert_eq!(CUBIC.integral(2.0), 2.0 - 4.0 + 4.0 / 3.0 + 12.0);
    assert_eq!(CUBIC.mean(2.0), CUBIC.integral(2.0) / 2.0);
    assert_eq!(CUBIC.start(), 1.0);
    assert_eq!(CUBIC.after(2.0), Segment([CUBIC.at(2.0), CUBIC.slope(2.0), 0.5 + 18.0, 3.0]));
}

#[test]
fn sums_and_multiples_are_taken_coefficient_by_coefficient() {
    let other = Segment([10.0, 20.0, 30.0, 40.0]);
    assert_eq!(CUBIC + other, Segment([11.0, 18.0, 30.5, 43.0]));
    assert_eq!(CUBIC * -2.0, Segment([-2.0, 4.0, -1.0, -6.0]));
    let mut sum = CUBIC;
    sum += other;
    assert_eq!(sum, CUBIC + other);
    assert_eq!(Segment::line(3.0, 0.5), Segment([3.0, 0.5, 0.0, 0.0]));
    assert_eq!(Segment::constant(3.0) + Segment::ZERO, Segment([3.0, 0.0, 0.0, 0.0]));
}
