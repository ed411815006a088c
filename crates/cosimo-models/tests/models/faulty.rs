use cosimo_core::{Segment, Slot};

use crate::common::{advance_from, open, outputs, set_inputs};

#[test]
fn nan_comes_at_its_time_stays_and_is_undone_by_a_rollback() {
    let mut faulty = open("faulty/nan", &[]);
    let seven = [Segment::constant(7.0)];
    advance_from(&mut *faulty, 0.0, 0.25, &seven);
    assert_eq!(outputs(&mut *faulty), [7.0]);
    faulty.rollback().unwrap().save(Slot::Attempt).unwrap();
    advance_from(&mut *faulty, 0.25, 0.25, &seven);
    assert!(outputs(&mut *faulty)[0].is_nan());
    set_inputs(&mut *faulty, &seven);
    assert!(outputs(&mut *faulty)[0].is_nan());
    faulty.rollback().unwrap().restore(Slot::Attempt).unwrap();
    assert_eq!(outputs(&mut *faulty), [7.0]);
}

#[test]
#[should_panic = "faulty model reached its time"]
fn panic_comes_at_its_time() {
    let mut faulty = open("faulty/panic", &[]);
    advance_from(&mut *faulty, 0.0, 0.4, &[Segment::ZERO]);
    advance_from(&mut *faulty, 0.4, 0.1, &[Segment::ZERO]);
}
