//! Ends of lines inside an FMU: its inputs are the arriving waves; it computes the effort at every stage of its solver.
//!
//! Beside each effort `e` with a flow `f` there is an input `e.Z`, the impedance of this end, and the wave c, so that the
//! effort is c(t) + Z f(t): in FMI 2.0 by ten points `e.t[1]` to `e.t[10]` and `e.c[1]` to `e.c[10]` with lines between,
//! in FMI 3.0 by `e.c`, which the FMU requests inside a step. While `e.Z` is 0, `e` itself counts. An FMU that controls the
//! delays itself has further inputs (`delay_control.rs`).
//! Source: Braun, Hällqvist & Fritzson 2023, Eq. (8), as seen from one end.

use cosimo_core::line::{LineEnd, Repay, Stamp, StampInterpolation, StampTable};
use cosimo_core::{Interface, Port, Segment, Unit};

use crate::delay_control::{self, DelayControl};
use crate::design::Version;

/// Points of the wave over a step, in FMI 2.0.
const POINTS: usize = 10;

pub(crate) struct Lines {
    /// Numbers of the model's own inputs and outputs; those for lines follow.
    pub(crate) own_inputs: usize,
    pub(crate) shown: usize,
    /// Effort and flow.
    pairs: Vec<(usize, usize)>,
    version: Version,
    waves: Vec<StampTable>,
    stamps: Vec<Stamp>,
    /// Where it controls the delays itself.
    pub(crate) control: Option<DelayControl>,
}

/// Efforts and flows of a model: ports of names such as `e` and `f`, `e_lift` and `f_lift`.
fn pairs(interface: &Interface) -> Vec<(usize, usize)> {
    let flow_of = |effort: &Port| {
        let name = format!("f{}", effort.name.strip_prefix('e')?);
        interface.outputs.iter().position(|output| output.name == name)
    };
    let inputs = interface.inputs.iter().enumerate();
    inputs.filter_map(|(place, effort)| Some((place, flow_of(effort)?))).collect()
}

/// The inputs that there are for lines.
pub(crate) fn inputs(interface: &Interface, version: Version, kappa: bool) -> Result<Vec<Port>, String> {
    let pairs = pairs(interface);
    if pairs.is_empty() || !interface.abilities.wave_boundary {
        return Err("no line can end at this model: it has no effort `e` with a flow `f`".into());
    }
    let mut inputs = Vec::new();
    for (effort, flow) in pairs {
        let (effort, flow) = (&interface.inputs[effort], &interface.outputs[flow]);
        let name = &effort.name;
        let text = |port: &Port| port.unit.as_ref().map_or("1".to_owned(), |unit| unit.text.clone());
        let port = |name: String, unit: Option<Unit>, about: &str| {
            Port { unit, ..Port::new(&name, "", about) }.starting_at(0.0)
        };
        match version {
            Version::One | Version::Two => {
                let seconds = Unit::parse("s").ok();
                let points = || 1..=POINTS;
                inputs.extend(
                    points().map(|i| {
                        port(format!("{name}.t[{i}]"), seconds.clone(), "time of a point of the wave")
                    }),
                );
                inputs.extend(points().map(|i| {
                    port(format!("{name}.c[{i}]"), effort.unit.clone(), "arriving wave at that instant")
                }));
            }
            Version::Three => {
                inputs.push(port(format!("{name}.c"), effort.unit.clone(), "arriving wave"));
            }
        }
        if kappa {
            let (seconds, none) = (Unit::parse("s").ok(), Unit::parse("1").ok());
            inputs.push(port(format!("{name}.D"), seconds, "shortest delay of the line"));
            let most = port(format!("{name}.most"), none, "largest factor of the delay");
            inputs.push(most.starting_at(1.0));
        }
        let impedance = Unit::parse(&format!("({})/({})", text(effort), text(flow))).ok();
        inputs.push(port(format!("{name}.Z"), impedance, "impedance of the line; 0 is no line"));
    }
    Ok(inputs)
}

