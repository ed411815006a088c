//! Linear models in flat buffers: what is written by name is read by name.

use cosimo_core::linear_model::{LinearModels, ModelPlace, OperatingPoint, StateSpaceMatrices};

#[test]
fn models_of_different_sizes_lie_behind_each_other() {
    let sizes = [(2, 1, 3), (1, 2, 1)];
    let first = ModelPlace::following((0, 0, 0), sizes[0]);
    let second = ModelPlace::following((2, first.present.end, first.matrices.end), sizes[1]);
    assert_eq!((first.present.clone(), first.matrices.clone()), (0..8, 0..15));
    assert_eq!((second.present.clone(), second.matrices.clone()), (8..13, 15..21));

    let (mut present, mut matrices) = (vec![0.0; 13], vec![0.0; 21]);
    for (number, place) in [&first, &second].into_iter().enumerate() {
        let base = 100.0 * (number + 1) as f64;
        let parts = OperatingPoint::of(place.states, place.inputs, &mut present[place.present.clone()]);
        for (k, part) in [parts.x, parts.u, parts.f, parts.g].into_iter().enumerate() {
            part.iter_mut().enumerate().for_each(|(i, value)| *value = base + (10 * k + i) as f64);
        }
        let buffer = &mut matrices[place.matrices.clone()];
        let mut parts = StateSpaceMatrices::of(place.states, place.inputs, place.outputs, buffer);
        for column in 0..place.states + place.inputs {
            let value = |row: usize| base + (10 * row + column) as f64;
            let behind = place.states;
            parts.set_column(
                column,
                (0..place.states).map(value),
                (0..place.outputs).map(|row| value(behind + row)),
            );
        }
    }
    let places = [None, Some(first), Some(second)];
    let models = LinearModels { present: &present, matrices: &matrices, places: &places };
    assert!(models.of(0).is_none() && models.of(3).is_none());

    let model = models.of(1).unwrap();
    assert_eq!((model.first_state, model.x, model.u), (0, &[100.0, 101.0][..], &[110.0][..]));
    assert_eq!((model.f, model.g), (&[120.0, 121.0][..], &[130.0, 131.0, 132.0][..]));
    assert_eq!((model.a, model.b), (&[100.0, 101.0, 110.0, 111.0][..], &[102.0, 112.0][..]));
    assert_eq!(model.c, [120.0, 121.0, 130.0, 131.0, 140.0, 141.0]);
    assert_eq!(model.d, [122.0, 132.0, 142.0]);

    let model = models.of(2).unwrap();
    assert_eq!((model.first_state, model.x, model.u), (2, &[200.0][..], &[210.0, 211.0][..]));
    assert_eq!((model.f, model.g), (&[220.0][..], &[230.0][..]));
    assert_eq!((model.a, model.b), (&[200.0][..], &[201.0, 202.0][..]));
    assert_eq!((model.c, model.d), (&[210.0][..], &[211.0, 212.0][..]));
}
