//! The models of the registry: promises that all of them keep, and each family against what is known of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail loudly")]

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
mod promises;
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
