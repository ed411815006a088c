//! A level that rises by one at every period: announced events and nothing else, not even a state.

use cosimo_core::{Interface, Port, Spec};
use cosimo_native::{Event, Hybrid, ModelPoint, OutputKind, Quantity, Tangent, Unknown};

use crate::parameters::{finite, numbers, positive};
use crate::{HybridEntry, interface, output};

#[derive(Debug)]
struct Stair {
    period: f64,
    rise: f64,
    /// The level at which it requests the end of the run; 0 is none.
    top: f64,
}

/// Times from outside are rounded; up to this part of a period early still counts as the event.
const EARLY: f64 = 1e-9;

impl Hybrid for Stair {
    fn interface(&self) -> Interface {
        let height = output("height", "m", "the level times the rise");
        interface(vec![], vec![output("level", "1", "periods since t = 0"), height])
    }

    fn states(&self) -> Vec<Port> {
        Vec::new()
    }

    fn kinds(&self) -> Vec<OutputKind> {
        vec![OutputKind::Integer, OutputKind::Held]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (Vec::new(), vec![0.0])
    }

    fn derivatives(&self, _at: &ModelPoint<'_>, _dx: &mut [f64]) {}

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y[0] = at.m[0];
        y[1] = self.rise * at.m[0];
    }

    fn event(&self, t: f64, _u: &[f64], _x: &mut [f64], m: &mut [f64]) -> Event {
        m[0] = (t / self.period + EARLY).floor();
        Event {
            next: Some((m[0] + 1.0) * self.period),
            terminate: self.top > 0.0 && m[0] >= self.top,
            ..Event::default()
        }
    }

    fn tangent(&self, _at: &ModelPoint<'_>, _along: &Tangent<'_>, _dx: &mut [f64], y: &mut [f64]) {
        y.fill(0.0);
    }

    fn depends(&self, _value: Unknown, _on: Quantity) -> bool {
        false
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "stair",
    summary: "level that rises by one at every period, without any state",
    parameters: &[
        positive("period", 1.0, "s", "time between two steps"),
        finite("rise", 0.2, "m", "height of a step"),
        Spec::count("top", 0, 0, "level at which it requests the end of the run; 0 is none"),
    ],
    stop: 7.0,
    build: |options| {
        let [period, rise, top] = numbers(options, ["period", "rise", "top"]);
        Box::new(Stair { period, rise, top })
    },
    reference: || {
        // Not at the events themselves, where the values before and after are both valid.
        let row = |i: i32| {
            let t = 0.35 * f64::from(i);
            vec![t, t.floor(), 0.2 * t.floor()]
        };
        (0..=18).map(row).collect()
    },
};
