//! Braun, Hällqvist & Fritzson 2023 (TLM): a mass-spring chain, an electric car on its driving cycle and a hydraulic robot,
//! each cut by transmission lines whose delays grow where nothing moves; evaluations saved, and what that costs.
//!
//! The paper prints percentages and figures, and neither delays nor tolerances; the ranges here were computed independently
//! of Cosimo for the parameters of the systems in this folder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cosimo_core::line::Stamp;
use cosimo_core::math;
use cosimo_core::registry::{Options, Registry, Value, find};
use cosimo_engine::lines::LineNetworkTotals;
use cosimo_plot::{Axis, Figure, Panel, Series, Style};
use cosimo_system::{Boundary, Impedances, LineDecl, System};

use super::setup::{Changes, apply, read, started, step};
use super::{Cell, FigureRows, ReproduceError, RowResult};

const SPRING: &str = include_str!("tlm-spring.toml");
const DRIVE: &str = include_str!("tlm-drive.toml");
const ROBOT: &str = include_str!("tlm-robot.toml");

/// Instants at which runs are compared.
const POINTS: f64 = 1e4;
/// Those of long runs.
const MANY: f64 = 4e4;
/// Those of figures.
const DRAWN: f64 = 4e3;

/// How often evaluations are counted on the way.
const COUNTS: f64 = 200.0;

/// Events of the spring at 0.1 s and this much later each, in seconds.
const PHASES: usize = 21;
const PHASE: f64 = 1.07e-4;

/// The tables that rows belong to.
pub fn tables() -> Vec<&'static str> {
    vec!["spring", "drive", "robot", "ssi", "passivity", "fmi", "extrapolations"]
}

/// Measures all cells of one row.
pub fn measure(row: &str, cells: &[Cell], changes: &Changes, registry: &Registry) -> RowResult {
    let failed = |message: String| ReproduceError::Row { row: row.into(), message };
    let bench = Bench { changes, registry };
    let values = match row.split_once('/') {
        Some(("spring", variant)) => bench.spring(variant),
        Some(("drive", _)) => bench.drive(),
        Some(("robot", _)) => bench.robot(),
        Some(("ssi", signal)) => bench.steadiness(signal),
        Some(("passivity", variant)) => bench.passivity(variant),
        Some(("fmi", variant)) => bench.boundary(variant),
        _ => bench.extrapolations(),
    };
    let values = values.map_err(failed)?;
    let value = |cell: &Cell| {
        let quantity = cell.quantity();
        let found = values.iter().find(|(name, _)| *name == quantity);
        found.map(|(_, value)| *value).ok_or_else(|| failed(format!("nothing measures `{quantity}`")))
    };
    cells.iter().map(value).collect()
}

/// Quantities by the last part of their ids.
type Quantities = Result<Vec<(&'static str, f64)>, String>;

struct Bench<'a> {
    changes: &'a Changes,
    registry: &'a Registry,
}

/// A run at even instants.
struct Trajectory {
    times: Vec<f64>,
    /// Signal by signal.
    signals: Vec<Vec<f64>>,
    /// Now and then: the time, and the evaluations of each island until then.
    counts: Vec<(f64, Vec<f64>)>,
    net: LineNetworkTotals,
}

impl Trajectory {
    /// Largest and root mean square deviation from another, in percent of that one's range.
    fn deviation(&self, signal: usize, from: &Trajectory) -> (f64, f64) {
        deviation(&self.signals[signal], &from.signals[signal])
    }

    fn evaluations(&self, islands: &[usize]) -> f64 {
        islands.iter().map(|island| self.net.islands[*island].evaluations as f64).sum()
    }
}

fn deviation(one: &[f64], other: &[f64]) -> (f64, f64) {
    let (low, high) = other
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let differences = || one.iter().zip(other).map(|(a, b)| (a - b).abs());
    // What is not finite is infinitely far away, whichever way it is compared.
    let worst =
        differences().fold(0.0, |worst: f64, d| if d.is_finite() { worst.max(d) } else { f64::INFINITY });
    let mean = differences().map(|d| d * d).sum::<f64>() / one.len() as f64;
    (100.0 * worst / (high - low), 100.0 * mean.sqrt() / (high - low))
}

