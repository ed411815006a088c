//! The models of the registry: properties of all of them, and each family against its reference or closed form.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]
#![allow(clippy::disallowed_methods, reason = "what tests expect may come from the C library")]

mod all_models;
mod bouncing_ball;
mod common;
mod dahlquist;
mod dual_mass;
mod epas;
mod faulty;
mod gain_loop;
mod lines;
mod oscillator;
mod pendulum;
mod quarter_car;
mod quarter_car_linear;
mod rc_rl;
mod ring;
mod robot;
mod solvers;
mod stair;
mod stiff;
mod tanks;
mod thermal_wall;
mod thermostat;
