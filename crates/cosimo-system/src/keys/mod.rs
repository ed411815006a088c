//! The keys of `system.toml`, one row for each: name, codec of its value, field, and documentation.
//! Reader, writer, schema and command line are derived from the rows; rules between keys follow them.

pub(crate) mod choice;
pub(crate) mod codec;
pub(crate) mod former;
pub(crate) mod parts;
pub(crate) mod walk;

use cosimo_core::Unit;
use cosimo_core::line::StampInterpolation;
use cosimo_core::registry::Range::{Finite, NotNegative, Positive};
use cosimo_core::unit::BASE_UNITS;
use serde_json::json;

use crate::method_config::{Choice, Exchange, MethodConfig, Reject};
use crate::names::{COMPONENT_RULE, is_component};
use crate::schema::{COMPONENT_PATTERN, NAME_PATTERN};
use crate::system::{
    BondDecl, Boundary, Common, Component, ConnectionDecl, EndRule, Experiment, Impedances, IslandDecl,
    JunctionDecl, JunctionSide, LineDecl, MonolithicDecl, Opposite, PowerDirection, PowerPort, RecordPoint,
    ReferenceDecl, Results, Summand, System,
};
use choice::{each_input, method_of, tolerance};
use codec::{
    WordValues, any, components, exponent, flag, mapping, named_values, optional, pair, port, text, texts,
    unit, within,
};
use parts::{IMPEDANCE_KEYS, check_pattern, columns, model, option, source, sum};
use walk::Key::{Always, Overridable, Required, Shorthand};
use walk::{KeyWalk, NamedTables, TableKeys, list};

pub(crate) const SYSTEM: TableKeys<System> = TableKeys(system);
pub(crate) const SUPPLEMENT: TableKeys<System> = TableKeys(supplement);
pub(crate) const UNIT: TableKeys<Unit> = TableKeys(unit_keys);
pub(crate) const SUMMAND: TableKeys<Summand> = TableKeys(summand);
pub(crate) const BOND: TableKeys<BondDecl> = TableKeys(bond);
pub(crate) const METHOD: TableKeys<MethodConfig> = TableKeys(method);
pub(crate) const STEP: TableKeys<MethodConfig> = TableKeys(step);

fn system(it: &mut System, w: &mut KeyWalk<'_, '_>) {
    w.about("a co-simulation", |_, _| "the file".into());
    w.key(
        Required("experiment", "[experiment]` with `stop = 4.0"),
        TableKeys(experiment),
        &mut it.experiment,
        "",
    );
    let words = ["a table of components", "write `[component.name]`, once for each"];
    let (defaults, pattern) = (Component::default(), COMPONENT_PATTERN);
    let components = NamedTables {
        shape: TableKeys(component),
        default: defaults,
        retained: None,
        least: 1,
        pattern,
        expected_and_hint: words,
    };
    let example = "[component.name]` with `source = \"native:model\"";
    w.key(
        Required("component", example),
        components,
        &mut it.components,
        "components (FMUs or native models) by name",
    );
    if let KeyWalk::Read(at) = w
        && let Some(item) = at.section.get("component")
        && item.entries().is_some_and(|components| components.is_empty())
    {
        let hint = format!("write for example `{example}`");
        at.report("system/missing", ["a system needs at least one component", "empty", &hint], &item.span());
    }
    rest(it, w);
}

