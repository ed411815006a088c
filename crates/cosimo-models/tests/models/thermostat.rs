use cosimo_models::Thermostat;
use cosimo_native::{Hybrid, ModelPoint};

const AMBIENT: f64 = 283.15;

/// A switch lies where the closed form leaves the band, and the equations agree with it in between.
#[test]
fn the_closed_form_obeys_the_equations_and_stays_in_the_band() {
    let (mut switches, mut before) = (0, Thermostat::DEFAULT.at(0.0, AMBIENT).1);
    for i in 1..30_000 {
        let t = 0.01 * f64::from(i);
        let (temperature, on) = Thermostat::DEFAULT.at(t, AMBIENT);
        assert!(
            temperature <= Thermostat::DEFAULT.high + 1e-9
                && (t < 50.0 || temperature >= Thermostat::DEFAULT.low - 1e-9)
        );
        switches += u32::from(on != before);
        before = on;
        let step = 1e-3;
        let [(low, on_low), (high, on_high)] =
            [t - step, t + step].map(|t| Thermostat::DEFAULT.at(t, AMBIENT));
        if (on_low, on_high) == (on, on) {
            let mut dx = [0.0];
            let m = [f64::from(u8::from(on))];
            Thermostat::DEFAULT
                .derivatives(&ModelPoint { t, x: &[temperature], m: &m, u: &[AMBIENT] }, &mut dx);
            assert!(((high - low) / (2.0 * step) - dx[0]).abs() < 1e-8, "{t}");
        }
    }
    assert!(switches > 8, "{switches}");
}

#[test]
fn the_relay_switches_at_both_ends_and_nowhere_else() {
    let mut m = vec![1.0];
    for (temperature, on) in [(294.0, 1.0), (295.15, 0.0), (294.0, 0.0), (293.15, 1.0), (294.0, 1.0)] {
        Thermostat::DEFAULT.event(0.0, &[AMBIENT], &mut [temperature], &mut m);
        assert_eq!(m, [on], "{temperature}");
    }
    // A heater that is too weak stays on.
    let weak = Thermostat { power: 50.0, ..Thermostat::DEFAULT };
    assert!(weak.at(1e4, AMBIENT).1 && (weak.at(1e4, AMBIENT).0 - 288.15).abs() < 1e-9);
}