/// The outputs that there are for lines that the FMU stretches itself.
pub(crate) fn outputs(interface: &Interface) -> Vec<Port> {
    let about = "current factor of the line's delay and impedance";
    let name = |effort: usize| format!("{}.kappa", interface.inputs[effort].name);
    let mut outputs: Vec<Port> =
        pairs(interface).into_iter().map(|(effort, _)| Port::new(&name(effort), "1", about)).collect();
    let about = "evaluations of the equations so far, including steps that were rolled back";
    outputs.push(Port::new("evaluations", "1", about));
    outputs
}

impl Lines {
    pub(crate) fn new(model: &Interface, version: Version) -> Lines {
        let pairs = pairs(model);
        let between =
            if version == Version::Two { StampInterpolation::Linear } else { StampInterpolation::Hermite };
        let waves = pairs.iter().map(|_| StampTable::new(Stamp::default(), between)).collect();
        let (own_inputs, shown) = (model.inputs.len(), model.outputs.len());
        Lines { own_inputs, shown, pairs, version, waves, stamps: Vec::new(), control: None }
    }

    /// Resets the delay control to the start of a run, with the parameters of the steadiness test.
    pub(crate) fn take_control(&mut self, values: &[f64]) -> Result<(), String> {
        self.control = Some(DelayControl::new(self.pairs.len(), values)?);
        Ok(())
    }

    fn width(&self) -> usize {
        match (self.version, &self.control) {
            (Version::One | Version::Two, _) => 2 * POINTS + 1,
            (Version::Three, None) => 2,
            (Version::Three, Some(_)) => 2 + delay_control::INPUTS_PER_END,
        }
    }

    /// The longest step that may begin now.
    pub(crate) fn longest(&mut self, line_inputs: &[Segment]) -> f64 {
        let width = self.width();
        self.control
            .as_mut()
            .map_or(f64::INFINITY, |control| control.longest(line_inputs.chunks_exact(width)))
    }

