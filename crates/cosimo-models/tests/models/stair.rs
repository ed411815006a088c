use cosimo_core::Value;

use crate::common::equations;

#[test]
fn every_event_announces_the_next_one_without_adding_up() {
    let given =
        [("period", 0.1), ("rise", 1.0), ("top", 30.0)].map(|(key, value)| (key, Value::Number(value)));
    let stair = equations("stair", &given).unwrap();
    let (_, mut m) = stair.initial();
    let mut next = 0.0;
    for level in 0..=30 {
        let event = stair.event(next, &[], &mut [], &mut m);
        assert_eq!((m[0], event.terminate), (f64::from(level), level == 30));
        next = event.next.unwrap();
        assert_eq!(next, f64::from(level + 1) * 0.1);
    }
    // An event of another component, in between.
    assert_eq!(stair.event(3.05, &[], &mut [], &mut m).next, Some(3.1));
    assert_eq!(m, [30.0]);
}
