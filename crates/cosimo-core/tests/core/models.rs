//! Linear models in flat buffers: each part is read where it was written.

use crate::{time, window};
use cosimo_core::dense::{multiply, phi, phi_work};
use cosimo_core::interface::Interface;
use cosimo_core::linear_model::{LinearModels, ModelPlace, OperatingPoint, StateSpaceMatrices};
use cosimo_core::simulator::StepIntegrals;
use cosimo_core::{Inputs, Outputs, Setup, Simulator, SimulatorError, StepResult, Time, Window};

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

/// A turn that is damped: its exponential is known, and each phi follows from the next, phi_k = Z phi_(k+1) + 1 / k!.
#[test]
fn phi_functions_follow_from_each_other_after_many_doublings() {
    for h in [0.01, 1.0, 20.0] {
        let (a, n) = ([-0.1, -2.0, 2.0, -0.1], 2);
        let (mut table, mut work) = (vec![f64::NAN; 4 * n * n], vec![f64::NAN; phi_work(n)]);
        phi(n, 3, &a, h, &mut table, &mut work);
        let (sine, cosine) = f64::sin_cos(2.0 * h);
        let decay = (-0.1 * h).exp();
        let exact = [decay * cosine, -decay * sine, decay * sine, decay * cosine];
        assert!(table.iter().zip(exact).all(|(found, wanted)| (found - wanted).abs() < 1e-12), "{h}");
        let mut below = 1.0;
        for k in 0..3 {
            let mut product = [f64::NAN; 4];
            multiply(n, n, &a.map(|entry| h * entry), &table[4 * (k + 1)..4 * (k + 2)], &mut product);
            for at in 0..4 {
                let wanted = product[at] + if at % 3 == 0 { 1.0 / below } else { 0.0 };
                assert!((table[4 * k + at] - wanted).abs() < 1e-12, "{h}: phi_{k}");
            }
            below *= (k + 1) as f64;
        }
    }
}

/// Stops at 1.5 s; shows the time, and integrals of 7.
struct Stops(Interface, f64);

impl Simulator for Stops {
    fn interface(&self) -> &Interface {
        &self.0
    }
    fn initialize(&mut self, _: &Setup) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn set_inputs(&mut self, _: Time, _: &Inputs<'_>) -> Result<(), SimulatorError> {
        Ok(())
    }
    fn do_step(&mut self, window: Window, _: &Inputs<'_>) -> Result<StepResult, SimulatorError> {
        self.1 = window.to.seconds().min(1.5);
        Ok(StepResult { to: time(self.1), ..StepResult::end_of(window, 1) })
    }
    fn get_outputs(&mut self, out: &mut Outputs<'_>) -> Result<(), SimulatorError> {
        out.values[0] = self.1;
        Ok(())
    }
}

impl StepIntegrals for Stops {
    fn do_step_with_integrals(
        &mut self,
        window: Window,
        inputs: &Inputs<'_>,
        integrals: &mut [f64],
    ) -> Result<StepResult, SimulatorError> {
        integrals[0] = 7.0;
        self.do_step(window, inputs)
    }
}

#[test]
fn outputs_are_read_after_a_step_to_the_end_of_its_window() {
    let mut stops = Stops(Interface::default(), 0.0);
    let mut step = |from: f64, size: f64| {
        let (mut values, mut integrals) = ([-1.0], [0.0]);
        let mut out = Outputs { values: &mut values, slopes: &mut [] };
        stops.do_step_and_get_all(window(from, size), &Inputs::of(&[]), &mut integrals, &mut out).unwrap();
        (values[0], integrals[0])
    };
    assert_eq!(step(0.0, 1.0), (1.0, 7.0));
    assert_eq!(step(1.0, 1.0), (-1.0, 7.0), "it stopped on the way");
    let mut plain = |from: f64, size: f64| {
        let mut values = [-1.0];
        let mut out = Outputs { values: &mut values, slopes: &mut [] };
        stops.do_step_and_get_outputs(window(from, size), &Inputs::of(&[]), &mut out).unwrap();
        values[0]
    };
    assert_eq!((plain(0.0, 1.0), plain(1.0, 1.0)), (1.0, -1.0));
}