/// What another system format cannot express. Experiment and components exist already.
fn supplement(it: &mut System, w: &mut KeyWalk<'_, '_>) {
    w.about("", |_, _| "the annotation of Cosimo".into());
    // A section in the supplement resets keys that it does not give to their defaults.
    if w.item("experiment").is_some() {
        let Experiment { start, stop, span, .. } = it.experiment.clone();
        it.experiment = Experiment { start, stop, span, ..Experiment::default() };
    }
    if w.item("method").is_some() {
        it.methods = MethodConfig::default();
    }
    if w.item("results").is_some() {
        it.results = Results::default();
    }
    w.key("experiment", TableKeys(experiment_rest), &mut it.experiment, "");
    let kept = |it: Component| {
        let Component { name, source, source_span, parameters, starts, units, step, span, .. } = it;
        let defaults = Component::default();
        Component { name, source, source_span, parameters, starts, units, step, span, ..defaults }
    };
    let words = ["a table", "write `component = { name = value }`"];
    let (defaults, pattern) = (Component::default(), COMPONENT_PATTERN);
    let components = NamedTables {
        shape: TableKeys(component_rest),
        default: defaults,
        retained: Some(kept),
        least: 0,
        pattern,
        expected_and_hint: words,
    };
    w.key("component", components, &mut it.components, "");
    rest(it, w);
}

fn rest(it: &mut System, w: &mut KeyWalk<'_, '_>) {
    w.key(
        "connection",
        list(0, connection),
        &mut it.connections,
        "signal connections: input = sum of gain * output + offset",
    );
    w.key("bond", list(0, bond), &mut it.bonds, "power bonds: effort in one direction, flow in the other");
    w.key("junction", list(0, junction), &mut it.junctions, "bonds that share one effort or one flow");
    if let KeyWalk::Read(at) = w {
        parts::check_unique(it, at);
    }
    let words = ["a table of groups", "write `[monolithic.name]` with `components = [\"a\", \"b\"]`"];
    let (defaults, pattern) = (MonolithicDecl::default(), NAME_PATTERN);
    let groups = NamedTables {
        shape: TableKeys(monolithic),
        default: defaults,
        retained: None,
        least: 0,
        pattern,
        expected_and_hint: words,
    };
    let doc = "groups of components integrated as one system of equations, by group name";
    w.key("monolithic", groups, &mut it.monolithic, doc);
    w.key("method", METHOD, &mut it.methods, "");
    let hint = "write `[island.name]` with `components = [\"a\"]`, and keys of `[method]`";
    let words = ["a table of islands", hint];
    let defaults = IslandDecl { methods: it.methods.clone(), ..IslandDecl::default() };
    let islands = NamedTables {
        shape: TableKeys(island),
        default: defaults,
        retained: None,
        least: 0,
        pattern,
        expected_and_hint: words,
    };
    let doc = "methods of single islands, by name; an island is what remains connected when lines are cut";
    w.key("island", islands, &mut it.islands, doc);
    w.key("results", TableKeys(results), &mut it.results, "");
    w.key("reference", optional(TableKeys(reference)), &mut it.reference, "");
}

const END: WordValues<EndRule> = &[("exact", EndRule::Exact), ("after", EndRule::After)];
const RECORD: WordValues<RecordPoint> =
    &[("after-exchange", RecordPoint::AfterExchange), ("before-exchange", RecordPoint::BeforeExchange)];

fn experiment(it: &mut Experiment, w: &mut KeyWalk<'_, '_>) {
    w.about("start, stop and recording of the run", |_, _| "`[experiment]`".into());
    let known = w.key("start", Finite, &mut it.start, "start time in seconds");
    let doc = "stop time in seconds, later than `start`";
    let known = w.key(Required("stop", "stop = 4.0"), Finite, &mut it.stop, doc) && known;
    experiment_rest(it, w);
    let KeyWalk::Read(at) = w else { return };
    it.span = at.section.span.clone();
    // Compare only if both were read.
    if let Some(item) = at.section.get("stop").filter(|_| known && it.stop <= it.start) {
        at.out.push(item.wrong(&format!("later than `start`, {} s", it.start)));
    }
}