fn set(system: &mut System, component: usize, name: &str, value: Value) {
    system.components[component].parameters.push((name.into(), value, 0..0));
}

impl Bench<'_> {
    fn system(&self, text: &str, change: impl Fn(&mut LineDecl)) -> Result<System, String> {
        let mut system = read(text, self.registry)?;
        system.bonds.iter_mut().filter_map(|bond| bond.line.as_mut()).for_each(change);
        apply(&mut system, &self.changes.of_models(), self.registry)?;
        Ok(system)
    }

    /// Runs that several cells look at are made once.
    fn run(&self, system: &System, points: f64, signals: &[&str]) -> Result<Rc<Trajectory>, String> {
        thread_local! {
            static KNOWN: RefCell<BTreeMap<String, Rc<Trajectory>>> = const { RefCell::new(BTreeMap::new()) };
        }
        let key = format!("{system:?} {points} {signals:?}");
        if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
            return Ok(known);
        }
        let run = Rc::new(self.run_anew(system, points, signals)?);
        KNOWN.with_borrow_mut(|known| known.insert(key, Rc::clone(&run)));
        Ok(run)
    }

    fn run_anew(&self, system: &System, points: f64, signals: &[&str]) -> Result<Trajectory, String> {
        let mut system = system.clone();
        system.results.every = Some((system.experiment.stop - system.experiment.start) / points);
        let mut run = started(&system, self.registry)?;
        let (mut times, mut values) = (Vec::new(), vec![Vec::new(); signals.len()]);
        let (mut counts, every) = (Vec::new(), (points / COUNTS).ceil() as usize);
        loop {
            if times.len().is_multiple_of(every) || run.finished() {
                let spent = run.net().map(|net| net.islands).unwrap_or_default();
                let spent = spent.iter().map(|island| island.evaluations as f64).collect();
                counts.push((run.time().seconds(), spent));
            }
            times.push(run.time().seconds());
            for (path, values) in signals.iter().zip(&mut values) {
                values.push(run.output(path).ok_or_else(|| format!("there is no output `{path}`"))?);
            }
            if run.finished() {
                break;
            }
            step(&mut run)?;
        }
        let net = run.net().ok_or("the system has no line")?;
        if net.beyond > 0 {
            return Err(format!("{} reads beyond the published values", net.beyond));
        }
        Ok(Trajectory { times, signals: values, counts, net })
    }

    /// The spring with delays that grow to so many times the shortest.
    fn spring_run(&self, most: [f64; 2], event: Option<f64>, told: bool) -> Result<Rc<Trajectory>, String> {
        let mut system = self.system(SPRING, |line| {
            line.most = most;
            (line.linked, line.announced) = (told, told);
        })?;
        if let Some(event) = event {
            set(&mut system, 0, "t0", Value::Number(event));
        }
        self.run(&system, POINTS, &["left.f", "right.f"])
    }

    fn spring(&self, variant: &str) -> Quantities {
        let reference = || self.spring_run([1.0; 2], None, false);
        match variant {
            "kappa1" => {
                let run = reference()?;
                Ok(vec![
                    ("evaluations sub1", run.evaluations(&[0])),
                    ("evaluations sub2", run.evaluations(&[1])),
                ])
            }
            "kappa20" | "kappa8" => {
                let most = if variant == "kappa8" { 8.0 } else { 20.0 };
                let (run, reference) = (self.spring_run([most; 2], None, false)?, reference()?);
                let (max, rms) = run.deviation(0, &reference);
                let saved = saved(&run, &reference, &[0, 1]);
                Ok(vec![("saved_percent", saved), ("v1_max_percent", max), ("v1_rms_percent", rms)])
            }
            "linked event kappa20" => {
                let (mut max, mut rms) = (0.0f64, 0.0f64);
                for phase in 0..PHASES {
                    let event = Some(0.1 + phase as f64 * PHASE);
                    let run = self.spring_run([20.0; 2], event, true)?;
                    let reference = self.spring_run([1.0; 2], event, false)?;
                    let (one, other) = run.deviation(0, &reference);
                    (max, rms) = (max.max(one), rms.max(other));
                }
                Ok(vec![("worst v1_max_percent", max), ("worst v1_rms_percent", rms)])
            }
            "asym 1-10" => {
                let (run, reference) = (self.spring_run([1.0, 10.0], None, false)?, reference()?);
                let (a, b) = (run.deviation(0, &reference), run.deviation(1, &reference));
                let saved = saved(&run, &reference, &[1]);
                Ok(vec![
                    ("saved_percent sub2", saved),
                    ("v_max_percent", a.0.max(b.0)),
                    ("v_rms_percent", a.1.max(b.1)),
                ])
            }
            "monolith" => {
                let (run, system) = (reference()?, self.system(SPRING, |_| {})?);
                let exact = cosimo::reference::solve(&system, &run.times, self.registry)?;
                let exact: Vec<f64> = exact.rows.concat();
                let (max, rms) = deviation(&run.signals[0], &exact);
                Ok(vec![("v1_max_percent", max), ("v1_rms_percent", rms)])
            }
            _ => Err(format!("there is no variant `{variant}`")),
        }
    }

    fn drive(&self) -> Quantities {
        let run = |most: f64| {
            let system = self.system(DRIVE, |line| line.most = [most; 2])?;
            self.run(&system, MANY, &["motor.f", "motor.e"])
        };
        let (run, reference) = (run(20.0)?, run(1.0)?);
        Ok(vec![
            ("saved_percent", saved(&run, &reference, &[0, 1])),
            ("omega_max_percent", run.deviation(0, &reference).0),
            ("torque_max_percent", run.deviation(1, &reference).0),
        ])
    }

    fn robot_run(&self, most: f64, points: f64) -> Result<Rc<Trajectory>, String> {
        let system = self.system(ROBOT, |line| line.most = [most, 1.0])?;
        self.run(&system, points, &["lift.f", "swing.f", "lift.e", "swing.e"])
    }

    fn robot(&self) -> Quantities {
        let (run, reference) = (self.robot_run(20.0, MANY)?, self.robot_run(1.0, MANY)?);
        let worst = |signals: [usize; 2]| {
            let [a, b] = signals.map(|signal| run.deviation(signal, &reference).0);
            a.max(b)
        };
        Ok(vec![
            ("saved_percent", saved(&run, &reference, &[0, 1])),
            ("flow_max_percent", worst([0, 1])),
            ("effort_max_percent", worst([2, 3])),
        ])
    }

    /// How far the tests for steadiness agree with the sliding window, on signals of a run with the shortest delays.
    fn steadiness(&self, signal: &str) -> Quantities {
        // Flow, effort, seconds from sample to sample, window, tolerances of flow and effort.
        let (text, paths, every, window, tolerance, effort_tolerance) = match signal {
            "spring v1" => (SPRING, ["left.f", "left.e"], 2e-4, 0.01, 0.1, 0.3),
            "spring v2" => (SPRING, ["right.f", "right.e"], 2e-4, 0.01, 0.1, 0.3),
            "drive omega" => (DRIVE, ["motor.f", "motor.e"], 0.01, 0.5, 1.0, 1.0),
            "robot piston" => (ROBOT, ["lift.f", "lift.e"], 0.008, 0.4, 1e-3, 60.0),
            "robot motor" => (ROBOT, ["swing.f", "swing.e"], 0.008, 0.4, 3e-3, 20.0),
            _ => return Err(format!("there is no signal `{signal}`")),
        };
        let system = self.system(text, |line| line.most = [1.0; 2])?;
        let points = (system.experiment.stop / every).round();
        let run = self.run(&system, points, &paths)?;
        let stamps: Vec<Stamp> = run
            .times
            .iter()
            .zip(run.signals[0].iter().zip(&run.signals[1]))
            .map(|(&t, (&flow, &effort))| Stamp { t, flow, effort, ..Stamp::default() })
            .collect();
        let number = |name: &str, value: f64| (name.to_owned(), Value::Number(value));
        let samples = number("samples", (window / every).round());
        let given = [number("window", window), number("tolerance", tolerance)];
        let judge = |name: &str, more: Option<(String, Value)>| {
            let given: Vec<_> = given.iter().cloned().chain(more).collect();
            self.judge(name, &given, &stamps)
        };
        let alone = judge("sliding-window", None)?;
        let agreement = |other: Vec<bool>| {
            let same = alone.iter().zip(&other).filter(|(a, b)| a == b).count();
            100.0 * same as f64 / alone.len() as f64
        };
        Ok(vec![
            (
                "multi_agreement_percent",
                agreement(judge("sliding-window", Some(number("effort_tolerance", effort_tolerance)))?),
            ),
            ("F_agreement_percent", agreement(judge("f-test", Some(samples.clone()))?)),
            ("R_agreement_percent", agreement(judge("r-test", Some(samples))?)),
        ])
    }

    fn judge(&self, name: &str, given: &[(String, Value)], stamps: &[Stamp]) -> Result<Vec<bool>, String> {
        let entry = find(&self.registry.steadiness, name).ok_or_else(|| format!("there is no `{name}`"))?;
        let options =
            Options::resolve(name, entry.options, given).map_err(|problems| format!("{problems:?}"))?;
        let test = (entry.build)(&options);
        let mut memory = vec![0.0; test.memory()];
        test.start(&stamps[0], &mut memory);
        Ok((1..stamps.len()).map(|k| test.steady(&stamps[..k], &stamps[k], &mut memory)).collect())
    }

    /// Two free masses and a line that is ten times longer for the heavier one.
    fn passivity(&self, variant: &str) -> Quantities {
        let mut system = self.system(SPRING, |line| {
            line.steady = None;
            line.factor = [10.0, 1.0];
            line.most = line.factor;
            line.impedances =
                if variant.starts_with("common") { Impedances::Common } else { Impedances::Own };
        })?;
        let stop = 0.099;
        system.experiment.stop = stop;
        for (component, values) in [
            (0, &[("B", 0.0), ("F", 0.0), ("v0", 1.0), ("relative", 1e-8), ("absolute", 1e-8)][..]),
            (
                1,
                &[("M2", 5e-4), ("B", 0.0), ("K1", 0.0), ("K2", 0.0), ("relative", 1e-8), ("absolute", 1e-8)],
            ),
        ] {
            values.iter().for_each(|(name, value)| set(&mut system, component, name, Value::Number(*value)));
        }
        let run = self.run(&system, POINTS, &["left.f", "right.f"])?;
        let largest = |from: f64, to: f64| {
            let sums = run.signals[0].iter().zip(&run.signals[1]).map(|(a, b)| (a + b).abs());
            let inside = run.times.iter().zip(sums).filter(|(t, _)| **t >= from * stop && **t <= to * stop);
            inside.map(|(_, sum)| sum).fold(0.0, f64::max)
        };
        let growth = math::ln(largest(0.8, 1.0) / largest(0.0, 0.2)) / (0.8 * stop);
        Ok(vec![("growth_per_s", growth)])
    }

    /// The spring with steps of the m-th part of the delay, solved by so many steps of RK4 each.
    fn stepped(&self, boundary: Boundary, stiffness: f64, parts: f64) -> Result<Rc<Trajectory>, String> {
        let delay = 1e-4;
        let mut system = self.system(SPRING, |line| {
            line.steady = None;
            line.most = [1.0; 2];
            line.impedance = stiffness * delay;
            line.boundary = boundary;
        })?;
        system.experiment.stop = 0.3;
        system.methods.step.size = Some(delay / parts);
        let inner = if parts >= 8.0 { 4.0 } else { 32.0 / parts } * if stiffness > 1e6 { 4.0 } else { 1.0 };
        for component in 0..2 {
            set(&mut system, component, "solver", Value::Text("rk4".into()));
            set(&mut system, component, "micro_steps", Value::Number(inner));
        }
        self.run(&system, POINTS, &["left.f"])
    }

    fn boundary(&self, variant: &str) -> Quantities {
        let mut words = variant.split('/');
        let boundary = match words.next() {
            Some("wave-in") => Boundary::Inside,
            Some("plain mid-step") => Boundary::MidStep,
            Some("plain semi-implicit") => Boundary::SemiImplicit,
            Some("plain rollback") => Boundary::Corrected,
            _ => return Err(format!("there is no variant `{variant}`")),
        };
        let mut number = |prefix: &str| words.next()?.strip_prefix(prefix)?.parse::<f64>().ok();
        let (Some(stiffness), Some(parts)) = (number("k="), number("m=")) else {
            return Err(format!("`{variant}` has no stiffness and no step"));
        };
        let reference = self.stepped(Boundary::Inside, stiffness, 64.0)?;
        let (max, _) = self.stepped(boundary, stiffness, parts)?.deviation(0, &reference);
        Ok(vec![("v1_max_percent", max)])
    }

    /// Of runs with long delays.
    fn extrapolations(&self) -> Quantities {
        let drive = self.system(DRIVE, |line| line.most = [20.0; 2])?;
        let runs = [
            self.spring_run([20.0; 2], None, true)?,
            self.run(&drive, 100.0, &[])?,
            self.robot_run(20.0, 100.0)?,
        ];
        Ok(vec![("extrapolations", runs.iter().map(|run| run.net.beyond as f64).sum())])
    }
}

