use cosimo_models::BouncingBall;
use cosimo_native::{Hybrid, ModelPoint};

/// Indices of the discrete states.
const COUNT: usize = 0;
const RESTING: usize = 1;

const BALL: BouncingBall = BouncingBall::DEFAULT;

/// From bounce to bounce by the equations alone: they are parabolas, which one step of the second order has
/// without error.
#[test]
fn the_equations_touch_the_ground_when_the_closed_form_does() {
    let (mut x, mut m) = BALL.initial();
    let mut t = 0.0;
    for instant in BALL.bounces() {
        let h = instant - t;
        let mut dx = [0.0; 2];
        BALL.derivatives(&ModelPoint { t, x: &x, m: &m, u: &[] }, &mut dx);
        x = vec![x[0] + h * dx[0] + h * h / 2.0 * dx[1], x[1] + h * dx[1]];
        t = instant;
        assert!(x[0].abs() < 1e-13 && x[1] < 0.0, "{t}: {x:?}");
        let mut z = [0.0];
        x[0] = -1e-13;
        BALL.indicators(&ModelPoint { t, x: &x, m: &m, u: &[] }, &mut z);
        assert!(z[0] < 0.0);
        let event = BALL.event(t, &[], &mut x, &mut m);
        assert!(event.states_changed && event.next.is_none());
        BALL.indicators(&ModelPoint { t, x: &x, m: &m, u: &[] }, &mut z);
        assert!(z[0] > 0.0, "the indicator is above zero after the event");
        let (height, velocity, count) = BALL.at(t + 1e-15);
        assert!(height.abs() < 1e-13 && (velocity - x[1]).abs() < 1e-12, "{velocity} {}", x[1]);
        assert_eq!(m[COUNT], count as f64);
    }
    assert_eq!((m[COUNT], m[RESTING], x), (18.0, 1.0, vec![0.0, 0.0]));
    let event = BALL.event(t + 1.0, &[], &mut [0.0, 0.0], &mut m);
    assert!(!event.states_changed);
}

/// Until it rests it falls short of the point where infinitely many bounces would have ended.
#[test]
fn it_rests_before_the_bounces_would_accumulate() {
    let bounces = BALL.bounces();
    let fall = (2.0 / 9.81f64).sqrt();
    let all = fall * (1.0 + 2.0 * 0.7 / 0.3);
    let last = bounces[bounces.len() - 1];
    assert!((bounces[0] - fall).abs() < 1e-15);
    assert!(last < all && all - last < 2.0 * 0.01 / 9.81 / 0.3, "{last} {all}");
    assert_eq!(BALL.at(10.0), (0.0, 0.0, 18));
}

#[test]
fn a_ball_on_the_ground_stays_there_and_one_thrown_up_flies() {
    let still = BouncingBall { height: 0.0, ..BALL };
    let (mut x, mut m) = still.initial();
    still.event(0.0, &[], &mut x, &mut m);
    assert_eq!((x, m), (vec![0.0, 0.0], vec![1.0, 1.0]));
    assert_eq!(still.bounces(), [0.0]);
    let thrown = BouncingBall { height: 0.0, velocity: 9.81, ..BALL };
    let (mut x, mut m) = thrown.initial();
    assert!(!thrown.event(0.0, &[], &mut x, &mut m).states_changed);
    assert_eq!((thrown.bounces()[0], thrown.at(1.0).1), (2.0, 0.0));
}
