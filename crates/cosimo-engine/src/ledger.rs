//! Energy balance of all bonds, for reports and error estimates alike.
//!
//! Sums are part of the state that a rollback restores; they are added once per window, never at commit, so an estimate
//! with several windows per step counts them all.

use cosimo_core::method::BondPower;
use cosimo_core::{Bond, Couplings, PowerVariable, Segment};
use schemars::JsonSchema;
use serde::Serialize;

use crate::state_walk::StateWalk;

/// Sums per bond, in joules. Kept as plain numbers so that a bookmark is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct BondTotals {
    /// Integral of the transmitted power, signed from the first side.
    #[serde(rename = "transmitted_energy")]
    pub transmitted: f64,
    /// Integral of its absolute value.
    #[serde(rename = "exchanged_energy")]
    pub exchanged: f64,
    /// Energy the coupling created; negative where it destroyed some.
    #[serde(rename = "residual_energy")]
    pub residual: f64,
    /// Sum of the absolute residuals per step.
    #[serde(rename = "residual_energy_absolute")]
    pub residual_absolute: f64,
}

/// Powers and energies of all bonds of an island.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// Power in watts that enters each side by its own values, bond after bond.
    pub sides: Vec<f64>,
    /// Per bond: powers at the end of the last window.
    pub powers: Vec<BondPower>,
    /// Per bond: energies so far.
    pub totals: Vec<BondTotals>,
    /// Per bond: its part of the last error indicator.
    pub indicators: Vec<f64>,
}

impl Ledger {
    /// All sums zero.
    pub fn new(bonds: &[Bond]) -> Ledger {
        Ledger {
            sides: vec![0.0; bonds.iter().map(|bond| bond.sides.len()).sum()],
            powers: vec![BondPower::default(); bonds.len()],
            totals: vec![BondTotals::default(); bonds.len()],
            indicators: vec![0.0; bonds.len()],
        }
    }

    /// Adds a window: powers at its end from applied inputs and resulting outputs, and their energies by the right
    /// rectangle rule (ECCO Eqs. (5) to (10)).
    pub fn add(
        &mut self,
        bonds: &[Bond],
        couplings: &Couplings,
        applied: &[Segment],
        left: &[f64],
        size: f64,
    ) {
        let mut side_index = 0;
        for (k, bond) in bonds.iter().enumerate() {
            let mut residual = 0.0;
            for side in &bond.sides {
                let value = |end| match end {
                    PowerVariable::Output(output) => left[output],
                    PowerVariable::Input(input) => applied[input].at(size),
                };
                let power = side.sign * value(side.effort) * value(side.flow);
                self.sides[side_index] = power;
                side_index += 1;
                residual += power;
            }
            let first = &bond.sides[0];
            let truth = |end| match end {
                PowerVariable::Output(output) => left[output],
                PowerVariable::Input(input) => couplings.value(input, left),
            };
            let transmitted = -first.sign * truth(first.effort) * truth(first.flow);
            self.powers[k] = BondPower { transmitted, residual };
            let totals = &mut self.totals[k];
            totals.transmitted += transmitted * size;
            totals.exchanged += (transmitted * size).abs();
            totals.residual += residual * size;
            totals.residual_absolute += (residual * size).abs();
        }
    }

    /// Copies all numbers of another ledger of the same bonds, without allocating.
    pub fn copy_from(&mut self, other: &Ledger) {
        self.sides.copy_from_slice(&other.sides);
        self.powers.copy_from_slice(&other.powers);
        self.totals.copy_from_slice(&other.totals);
        self.indicators.copy_from_slice(&other.indicators);
    }

    pub(crate) fn walk(&mut self, walk: &mut StateWalk<'_>) {
        walk.numbers(self.sides.iter_mut().chain(&mut self.indicators));
        for (BondPower { transmitted, residual }, totals) in self.powers.iter_mut().zip(&mut self.totals) {
            walk.numbers([transmitted, residual]);
            let BondTotals { transmitted, exchanged, residual, residual_absolute } = totals;
            walk.numbers([transmitted, exchanged, residual, residual_absolute]);
        }
    }
}
