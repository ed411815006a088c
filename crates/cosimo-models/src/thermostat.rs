//! A room with a heater that a relay switches on below one temperature and off above another.

use cosimo_core::math;
use cosimo_core::{Interface, Port};
use cosimo_native::{Event, Hybrid, ModelPoint, OutputKind, Quantity, Tangent, Unknown};

use crate::parameters::{initial, not_negative, parameters, positive};
use crate::{HybridEntry, input, interface, output};

parameters! {
    /// The room, and its solution in closed form.
    #[derive(PartialEq)]
    pub struct Thermostat {
        pub capacity: f64 = positive["C", 1000.0, "J/K", "heat capacity of the room"];
        pub conductance: f64 = positive["G", 10.0, "W/K", "conductance to the outside"];
        pub power: f64 = not_negative["P", 300.0, "W", "power of the heater"];
        pub low: f64 = positive["low", 293.15, "K", "below this the heater is switched on"];
        pub high: f64 = positive["high", 295.15, "K", "above this the heater is switched off"];
        pub start: f64 = initial["T0", 288.15, "K", "temperature of the room at the start"];
    }
}

/// Outside temperature where the input is not connected.
const AMBIENT: f64 = 283.15;

impl Thermostat {
    /// Temperature at an instant and whether the heater is on, with a constant temperature outside.
    pub fn at(&self, t: f64, ambient: f64) -> (f64, bool) {
        let lag = self.capacity / self.conductance;
        let (mut from, mut temperature, mut on) = (0.0, self.start, self.start <= self.low);
        loop {
            let goal = ambient + if on { self.power / self.conductance } else { 0.0 };
            let limit = if on { self.high } else { self.low };
            let share = (limit - goal) / (temperature - goal);
            // Where the goal lies on this side of the limit, the relay stays as it is.
            let until =
                if share > 0.0 && share <= 1.0 { from - lag * math::ln(share) } else { f64::INFINITY };
            if t < until {
                return (goal + (temperature - goal) * math::exp(-(t - from) / lag), on);
            }
            (from, temperature, on) = (until, limit, !on);
        }
    }
}

impl Hybrid for Thermostat {
    fn interface(&self) -> Interface {
        let flow = output("q", "W", "heat flow to the outside");
        let heating = output("heating", "1", "1 while the heater is on");
        let inputs = vec![input("ambient", "K", "temperature outside").starting_at(AMBIENT)];
        Interface {
            feedthrough: vec![(1, 0)],
            ..interface(inputs, [self.states(), vec![flow, heating]].concat())
        }
    }

    fn states(&self) -> Vec<Port> {
        vec![output("T", "K", "temperature of the room")]
    }

    fn kinds(&self) -> Vec<OutputKind> {
        vec![OutputKind::Real, OutputKind::Real, OutputKind::Boolean]
    }

    fn initial(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![self.start], vec![f64::from(u8::from(self.start <= self.low))])
    }

    fn derivatives(&self, at: &ModelPoint<'_>, dx: &mut [f64]) {
        dx[0] = (at.m[0] * self.power - self.conductance * (at.x[0] - at.u[0])) / self.capacity;
    }

    fn outputs(&self, at: &ModelPoint<'_>, y: &mut [f64]) {
        y[0] = at.x[0];
        y[1] = self.conductance * (at.x[0] - at.u[0]);
        y[2] = at.m[0];
    }

    fn indicator_count(&self) -> usize {
        1
    }

    fn indicators(&self, at: &ModelPoint<'_>, z: &mut [f64]) {
        z[0] = if at.m[0] == 0.0 { at.x[0] - self.low } else { self.high - at.x[0] };
    }

    fn event(&self, t: f64, u: &[f64], x: &mut [f64], m: &mut [f64]) -> Event {
        let mut z = [0.0];
        self.indicators(&ModelPoint { t, x, m, u }, &mut z);
        if z[0] <= 0.0 {
            m[0] = 1.0 - m[0];
        }
        Event::default()
    }

    fn nominals(&self, into: &mut [f64]) {
        into.fill(300.0);
    }

    fn tangent(&self, _at: &ModelPoint<'_>, along: &Tangent<'_>, dx: &mut [f64], y: &mut [f64]) {
        let flow = self.conductance * (along.x[0] - along.u[0]);
        dx[0] = -flow / self.capacity;
        y.copy_from_slice(&[along.x[0], flow, 0.0]);
    }

    fn depends(&self, value: Unknown, on: Quantity) -> bool {
        !matches!(
            (value, on),
            (Unknown::Output(2), _) | (Unknown::Output(0) | Unknown::Indicator(_), Quantity::Input(_))
        )
    }
}

pub(crate) const ENTRY: HybridEntry = HybridEntry {
    name: "thermostat",
    summary: "room with a heater that is switched on below one temperature and off above another",
    parameters: Thermostat::PARAMETERS,
    stop: 300.0,
    build: |options| Box::new(Thermostat::of(options)),
    reference: || {
        let row = |i: i32| {
            let t = 5.0 * f64::from(i);
            let (temperature, on) = Thermostat::DEFAULT.at(t, AMBIENT);
            vec![t, temperature, 10.0 * (temperature - AMBIENT), f64::from(u8::from(on))]
        };
        (0..=60).map(row).collect()
    },
};
