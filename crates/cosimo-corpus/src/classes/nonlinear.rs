//! Nonlinear systems: tanks, a pendulum with an oscillator, Van der Pol's oscillator with filters.

use std::fmt::Write as _;

use cosimo_core::registry::ReferenceEntry;
use cosimo_core::{Options, Value};
use cosimo_export::{Design, Version};

use super::Draft;
use super::building::Method;
use crate::integrate::integrate;
use crate::random::Random;
use crate::truth::{Rows, Truth};

pub(super) fn nonlinear(random: &mut Random) -> Draft {
    match random.whole(0, 2) {
        0 => tanks(random),
        1 => pendulum(random),
        _ => van_der_pol(random),
    }
}

/// A native model, natively or as an FMU.
struct Part {
    name: &'static str,
    model: &'static str,
    parameters: Vec<(&'static str, f64)>,
    /// A fixed-step solver, with its number of steps.
    solver: Option<&'static str>,
}

impl Part {
    /// The section of the file.
    fn text(
        &self,
        random: &mut Random,
        designs: &mut Vec<(String, Design)>,
        forms: &mut Vec<String>,
    ) -> String {
        let mut parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let version = *random.one(&[Version::Two, Version::Three]);
        let model = format!("native:{}", self.model);
        let form = random.whole(0, 2);
        let mut fmu = |design: Design| {
            let file = design.file_name();
            designs.push((file.clone(), design));
            file
        };
        let solved = self.solver.map(|solver| (solver, random.whole(2, 8)));
        let micro_steps = |parameters: &mut Vec<String>| {
            if let Some((_, steps)) = solved {
                parameters.push(format!("micro_steps = {steps}"));
            }
        };
        let source = match form {
            0 => {
                micro_steps(&mut parameters);
                if let Some((solver, _)) = solved {
                    parameters.push(format!("solver = \"{solver}\""));
                }
                forms.push("native".into());
                model
            }
            1 => {
                micro_steps(&mut parameters);
                forms.push("cs".into());
                let design = Design::new(&model, version);
                fmu(match self.solver {
                    Some(solver) => design.choice("solver", solver),
                    None => design,
                })
            }
            _ => {
                parameters.push(format!("\"cosimo.relative\" = {:?}", random.log_between(1e-8, 1e-6)));
                forms.push("me".into());
                fmu(Design::exchange(&model, version))
            }
        };
        format!(
            "[component.{}]\nsource = \"{source}\"\nparameters = {{ {} }}\n\n",
            self.name,
            parameters.join(", ")
        )
    }
}

fn write(
    random: &mut Random,
    parts: &[Part],
    wires: &[(&str, &str)],
    (stop, method): (f64, &Method),
    truth: Box<dyn Truth>,
) -> Draft {
    let (mut designs, mut forms) = (Vec::new(), Vec::new());
    let mut text = format!("[experiment]\nstop = {stop:?}\n\n");
    for part in parts {
        text += &part.text(random, &mut designs, &mut forms);
    }
    for (from, to) in wires {
        let _ = writeln!(text, "[[connection]]\nfrom = \"{from}\"\nto = \"{to}\"\nconvert = false\n");
    }
    let _ = write!(text, "[method]\n{}", method.text);
    // Fixed steps have no tolerance; those for model exchange have at most this one.
    Draft { text, designs, truth, forms: forms.join("+"), tolerance: 1e-6 }
}

/// The truth of a reference model of Cosimo, which is no part of the engine.
struct Known {
    reference: &'static ReferenceEntry,
    given: Vec<(String, Value)>,
    /// Outputs, with their columns.
    columns: Vec<(&'static str, &'static str)>,
}

impl Known {
    fn of(name: &str, parts: &[Part], columns: &[(&'static str, &'static str)]) -> Option<Box<dyn Truth>> {
        let reference = cosimo_models::REFERENCES.iter().find(|entry| entry.name == name)?;
        let given = parts.iter().flat_map(|part| &part.parameters);
        let given = given.filter(|(name, _)| reference.parameters.iter().any(|spec| spec.name == *name));
        let given = given.map(|(name, value)| ((*name).to_owned(), Value::Number(*value))).collect();
        Some(Box::new(Known { reference, given, columns: columns.to_vec() }))
    }
}

impl Truth for Known {
    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    fn rows(&self, instants: &[f64]) -> Result<Rows, String> {
        let options = Options::resolve(self.reference.name, self.reference.parameters, &self.given)
            .map_err(|problems| problems.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; "))?;
        let place = |column: &str| self.reference.columns.iter().position(|known| *known == column);
        let places: Option<Vec<usize>> = self.columns.iter().map(|(_, column)| place(column)).collect();
        let places = places.ok_or("the reference lacks a column")?;
        let start = instants.first().copied().unwrap_or(0.0);
        let since: Vec<f64> = instants.iter().map(|instant| instant - start).collect();
        let rows = (self.reference.solve)(&options, start, &since);
        let values = rows.into_iter().map(|row| places.iter().map(|place| row[*place]).collect()).collect();
        Ok(Rows { values, events: Vec::new() })
    }
}

fn tanks(random: &mut Random) -> Draft {
    let (a1, a2) = (random.log_between(0.3, 3.0), random.log_between(0.3, 3.0));
    let (k, dp0) = (random.log_between(1e-3, 1e-2), random.log_between(50.0, 2000.0));
    let (h1, h2) = (random.between(1.0, 3.0), random.between(0.2, 1.5));
    let rho_g = ("rho_g", 9810.0);
    let parts = [
        Part {
            name: "first",
            model: "tanks/first",
            parameters: vec![("A1", a1), rho_g, ("h10", h1)],
            solver: None,
        },
        Part {
            name: "second",
            model: "tanks/second-pipe",
            parameters: vec![("A2", a2), rho_g, ("k", k), ("dp0", dp0), ("h20", h2)],
            solver: Some("rk4"),
        },
    ];
    // The flow at the start would empty the difference of levels in this time.
    let time = (h1 - h2).abs().max(0.3) / (k * (9810.0 * (h1 - h2).abs().max(0.1)).sqrt()) * a1.min(a2);
    let step = time * random.log_between(2e-3, 5e-2);
    let stop = (3.0 * time).min(2000.0 * step);
    let columns = [("first.p", "p1"), ("first.h", "h1"), ("second.q", "q"), ("second.h", "h2")];
    let truth =
        Known::of("tanks", &parts, &columns).unwrap_or_else(|| unreachable!("a reference of this name"));
    let method = Method::plain(random, step);
    write(random, &parts, &[("first.p", "second.p"), ("second.q", "first.q")], (stop, &method), truth)
}

fn pendulum(random: &mut Random) -> Draft {
    let common = [("k", random.log_between(5.0, 50.0)), ("d", random.log_between(0.5, 5.0))];
    let angle = random.between(0.3, 2.5);
    let mut bob =
        vec![("m1", random.log_between(0.5, 2.0)), ("l", random.log_between(0.5, 2.0)), ("phi0", angle)];
    let start = random.between(-0.5, 0.5);
    let mut oscillator =
        vec![("m2", random.log_between(0.3, 2.0)), ("c", random.log_between(5.0, 20.0)), ("x0", start)];
    bob.extend(common);
    oscillator.extend(common);
    let parts = [
        Part { name: "bob", model: "pendulum/bob", parameters: bob, solver: Some("rk4") },
        Part { name: "mass", model: "pendulum/oscillator", parameters: oscillator, solver: None },
    ];
    let step = random.log_between(1e-3, 3e-2);
    let stop = random.between(3.0, 10.0).min(3000.0 * step);
    let columns = [("bob.x", "X"), ("bob.v", "V"), ("mass.x", "x"), ("mass.v", "v")];
    let truth =
        Known::of("pendulum", &parts, &columns).unwrap_or_else(|| unreachable!("a reference of this name"));
    let wires =
        [("bob.x", "mass.x_far"), ("bob.v", "mass.v_far"), ("mass.x", "bob.x_far"), ("mass.v", "bob.v_far")];
    let method = Method::plain(random, step);
    write(random, &parts, &wires, (stop, &method), truth)
}

/// x'' = mu (1 - x^2) x' - x drives two filters in a row.
struct VanDerPol {
    mu: f64,
    start: [f64; 2],
    rates: [f64; 2],
}

impl Truth for VanDerPol {
    fn names(&self) -> Vec<String> {
        ["source.x", "source.v", "filter1.y", "filter2.y"].map(str::to_owned).to_vec()
    }