fn experiment_rest(it: &mut Experiment, w: &mut KeyWalk<'_, '_>) {
    w.about("start, stop and recording of the run", |_, _| "`[experiment]`".into());
    let end = "whether the last step is shortened to end at the stop time or may end after it";
    w.key("end", END, &mut it.end, end);
    w.key(
        "record",
        RECORD,
        &mut it.record,
        "whether rows hold values before or after the exchange at a communication point",
    );
    let accuracy =
        "wanted error of signals relative to their scale, by which results are judged; 0.01 if not given";
    w.key("accuracy", optional(Positive), &mut it.accuracy, accuracy);
    w.key("history", optional(text()), &mut it.history, "file with a table of outputs before the start");
}

fn component(it: &mut Component, w: &mut KeyWalk<'_, '_>) {
    w.about("a component: an FMU or another simulator", |name, _| format!("component `{name}`"));
    if let KeyWalk::Read(at) = w {
        (it.name, it.span) = (at.item.key.into(), at.item.key_span.clone());
        if !is_component(&it.name) {
            let message = format!("{COMPONENT_RULE}, got {:?}", it.name);
            at.report("system/name", [&message, "not a name", ""], &it.span);
        }
    }
    let mut from = (std::mem::take(&mut it.source), it.source_span.clone());
    w.key(Required("source", "source = \"native:model\""), source(), &mut from, "");
    (it.source, it.source_span) = from;
    component_rest(it, w);
}

fn component_rest(it: &mut Component, w: &mut KeyWalk<'_, '_>) {
    w.about("a component: an FMU or another simulator", |name, _| format!("component `{name}`"));
    w.name_of_table(&it.name);
    w.key("parameters", named_values(any()), &mut it.parameters, "parameter values by name");
    let start = "start values of unconnected inputs, and initial guesses in algebraic loops, by port";
    w.key("start", named_values(Finite), &mut it.starts, start);
    let units = "physical units of ports that replace those of the component, by port";
    w.key("units", named_values(unit()), &mut it.units, units);
    w.key("tolerance", optional(Positive), &mut it.tolerance, "for estimates weighted by component");
    w.key("weight", optional(NotNegative), &mut it.weight, "for estimates weighted by component");
    let (mut step, old) = (it.step.as_ref().map(|(step, _)| *step), it.step.take());
    let doc = "own step in seconds (multi-rate): a multiple or a fraction of a fixed macro step";
    w.key("step", optional(Positive), &mut step, doc);
    it.step = w.item("step").and_then(|item| Some((step?, item.whole()))).or(old);
}

fn unit_keys(it: &mut Unit, w: &mut KeyWalk<'_, '_>) {
    w.about("a physical unit in SI base units", |port, _| format!("the unit of `{port}`"));
    let mut name = (std::mem::take(&mut it.text), 0..0);
    w.key(Always("name"), text(), &mut name, "name of the unit");
    it.text = name.0;
    w.key("factor", Positive, &mut it.factor, "value in SI units = factor * value + offset");
    w.key("offset", Finite, &mut it.offset, "offset of zero, in SI units");
    for (base, place) in BASE_UNITS.into_iter().zip(&mut it.dimension) {
        w.key(base, exponent(), place, &format!("exponent of {base}"));
    }
}

fn connection(it: &mut ConnectionDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("a connection from outputs to an input", |_, _| "`[[connection]]`".into());
    if let KeyWalk::Read(at) = w {
        parts::check_sum(at);
    }
    let from = "the output, or a list of outputs to sum";
    w.key(Required("from", "from = \"component.output\""), sum(), &mut it.from, from);
    w.key(Required("to", "to = \"component.input\""), port(), &mut it.to, "");
    let mut none = Summand::default();
    let one = if let [one] = &mut it.from[..] { one } else { &mut none };
    w.key("gain", Finite, &mut one.gain, "input = gain * output + offset");
    w.key("offset", Finite, &mut it.offset, "added to the input, in its unit");
    w.key("map", mapping(), &mut one.map, MAP);
    let convert = "whether outputs are first converted to the unit of the input";
    w.key("convert", flag(), &mut it.convert, convert);
    match w {
        // Keys of the output are written before keys of the input.
        KeyWalk::Write(table) => {
            table.entries.sort_by_key(|entry| ["offset", "convert"].contains(&entry.key))
        }
        KeyWalk::Schema(schema) => parts::default_first(&mut schema.keys["convert"]),
        _ => {}
    }
}

