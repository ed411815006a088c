//! Interface to the C library SUNDIALS: one CVODE solver with a dense matrix, which can be stepped, queried and dropped;
//! `cvode` makes an integrator of it.

use std::any::Any;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_long, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::{fmt, ptr, slice};

use sundials_sys as c;

/// More than any step needs on its way down to the least size, which ends it.
const ATTEMPTS: c_int = 10_000;

/// Callbacks of CVODE during a step.
pub(crate) trait CvodeEquations {
    fn derivatives(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Answer;

    /// Where the derivatives are `dx`; row by row into `out`.
    fn jacobian(&mut self, t: f64, x: &[f64], dx: &[f64], out: &mut [f64]) -> Answer;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Given,
    /// Not at this point; a smaller step may help.
    Refused,
    /// Fatal.
    Failed,
}

/// Why a step failed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The error was too large down to the least step.
    Error,
    /// Newton's method did not converge down to the least step, or the equations refused.
    Newton,
    /// The equations refused a point that they accepted before: no smaller step helps, another try may.
    Refused,
    /// The equations failed.
    Failed,
    /// CVODE's name of the error.
    Other(String),
}

/// Counted by CVODE since the last start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CvodeCounters {
    pub(crate) factorisations: u64,
    pub(crate) rejected: u64,
    pub(crate) newton_failures: u64,
}

/// All that was allocated for one solver.
pub(crate) struct Solver {
    states: usize,
    context: c::SUNContext,
    memory: *mut c_void,
    x: c::N_Vector,
    /// Vector for results of CVODE.
    asked: c::N_Vector,
    matrix: c::SUNMatrix,
    linear: c::SUNLinearSolver,
    /// The user data of CVODE, which points to the callback data during a step. It must not move: CVODE copies its
    /// address when it is initialised, and uses the copy for Jacobians in every later step.
    lent: Box<UnsafeCell<*mut c_void>>,
}

// SAFETY: the pointers are this solver's alone, SUNDIALS keeps nothing per thread, and every call goes through `&mut`.
unsafe impl Send for Solver {}

impl fmt::Debug for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Solver of {} states", self.states)
    }
}

/// Lent to CVODE for the length of one call, see [`Solver::lent`].
struct CallbackData<'a> {
    equations: &'a mut dyn CvodeEquations,
    /// Memory for a Jacobian row by row; CVODE has it column by column.
    rows: &'a mut [f64],
    /// A panic must not unwind through C.
    panic: Option<Box<dyn Any + Send>>,
}

impl CallbackData<'_> {
    fn answer(&mut self, question: impl FnOnce(&mut dyn CvodeEquations, &mut [f64]) -> Answer) -> c_int {
        let CallbackData { equations, rows, .. } = self;
        match catch_unwind(AssertUnwindSafe(|| question(&mut **equations, rows))) {
            Ok(Answer::Given) => 0,
            Ok(Answer::Refused) => 1,
            Ok(Answer::Failed) => -1,
            Err(panic) => {
                self.panic = Some(panic);
                -1
            }
        }
    }
}

unsafe extern "C" fn derivatives(t: f64, x: c::N_Vector, dx: c::N_Vector, lent: *mut c_void) -> c_int {
    // SAFETY: CVODE hands back the place that `new` gave it, in which `step` has put what lives until CVODE returns, and
    // two vectors of its own that have as many numbers as it was made for and do not overlap.
    unsafe {
        let lent = &mut **lent.cast::<*mut CallbackData<'_>>();
        let (x, dx) = (numbers(x), numbers_mut(dx));
        lent.answer(|equations, _| equations.derivatives(t, x, dx))
    }
}

unsafe extern "C" fn jacobian(
    t: f64,
    x: c::N_Vector,
    dx: c::N_Vector,
    matrix: c::SUNMatrix,
    lent: *mut c_void,
    _: c::N_Vector,
    _: c::N_Vector,
    _: c::N_Vector,
) -> c_int {
    // SAFETY: as for the derivatives; the matrix is a dense one of as many rows and columns as there are states, its
    // numbers lie column by column.
    unsafe {
        let lent = &mut **lent.cast::<*mut CallbackData<'_>>();
        let (x, dx) = (numbers(x), numbers(dx));
        let n = x.len();
        let columns = slice::from_raw_parts_mut(c::SUNDenseMatrix_Data(matrix), n * n);
        lent.answer(|equations, rows| {
            let answer = equations.jacobian(t, x, dx, rows);
            for row in 0..n {
                for column in 0..n {
                    columns[column * n + row] = rows[row * n + column];
                }
            }
            answer
        })
    }
}