    fn rows(&self, instants: &[f64]) -> Result<Rows, String> {
        let slope = |x: &[f64], dx: &mut [f64]| {
            dx[0] = x[1];
            dx[1] = self.mu * (1.0 - x[0] * x[0]) * x[1] - x[0];
            dx[2] = self.rates[0] * (x[0] - x[2] - 0.5 * x[3]);
            dx[3] = self.rates[1] * (x[2] - x[3]);
        };
        let values = integrate(slope, &[self.start[0], self.start[1], 0.0, 0.0], instants);
        Ok(Rows { values, events: Vec::new() })
    }
}

fn van_der_pol(random: &mut Random) -> Draft {
    let (mu, start) = (random.log_between(0.3, 5.0), [random.between(0.5, 2.0), random.between(-1.0, 1.0)]);
    let rates = [random.log_between(0.5, 5.0), random.log_between(0.5, 5.0)];
    let mut designs = Vec::new();
    let version = *random.one(&[Version::Two, Version::Three]);
    let design = Design::exchange("native:van-der-pol", version);
    let step = random.log_between(1e-3, 5e-2);
    let stop = random.between(8.0, 20.0).min(3000.0 * step);
    let relative = random.log_between(1e-8, 1e-6);
    let mut text = format!(
        "[experiment]\nstop = {stop:?}\n\n[component.source]\nsource = \"{}\"\nparameters = {{ mu = {mu:?}, x0 = {:?}, v0 = {:?}, \"cosimo.relative\" = {relative:?}, \"cosimo.absolute\" = {relative:?} }}\n\n",
        design.file_name(),
        start[0],
        start[1],
    );
    designs.push((design.file_name(), design));
    for (place, rate) in rates.iter().enumerate() {
        let inputs = if place == 0 { "[\"u [1]\", \"back [1]\"]" } else { "[\"u [1]\"]" };
        let gains =
            if place == 0 { format!("[[{rate:?}, {:?}]]", -0.5 * rate) } else { format!("[[{rate:?}]]") };
        let _ = writeln!(
            text,
            "[component.filter{}]\nsource = \"native:linear\"\nparameters = {{ inputs = {inputs}, outputs = [\"y [1]\"], A = [[{:?}]], B = {gains} }}\n",
            place + 1,
            -rate
        );
    }
    for (from, to) in [("source.x", "filter1.u"), ("filter1.y", "filter2.u"), ("filter2.y", "filter1.back")] {
        let _ = writeln!(text, "[[connection]]\nfrom = \"{from}\"\nto = \"{to}\"\nconvert = false\n");
    }
    let _ = write!(text, "[method]\n{}", Method::plain(random, step).text);
    Draft {
        text,
        designs,
        truth: Box::new(VanDerPol { mu, start, rates }),
        forms: "me+native".into(),
        tolerance: relative,
    }
}