const MAP: &str = "replacement for each value of the output, as `{ 0 = 1, 1 = 0 }`";

fn summand(it: &mut Summand, w: &mut KeyWalk<'_, '_>) {
    w.about("one output of a sum", |_, _| "an output of `from`".into());
    w.key(Required("port", "port = \"component.output\""), port(), &mut it.port, "");
    w.key("gain", Finite, &mut it.gain, "factor of the output");
    w.key("map", mapping(), &mut it.map, MAP);
}

const OPPOSITE: WordValues<Opposite> =
    &[("none", Opposite::Neither), ("effort", Opposite::Effort), ("flow", Opposite::Flow)];
const DIRECTION: WordValues<PowerDirection> =
    &[("a-to-b", PowerDirection::AToB), ("b-to-a", PowerDirection::BToA)];

fn bond(it: &mut BondDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("a power bond", |_, _| "`[[bond]]`".into());
    w.optional_name("bond", &mut it.name, &mut it.span);
    w.key(
        Required("a", "a = { effort = \"component.F\", flow = \"component.v\" }"),
        TableKeys(ports),
        &mut it.a,
        "",
    );
    w.key(
        Required("b", "b = { effort = \"component.F\", flow = \"component.v\" }"),
        TableKeys(ports),
        &mut it.b,
        "",
    );
    let opposite = "which variable has opposite signs on the two sides";
    w.key(Overridable("opposite"), OPPOSITE, &mut it.opposite, opposite);
    w.key(
        Overridable("direction"),
        DIRECTION,
        &mut it.direction,
        "the direction of power for which effort times flow of side a is positive",
    );
    w.key(
        Overridable("tolerance"),
        optional(Positive),
        &mut it.tolerance,
        "overrides the tolerance of the estimate for this bond",
    );
    w.key(Overridable("energy_scale"), optional(Positive), &mut it.energy_scale, "a typical energy, in J");
    w.key("line", optional(TableKeys(line)), &mut it.line, "");
}

fn ports(it: &mut PowerPort, w: &mut KeyWalk<'_, '_>) {
    w.about("the two variables of a power port, both of one component", |key, bond| {
        format!("`{key}` of {bond}")
    });
    w.key(Required("effort", "effort = \"component.port\""), port(), &mut it.effort, "");
    w.key(Required("flow", "flow = \"component.port\""), port(), &mut it.flow, "");
    let KeyWalk::Read(at) = w else { return };
    let owner = |port: &str| at.context.components.split(port).ok().map(|(_, owner, _)| owner.to_owned());
    if let (Some(left), Some(right)) = (owner(&it.effort.0), owner(&it.flow.0))
        && left != right
    {
        let title = &at.section.title;
        let message = format!("{title} takes its effort from `{left}` but its flow from `{right}`");
        let hint = "effort and flow of one side must belong to the same component";
        at.report("system/two-components", [&message, &format!("not a port of `{left}`"), hint], &it.flow.1);
    }
}

const COMMON: WordValues<Common> = &[("effort", Common::Effort), ("flow", Common::Flow)];
/// Whether power leaves the component.
const POWER: WordValues<bool> = &[("enters", false), ("leaves", true)];

fn junction(it: &mut JunctionDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("several bonds that share one effort or one flow", |_, _| "`[[junction]]`".into());
    w.optional_name("junction", &mut it.name, &mut it.span);
    let common = "the variable that is equal on all sides; the other one sums to zero";
    w.key(Required("common", "common = \"effort\""), COMMON, &mut it.common, common);
    let example = "sides = [ { effort = \"a.p\", flow = \"a.q\" }, { effort = \"b.p\", flow = \"b.q\" } ]";
    w.key(Required("sides", example), list(2, side), &mut it.sides, "");
    w.key(
        "tolerance",
        optional(Positive),
        &mut it.tolerance,
        "overrides the tolerance of the estimate for this junction",
    );
    w.key("energy_scale", optional(Positive), &mut it.energy_scale, "a typical energy, in J");
}