    /// Efforts and flows of all ends at an instant of the step given to `ends`.
    fn samples<'a>(
        &'a self,
        line_inputs: &'a [Segment],
        t: f64,
        outputs: &'a [f64],
    ) -> impl Iterator<Item = (usize, Stamp, f64)> + 'a {
        let used = line_inputs.chunks_exact(self.width()).enumerate();
        let used = used.filter(|(_, line_inputs)| line_inputs[line_inputs.len() - 1].start() != 0.0);
        used.map(move |(end, line_inputs)| {
            let (flow, factor) = (outputs[self.pairs[end].1], self.factor(end));
            let (wave, ..) = self.waves[end].at(t);
            let effort = wave + factor * line_inputs[line_inputs.len() - 1].start() * flow;
            (end, Stamp { t, effort, flow, ..Stamp::default() }, line_inputs[1].start())
        })
    }

    fn factor(&self, end: usize) -> f64 {
        self.control.as_ref().map_or(1.0, |control| control.factor(end))
    }

    /// Where a step begins, for ends that never made one.
    pub(crate) fn begin(&mut self, line_inputs: &[Segment], t: f64, outputs: &[f64]) {
        let samples: Vec<_> = self.samples(line_inputs, t, outputs).collect();
        let Some(control) = &mut self.control else { return };
        samples.into_iter().for_each(|(end, first, _)| control.begin(end, first));
    }

    /// Whether a step is accepted; otherwise it must be repeated with shorter delays.
    pub(crate) fn keep(&mut self, line_inputs: &[Segment], t: f64, outputs: &[f64]) -> bool {
        let samples: Vec<_> = self.samples(line_inputs, t, outputs).collect();
        let Some(control) = &mut self.control else { return true };
        // No short circuit: `judge` stores its result per end.
        let again = samples.iter().filter(|(end, new, _)| control.judge(*end, new)).count() > 0;
        if again {
            control.give_up();
        } else {
            samples.iter().for_each(|(end, new, delay)| control.keep(*end, new, *delay));
        }
        !again
    }

    /// Where lines end in a step, from the inputs behind those of the model.
    pub(crate) fn ends(
        &mut self,
        line_inputs: &[Segment],
        (from, to): (f64, f64),
    ) -> Result<Vec<LineEnd<'_>>, String> {
        let width = self.width();
        for (wave, line_inputs) in self.waves.iter_mut().zip(line_inputs.chunks_exact(width)) {
            if line_inputs[width - 1].start() == 0.0 {
                continue;
            }
            self.stamps.clear();
            match self.version {
                Version::One | Version::Two => {
                    let (times, values) = line_inputs[..2 * POINTS].split_at(POINTS);
                    let stamp = |(t, c): (&Segment, &Segment)| Stamp {
                        t: t.start(),
                        effort: c.start(),
                        ..Stamp::default()
                    };
                    self.stamps.extend(times.iter().zip(values).map(stamp));
                    let aside = 1e-9 * (to - from).max(from.abs()).max(to.abs());
                    let (first, last) = (times[0].start(), times[POINTS - 1].start());
                    let rise = self.stamps.windows(2).all(|pair| pair[0].t < pair[1].t);
                    if !rise || first > from + aside || last < to - aside {
                        return Err(format!(
                            "the points of a wave must rise from {from} s or before to {to} s or behind"
                        ));
                    }
                }
                // A cubic is known by its ends and the slopes there.
                Version::Three => self.stamps.extend([from, to].map(|t| Stamp {
                    t,
                    effort: line_inputs[0].at(t - from),
                    effort_slope: line_inputs[0].slope(t - from),
                    ..Stamp::default()
                })),
            }
            wave.restore(&self.stamps, wave.beyond());
        }
        let chunks = line_inputs.chunks_exact(width);
        let all = self.pairs.iter().zip(&self.waves).zip(chunks).enumerate();
        let used = all.filter(|(_, (_, line_inputs))| line_inputs[width - 1].start() != 0.0);
        Ok(used
            .map(|(end, (((effort, flow), wave), line_inputs))| LineEnd {
                effort: *effort,
                flow: *flow,
                sign: 1.0,
                scale: 1.0,
                table: wave,
                own: wave,
                // The input is the wave at the time of its arrival.
                delay: 0.0,
                impedance: self.factor(end) * line_inputs[width - 1].start(),
                from: f64::INFINITY,
                repay: Repay::default(),
                most: 1.0,
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Interface {
        let mut interface = Interface {
            inputs: vec![Port::new("u", "1", ""), Port::new("e_lift", "N", "")],
            outputs: vec![Port::new("x", "m", ""), Port::new("f_lift", "m/s", "")],
            ..Interface::default()
        };
        interface.abilities.wave_boundary = true;
        interface
    }

    #[test]
    fn a_wave_is_read_between_its_points() {
        let mut lines = Lines::new(&model(), Version::Two);
        assert_eq!((lines.own_inputs, inputs(&model(), Version::Two, false).unwrap().len()), (2, 21));
        let points = (0..10).map(|i| f64::from(i) * 0.1);
        let line_inputs: Vec<Segment> =
            points.clone().chain(points.map(|t| 3.0 * t)).chain([5.0]).map(Segment::constant).collect();
        let ends = lines.ends(&line_inputs, (0.0, 0.9)).unwrap();
        assert_eq!((ends.len(), ends[0].effort, ends[0].flow), (1, 1, 1));
        assert!((ends[0].effort(0.25, 2.0) - (0.75 + 10.0)).abs() < 1e-12);
        let error = lines.ends(&line_inputs, (0.0, 1.0)).unwrap_err();
        assert!(error.contains("rise from 0 s or before to 1 s"), "{error}");
    }

    #[test]
    fn a_wave_that_is_asked_for_is_a_cubic_and_none_without_impedance() {
        let mut lines = Lines::new(&model(), Version::Three);
        let cubic = Segment([1.0, -2.0, 3.0, 4.0]);
        let line_inputs = [cubic, Segment::constant(0.5)];
        let ends = lines.ends(&line_inputs, (2.0, 2.3)).unwrap();
        for s in [0.0, 0.1, 0.17, 0.3] {
            assert!((ends[0].effort(2.0 + s, 6.0) - (cubic.at(s) + 3.0)).abs() < 1e-12);
        }
        assert!(lines.ends(&[cubic, Segment::ZERO], (2.0, 2.3)).unwrap().is_empty());
        let mut plain = model();
        plain.outputs.truncate(1);
        assert!(inputs(&plain, Version::Three, false).unwrap_err().contains("no line can end"));
    }
}