/// Evaluations that were not needed, in percent.
fn saved(run: &Trajectory, reference: &Trajectory, islands: &[usize]) -> f64 {
    100.0 * (1.0 - run.evaluations(islands) / reference.evaluations(islands))
}

/// One of the paper's systems, as it is drawn.
struct Picture {
    file: &'static str,
    title: &'static str,
    text: &'static str,
    /// Whether side b may be longer, too.
    both: bool,
    /// A component with its flow, the line there and the side of it.
    ends: [(&'static str, &'static str, &'static str); 2],
    unit: &'static str,
}

const PICTURES: [Picture; 3] = [
    Picture {
        file: "spring.svg",
        title: "Masses and springs",
        text: SPRING,
        both: true,
        ends: [("left", "line.line", "a"), ("right", "line.line", "b")],
        unit: "m/s",
    },
    Picture {
        file: "drive.svg",
        title: "Electric car",
        text: DRIVE,
        both: true,
        ends: [("motor", "line.line", "a"), ("car", "line.line", "b")],
        unit: "rad/s",
    },
    Picture {
        file: "robot.svg",
        title: "Hydraulic robot",
        text: ROBOT,
        both: false,
        ends: [("lift", "line.line", "a"), ("swing", "line.shaft", "a")],
        unit: "m/s and rad/s",
    },
];

/// The paper's figures: velocities, delays, steadiness and evaluations of each system, with the shortest delays beside them.
pub fn draw(changes: &Changes, registry: &Registry) -> FigureRows {
    let bench = Bench { changes, registry };
    PICTURES.iter().map(|picture| Ok((picture.file.to_owned(), picture.draw(&bench)?))).collect()
}

impl Picture {
    fn draw(&self, bench: &Bench<'_>) -> Result<Figure, String> {
        let run = |most: f64| {
            let system =
                bench.system(self.text, |line| line.most = [most, if self.both { most } else { 1.0 }])?;
            let mut signals: Vec<String> = self.ends.iter().map(|(name, ..)| format!("{name}.f")).collect();
            signals.extend(self.ends.iter().map(|(_, line, side)| format!("{line}.delay_{side}")));
            signals.extend(self.ends.iter().map(|(_, line, side)| format!("{line}.still_{side}")));
            bench.run(&system, DRAWN, &signals.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (long, short) = (run(20.0)?, run(1.0)?);
        let time = || Axis::linear("time in s");
        let series = |name: String, run: &Trajectory, signal: usize, style: Style| {
            let points = run.times.iter().copied().zip(run.signals[signal].iter().copied());
            Series::new(name, points.collect()).styled(style)
        };
        let mut panels = [
            Panel::new("Flow into the line", time(), Axis::linear(self.unit)),
            Panel::new("Delay", time(), Axis::linear("s")),
            Panel::new("Judged steady", time(), Axis::linear("1 = yes").between(-0.05, 1.05)),
            Panel::new("Evaluations so far", time(), Axis::linear("evaluations")),
        ];
        // Dashed above drawn through: curves that agree are both seen.
        for (place, (name, ..)) in self.ends.iter().enumerate() {
            panels[0].series.push(series(format!("{name}, shortest delay"), &short, place, Style::Line));
            panels[0].series.push(series(format!("{name}, growing delay"), &long, place, Style::Dashed));
            let style = if place == 0 { Style::Line } else { Style::Dashed };
            for (kind, panel) in panels[1..3].iter_mut().enumerate() {
                panel.series.push(series(
                    (*name).to_owned(),
                    &long,
                    (kind + 1) * self.ends.len() + place,
                    style,
                ));
            }
        }
        for (place, island) in long.net.islands.iter().enumerate() {
            let counts = |run: &Trajectory| run.counts.iter().map(|(t, spent)| (*t, spent[place])).collect();
            let name = &island.name;
            panels[3].series.push(Series::new(format!("{name}, shortest delay"), counts(&short)));
            let growing = Series::new(format!("{name}, growing delay"), counts(&long));
            panels[3].series.push(growing.styled(Style::Dashed));
        }
        Ok(Figure::new(self.title, panels.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error alone proves nothing: a delay that never grows has none. And what arrives late must be heard of early.
    #[test]
    fn announced_events_cost_no_saving() {
        let registry = cosimo::registry();
        let bench = Bench { changes: &Changes::default(), registry: &registry };
        let reference = bench.spring_run([1.0; 2], None, false).unwrap();
        let told = bench.spring_run([20.0; 2], None, true).unwrap();
        assert!(saved(&told, &reference, &[0, 1]) > 35.0);
    }

    /// The cheapest picture: every panel shows what it says.
    #[test]
    fn pictures_show_flows_delays_steadiness_and_evaluations() {
        let files = PICTURES.map(|picture| picture.file);
        assert_eq!(files, ["spring.svg", "drive.svg", "robot.svg"]);
        let registry = cosimo::registry();
        let bench = Bench { changes: &Changes::default(), registry: &registry };
        let figure = PICTURES[0].draw(&bench).unwrap();
        let names = |panel: usize| -> Vec<&str> {
            figure.panels[panel].series.iter().map(|series| series.name.as_str()).collect()
        };
        let four =
            ["left, shortest delay", "left, growing delay", "right, shortest delay", "right, growing delay"];
        assert_eq!((names(0), names(3)), (four.to_vec(), four.to_vec()));
        assert_eq!((names(1), names(2)), (vec!["left", "right"], vec!["left", "right"]));
        let values = |panel: usize, series: usize| {
            figure.panels[panel].series[series].points.iter().map(|(_, value)| *value)
        };
        let range = |panel, series| {
            [values(panel, series).fold(f64::MAX, f64::min), values(panel, series).fold(f64::MIN, f64::max)]
        };
        for side in 0..2 {
            assert!(range(0, 2 * side)[1] > 30.0 && range(0, 2 * side)[0] < -30.0);
            let [shortest, longest] = range(1, side);
            assert!((shortest - 1e-4).abs() < 1e-12 && (longest - 2e-3).abs() < 1e-12);
            assert_eq!(range(2, side), [0.0, 1.0]);
            // Evaluations never fall, and fewer are made with a delay that grows.
            let [all, fewer] = [2 * side, 2 * side + 1].map(|series| values(3, series).collect::<Vec<_>>());
            for counts in [&all, &fewer] {
                assert!(counts.len() > 200 && counts.windows(2).all(|pair| pair[0] <= pair[1]));
            }
            assert!(fewer[fewer.len() - 1] < 0.7 * all[all.len() - 1]);
        }
        assert!(figure.svg().contains("Evaluations so far"));
    }
}