fn side(it: &mut JunctionSide, w: &mut KeyWalk<'_, '_>) {
    w.about("one side: effort and flow of one component", |_, node| format!("a side of {node}"));
    ports(&mut it.port, w);
    w.key(
        "power",
        POWER,
        &mut it.leaves,
        "whether effort times flow is power entering or leaving the component",
    );
}

const BETWEEN: WordValues<StampInterpolation> =
    &[("linear", StampInterpolation::Linear), ("hermite", StampInterpolation::Hermite)];
/// Whether delays are controlled.
const CONTROL: WordValues<bool> = &[("none", false), ("steady-state", true)];
const IMPEDANCES: WordValues<Impedances> = &[("own", Impedances::Own), ("common", Impedances::Common)];
const BOUNDARY: WordValues<Boundary> = &[
    ("best", Boundary::Best),
    ("inside", Boundary::Inside),
    ("corrected", Boundary::Corrected),
    ("semi-implicit", Boundary::SemiImplicit),
    ("mid-step", Boundary::MidStep),
    ("held", Boundary::Held),
];

fn line(it: &mut LineDecl, w: &mut KeyWalk<'_, '_>) {
    w.about(
        "a transmission line (TLM) between the sides: flow is an output and effort an input on both",
        |_, bond| format!("`line` of {bond}"),
    );
    let mut ways = [Some(it.impedance).filter(|_| matches!(w, KeyWalk::Write(_))), None, None];
    match w {
        KeyWalk::Read(at) => parts::check_impedance(at),
        KeyWalk::Schema(schema) => {
            schema.rules.push(("oneOf", json!(IMPEDANCE_KEYS.map(|way| json!({ "required": [way] })))));
        }
        _ => {}
    }
    w.key(Required("delay", "delay = 1e-4"), Positive, &mut it.delay, "delay of the line in seconds");
    let docs = [
        "effort per flow, in SI units",
        "instead: effort per integral of the flow, impedance / delay",
        "instead: integral of the flow per effort, delay / impedance",
    ];
    for ((key, place), doc) in IMPEDANCE_KEYS.into_iter().zip(&mut ways).zip(docs) {
        w.key(Always(key), optional(Positive), place, doc);
    }
    // Z = k D = D / C.
    let [impedance, stiffness, capacitance] = ways;
    let other = stiffness.map(|k| k * it.delay).or(capacitance.map(|c| it.delay / c));
    it.impedance = impedance.or(other).unwrap_or(it.impedance);
    w.key("interpolation", BETWEEN, &mut it.between, "interpolation between two received values");
    let mut control = it.steady.is_some();
    // An invalid value counts as controlled, so that no errors follow from it.
    control |= !w.key("control", CONTROL, &mut control, "whether delays grow in steady state");
    let mut steady = it.steady.take().unwrap_or_else(|| Choice::named("sliding-window"));
    w.key("steady", method_of("steadiness"), &mut steady, "the test for steady state");
    it.steady = control.then_some(steady);
    let factor = "factor of the delay at the start; one number, or one for each of side a and b";
    w.key("factor", pair(), &mut it.factor, factor);
    let defaults = if control { LineDecl::default().most } else { it.factor };
    let mut most = (it.most != defaults).then_some(it.most);
    w.key(
        Always("most"),
        optional(pair()),
        &mut most,
        "largest factor of the delay; one number, or one for each of side a and b",
    );
    w.key("hold", NotNegative, &mut it.hold, "seconds in steady state before a delay grows");
    w.key("linked", flag(), &mut it.linked, "whether the delays of both ends shrink together");
    w.key(
        "announced",
        flag(),
        &mut it.announced,
        "whether known events are announced to the other end in advance",
    );
    w.key("rollback", flag(), &mut it.rollback, "whether a step that ends the steady state is rolled back");
    w.key(
        "repay",
        NotNegative,
        &mut it.repay,
        "seconds within which charge lost by a changed delay is restored; 0 never restores it",
    );
    w.key(
        "impedances",
        IMPEDANCES,
        &mut it.impedances,
        "impedance of an end while delays differ: its own, or the mean of both",
    );
    w.key("boundary", BOUNDARY, &mut it.boundary, "how the effort is applied to the components");
    w.key("mass_a", optional(Positive), &mut it.mass[0], "effort per time derivative of the flow, side a");
    w.key("mass_b", optional(Positive), &mut it.mass[1], "effort per time derivative of the flow, side b");
    let KeyWalk::Read(at) = w else { return };
    it.most = at.section.get("most").and(most).unwrap_or(defaults);
    it.span = at.item.whole();
    parts::check_line(it, control, at);
}