/// # Safety
/// A serial vector that is not written to meanwhile.
unsafe fn numbers<'a>(vector: c::N_Vector) -> &'a [f64] {
    // SAFETY: a serial vector has this many numbers in a row.
    unsafe { slice::from_raw_parts(c::N_VGetArrayPointer(vector), c::N_VGetLength(vector) as usize) }
}

/// # Safety
/// A serial vector without any other access meanwhile.
unsafe fn numbers_mut<'a>(vector: c::N_Vector) -> &'a mut [f64] {
    // SAFETY: as above.
    unsafe { slice::from_raw_parts_mut(c::N_VGetArrayPointer(vector), c::N_VGetLength(vector) as usize) }
}

impl Solver {
    /// For one state or more. `None` where there is no memory for it.
    pub(crate) fn new(relative: f64, absolute: &[f64], order: usize) -> Option<Solver> {
        let states = absolute.len();
        let length = i64::try_from(states).ok()?;
        let mut solver = Solver {
            states,
            context: ptr::null_mut(),
            memory: ptr::null_mut(),
            x: ptr::null_mut(),
            asked: ptr::null_mut(),
            matrix: ptr::null_mut(),
            linear: ptr::null_mut(),
            lent: Box::new(UnsafeCell::new(ptr::null_mut())),
        };
        // SAFETY: each call gets what those before have made, after a look whether they have; what was made until
        // something fails is freed by `drop`.
        let fine = unsafe {
            c::SUNContext_Create(c::comm_no_mpi(), &mut solver.context) == 0
                // It would print; all errors are in the return values.
                && c::SUNContext_ClearErrHandlers(solver.context) == 0
                && made(&mut solver.x, c::N_VNew_Serial(length, solver.context))
                && made(&mut solver.asked, c::N_VNew_Serial(length, solver.context))
                && made(&mut solver.matrix, c::SUNDenseMatrix(length, length, solver.context))
                && made(&mut solver.linear, c::SUNLinSol_Dense(solver.x, solver.matrix, solver.context))
                && made(&mut solver.memory, c::CVodeCreate(c::CV_BDF, solver.context))
                && c::CVodeSetUserData(solver.memory, solver.lent.get().cast()) == 0
                && {
                    numbers_mut(solver.x).fill(0.0);
                    numbers_mut(solver.asked).copy_from_slice(absolute);
                    c::CVodeInit(solver.memory, Some(derivatives), 0.0, solver.x) == 0
                }
                && c::CVodeSVtolerances(solver.memory, relative, solver.asked) == 0
                && c::CVodeSetLinearSolver(solver.memory, solver.linear, solver.matrix) == 0
                && c::CVodeSetJacFn(solver.memory, Some(jacobian)) == 0
                && c::CVodeSetMaxOrd(solver.memory, order as c_int) == 0
                && c::CVodeSetMaxErrTestFails(solver.memory, ATTEMPTS) == 0
                && c::CVodeSetMaxConvFails(solver.memory, ATTEMPTS) == 0
                // A warning about tiny steps, printed.
                && c::CVodeSetMaxHnilWarns(solver.memory, -1) == 0
        };
        fine.then_some(solver)
    }

    /// Restarts at `t`. The first step is tried with this size.
    pub(crate) fn restart(&mut self, t: f64, x: &[f64], first: f64) {
        // SAFETY: all were made by `new`.
        unsafe {
            numbers_mut(self.x).copy_from_slice(x);
            // Neither fails for a solver that was made and a size above 0.
            c::CVodeReInit(self.memory, t, self.x);
            c::CVodeSetInitStep(self.memory, first);
        }
    }

    /// One step, not beyond `limit`; returns the time reached. `rows` is memory for a Jacobian.
    pub(crate) fn step(
        &mut self,
        equations: &mut dyn CvodeEquations,
        rows: &mut [f64],
        limit: f64,
        least: f64,
        largest: f64,
    ) -> Result<f64, Trouble> {
        let mut time = 0.0;
        let mut lent = CallbackData { equations, rows, panic: None };
        // SAFETY: all were made by `new`; what is lent lives until CVODE has returned, and is taken back then.
        let flag = unsafe {
            *self.lent.get() = ptr::from_mut(&mut lent).cast();
            // Refused only if one of them is below 0 or the least above the largest.
            c::CVodeSetMaxStep(self.memory, 0.0);
            c::CVodeSetMinStep(self.memory, least);
            c::CVodeSetMaxStep(self.memory, if largest.is_finite() { largest.max(least) } else { 0.0 });
            let flag = match c::CVodeSetStopTime(self.memory, limit) {
                c::CV_SUCCESS => c::CVode(self.memory, limit, self.x, &mut time, c::CV_ONE_STEP),
                other => other,
            };
            *self.lent.get() = ptr::null_mut();
            flag
        };
        if let Some(panic) = lent.panic {
            resume_unwind(panic);
        }
        match flag {
            c::CV_SUCCESS | c::CV_TSTOP_RETURN => Ok(time),
            c::CV_ERR_FAILURE | c::CV_TOO_MUCH_ACC => Err(Trouble::Error),
            c::CV_CONV_FAILURE | c::CV_REPTD_RHSFUNC_ERR => Err(Trouble::Newton),
            c::CV_FIRST_RHSFUNC_ERR | c::CV_UNREC_RHSFUNC_ERR => Err(Trouble::Refused),
            c::CV_RHSFUNC_FAIL | c::CV_LSETUP_FAIL => Err(Trouble::Failed),
            other => Err(Trouble::Other(name(other))),
        }
    }

