//! What is integrated: the differential equations, lent to an integrator for the length of one call.

use std::borrow::Cow;

/// `dx/dt = f(t, x)` with indicators whose sign changes are events.
///
/// A system may keep what it likes between calls, but must answer equal questions equally: rewinding an integrator
/// does not rewind its system.
pub trait OdeSystem {
    /// Writes all of `dx`. A number that is not finite counts as `EvaluationFault::Retry`.
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), EvaluationFault>;

    /// Writes all of `z`; see `Roots`.
    fn indicators(&mut self, _t: f64, _x: &[f64], _z: &mut [f64]) -> Result<(), EvaluationFault> {
        Ok(())
    }

    /// Writes all of `out` and answers `true`, or answers `false`: then differences are taken.
    /// `out[row * n + column]` is the derivative of `dx[row]` by `x[column]`.
    fn jacobian(&mut self, _t: f64, _x: &[f64], _out: &mut [f64]) -> Result<bool, EvaluationFault> {
        Ok(false)
    }
}

/// Why a system gave no answer. Texts are borrowed where they can be: a fault need not allocate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationFault {
    /// Not here; a smaller step may avoid this place.
    #[error("{0}")]
    Retry(Cow<'static, str>),
    /// Not any more.
    #[error("{0}")]
    Fatal(Cow<'static, str>),
}
