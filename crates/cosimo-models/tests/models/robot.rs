use cosimo_native::ModelPoint;

use crate::common::equations;

/// Nothing moves before the setpoints change.
#[test]
fn all_three_begin_in_equilibrium() {
    for name in ["robot/lift", "robot/swing", "robot/arm"] {
        let model = equations(name, &[]).unwrap();
        let (x, m) = model.initial();
        let u: Vec<f64> = model.interface().inputs.iter().filter_map(|port| port.start).collect();
        let mut dx = vec![f64::NAN; x.len()];
        model.derivatives(&ModelPoint { t: 0.9, x: &x, m: &m, u: &u }, &mut dx);
        let mut nominals = vec![1.0; x.len()];
        model.nominals(&mut nominals);
        for (dx, nominal) in dx.iter().zip(nominals) {
            assert!(dx.abs() < 1e-12 * nominal, "{name}: {dx}");
        }
    }
}