fn monolithic(it: &mut MonolithicDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("components integrated as one system of equations", |name, _| format!("`[monolithic.{name}]`"));
    w.name_from_key("group", &mut it.name, &mut it.span);
    if let KeyWalk::Read(at) = w
        && at.context.components.get(&it.name).is_some()
    {
        let message = format!("`{}` is the name of a component and of a group", it.name);
        at.report("system/name", [&message, "taken", ""], &it.span);
    }
    let example = "components = [\"a\", \"b\"]";
    w.key(Required("components", example), components(2), &mut it.components, "");
    let own = &mut it.options;
    w.key("solver", option("solver", None), own, "the integrator, as the FMU parameter `cosimo.solver`");
    w.key("relative", option("relative", Some(Positive)), own, "relative tolerance");
    w.key("absolute", option("absolute", Some(Positive)), own, "absolute tolerance");
    w.key(
        "largest_step",
        option("largest_step", Some(Positive)),
        own,
        "largest step of the integrator, in seconds",
    );
}

pub(crate) const EXCHANGE: WordValues<Exchange> = &[("stale", Exchange::Stale), ("fresh", Exchange::Fresh)];
pub(crate) const EXCHANGE_DOC: &str =
    "which outputs are exchanged: stale (end of step) or fresh (after new inputs)";
const REJECT: WordValues<Reject> = &[("never", Reject::Never), ("above-one", Reject::AboveOne)];

fn method(it: &mut MethodConfig, w: &mut KeyWalk<'_, '_>) {
    w.about("the chosen methods", |_, _| "`[method]`".into());
    let (defaults, origin) = (MethodConfig::default(), w.origin());
    let open = |choice: Choice| Choice { origin, ..choice };
    w.key(
        Shorthand("schedule"),
        method_of("partition"),
        &mut it.partition,
        "short for `partition` with `iteration = \"once\"`",
    );
    w.key(
        Overridable("partition"),
        method_of("partition"),
        &mut it.partition,
        "order of components and which of them step concurrently",
    );
    w.key(
        Overridable("iteration"),
        method_of("iteration"),
        &mut it.iteration,
        "how often a macro step is iterated",
    );
    let inputs = each_input("input", method_of("input"), open(defaults.input.default));
    w.key(Overridable("input"), inputs, &mut it.input, "extrapolation of inputs during a macro step");
    let corrections = each_input("correction", method_of("correction"), open(defaults.correction.default));
    w.key(Overridable("correction"), corrections, &mut it.correction, "correction added to inputs");
    let exchanges = each_input("exchange", EXCHANGE, Exchange::default());
    w.key(Overridable("exchange"), exchanges, &mut it.exchange, EXCHANGE_DOC);
    w.key("step", STEP, it, "");
    match w {
        KeyWalk::Read(at) => {
            if let Some(item) = at.section.get("step") {
                it.step.span = item.whole();
            }
            if let Some(schedule) = at.section.get("schedule") {
                it.iteration = open(defaults.iteration);
                parts::check_schedule(&schedule, at);
            }
        }
        KeyWalk::Schema(schema) => {
            let others = json!([{ "required": ["partition"] }, { "required": ["iteration"] }]);
            schema.rules.push(("not", json!({ "required": ["schedule"], "anyOf": others })));
        }
        _ => {}
    }
}