    /// The state at the end of the last step.
    pub(crate) fn state(&self) -> &[f64] {
        // SAFETY: it was made by `new`, and is written by `restart` and `step` only.
        unsafe { numbers(self.x) }
    }

    /// CVODE's own time; at a limit it may differ in the last digits.
    pub(crate) fn time(&mut self) -> f64 {
        let mut time = 0.0;
        // SAFETY: it was made by `new`.
        unsafe { c::CVodeGetCurrentTime(self.memory, &mut time) };
        time
    }

    /// The size of the last step, and that of the next.
    pub(crate) fn sizes(&mut self) -> (f64, f64) {
        let (mut last, mut next) = (0.0, 0.0);
        // SAFETY: it was made by `new`.
        unsafe {
            c::CVodeGetLastStep(self.memory, &mut last);
            c::CVodeGetCurrentStep(self.memory, &mut next);
        }
        (last, next)
    }

    /// The order of the last step, and that of the next.
    pub(crate) fn orders(&mut self) -> (usize, usize) {
        let (mut last, mut next) = (0, 0);
        // SAFETY: it was made by `new`.
        unsafe {
            c::CVodeGetLastOrder(self.memory, &mut last);
            c::CVodeGetCurrentOrder(self.memory, &mut next);
        }
        (usize::try_from(last).unwrap_or(0), usize::try_from(next).unwrap_or(0))
    }

    /// Of the interpolating polynomial where CVODE stands, the derivative of a degree up to the order of the last step.
    pub(crate) fn derivative(&mut self, degree: usize) -> &[f64] {
        let time = self.time();
        // SAFETY: all were made by `new`; nothing is written where the degree is too high.
        unsafe {
            c::CVodeGetDky(self.memory, time, degree as c_int, self.asked);
            numbers(self.asked)
        }
    }

    /// Estimated error of the last attempt.
    pub(crate) fn errors(&mut self) -> &[f64] {
        // SAFETY: all were made by `new`.
        unsafe {
            c::CVodeGetEstLocalErrors(self.memory, self.asked);
            numbers(self.asked)
        }
    }

    pub(crate) fn work(&mut self) -> CvodeCounters {
        let mut counts: [c_long; 4] = [0; 4];
        // SAFETY: it was made by `new`.
        unsafe {
            c::CVodeGetNumLinSolvSetups(self.memory, &mut counts[0]);
            c::CVodeGetNumErrTestFails(self.memory, &mut counts[1]);
            c::CVodeGetNumStepSolveFails(self.memory, &mut counts[2]);
            c::CVodeGetNumNonlinSolvConvFails(self.memory, &mut counts[3]);
        }
        let [factorisations, errors, unsolved, newton_failures] =
            counts.map(|count| u64::try_from(count).unwrap_or(0));
        CvodeCounters { factorisations, rejected: errors + unsolved, newton_failures }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: each is freed once, if it was made, and the context, which all of them know, last.
        unsafe {
            c::CVodeFree(&mut self.memory);
            if !self.linear.is_null() {
                c::SUNLinSolFree(self.linear);
            }
            c::SUNMatDestroy(self.matrix);
            for vector in [self.x, self.asked] {
                c::N_VDestroy(vector);
            }
            c::SUNContext_Free(&mut self.context);
        }
    }
}

/// Stores a pointer, and returns whether it is not null.
fn made<T>(place: &mut *mut T, pointer: *mut T) -> bool {
    *place = pointer;
    !pointer.is_null()
}

fn name(flag: c_int) -> String {
    // SAFETY: a new text that ends with a zero, freed as it was allocated.
    unsafe {
        let text = c::CVodeGetReturnFlagName(c_long::from(flag));
        if text.is_null() {
            return flag.to_string();
        }
        let name = CStr::from_ptr(text).to_string_lossy().into_owned();
        c::free(text.cast());
        name
    }
}