fn step(it: &mut MethodConfig, w: &mut KeyWalk<'_, '_>) {
    w.about("the size of macro steps", |_, _| "`step`".into());
    let beside = w.item("estimate").is_some();
    let estimate = "the error estimate of a macro step";
    let known = w.key(Overridable("estimate"), method_of("estimate"), &mut it.estimate, estimate);
    w.key(Overridable("controller"), method_of("controller"), &mut it.controller, "the step-size controller");
    let error = "largest accepted error";
    w.key("tolerance", tolerance(beside, known), &mut it.estimate, error);
    let it = &mut it.step;
    let size = "macro step size, the first one if it is adaptive, in seconds";
    let sized = w.key("size", optional(Positive), &mut it.size, size) && w.item("size").is_some();
    w.key("min", Positive, &mut it.min, "smallest size, in seconds");
    w.key("max", Positive, &mut it.max, "largest size, in seconds");
    // Ratios of successive sizes: 1, no change, must lie between them.
    let limits = json!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0 });
    let shrink = within("a number above 0 and at most 1", |ratio| ratio > 0.0 && ratio <= 1.0, limits);
    w.key("shrink", shrink, &mut it.shrink, "smallest ratio of successive sizes");
    let limits = json!({ "type": "number", "minimum": 1.0 });
    let grow = within("a finite number of at least 1", |ratio| ratio >= 1.0, limits);
    w.key("grow", grow, &mut it.grow, "largest ratio of successive sizes");
    w.key(
        Overridable("reject"),
        REJECT,
        &mut it.reject,
        "whether a step with too large an error is rolled back and repeated",
    );
    let KeyWalk::Read(at) = w else { return };
    if sized {
        it.size_origin = at.context.origin;
    }
    if it.min > it.max
        && let Some(item) = at.section.get("max").or(at.section.get("min"))
    {
        let message = format!("`min` must be at most `max`, got {} and {}", it.min, it.max);
        let hint = match at.section.get("min") {
            Some(_) => String::new(),
            None => format!("the default of `min` is {} s", it.min),
        };
        at.report("system/value", [&message, "`min` is above `max`", &hint], &item.span());
    }
}

fn island(it: &mut IslandDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("methods of one island, instead of those of `[method]`", |name, _| format!("`[island.{name}]`"));
    w.name_from_key("island", &mut it.name, &mut it.span);
    let doc = "at least one component of the island";
    w.key(Required("components", "components = [\"a\"]"), components(1), &mut it.components, doc);
    method(&mut it.methods, w);
    if let KeyWalk::Schema(schema) = w {
        let required = std::mem::take(&mut schema.required);
        schema.rules.push(("required", json!(required)));
    }
}

fn results(it: &mut Results, w: &mut KeyWalk<'_, '_>) {
    w.about("content of result files", |_, _| "`[results]`".into());
    let patterns = texts(check_pattern, None, json!({ "type": "string", "pattern": "^(!.|[^!])" }));
    let variables = "patterns of recorded variables, with `*` and `?`; a leading `!` excludes";
    w.key("variables", patterns, &mut it.variables, variables);
    let every = "seconds between rows; default: every communication point";
    w.key("every", optional(Positive), &mut it.every, every);
}

fn reference(it: &mut ReferenceDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("the monolithic reference to compare with", |_, _| "`[reference]`".into());
    w.key(Required("model", "model = \"name\""), model(), &mut it.model, "name of the reference model");
    let ports = "ports as `component.port`, and the reference column of each";
    w.key("ports", columns(it.model.0.clone()), &mut it.ports, ports);
}
