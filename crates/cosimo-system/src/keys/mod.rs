//! The keys of `system.toml`, one row for each: its name, how its value is spelled, where it goes, and what it is for.
//! Reader, writer, schema and command line follow from the rows; rules between keys stand below them.

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
    WordValues, any, components, each, exponent, flag, mapping, maybe, pair, port, text, texts, unit, within,
};
use parts::{WAYS, check_pattern, columns, model, option, source, sum};
use walk::Key::{Alone, Required, Said, Short};
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
    let (usual, pattern) = (Component::default(), COMPONENT_PATTERN);
    let components = NamedTables { shape: TableKeys(component), usual, kept: None, least: 1, pattern, words };
    let example = "[component.name]` with `source = \"native:model\"";
    w.key(Required("component", example), components, &mut it.components, "the simulators, by name");
    if let KeyWalk::Read(at) = w
        && let Some(item) = at.section.get("component")
        && item.entries().is_some_and(|components| components.is_empty())
    {
        let hint = format!("write for example `{example}`");
        at.report("system/missing", ["a system needs at least one component", "empty", &hint], &item.span());
    }
    rest(it, w);
}

/// What another format of systems has no words for. Experiment and components are there already.
fn supplement(it: &mut System, w: &mut KeyWalk<'_, '_>) {
    w.about("", |_, _| "the annotation of Cosimo".into());
    // What the supplement has a section for and does not say is as usual.
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
        let usual = Component::default();
        Component { name, source, source_span, parameters, starts, units, step, span, ..usual }
    };
    let words = ["a table", "write `component = { name = value }`"];
    let (usual, pattern) = (Component::default(), COMPONENT_PATTERN);
    let components =
        NamedTables { shape: TableKeys(component_rest), usual, kept: Some(kept), least: 0, pattern, words };
    w.key("component", components, &mut it.components, "");
    rest(it, w);
}

fn rest(it: &mut System, w: &mut KeyWalk<'_, '_>) {
    w.key(
        "connection",
        list(0, connection),
        &mut it.connections,
        "signals: input = sum of gain * output + offset",
    );
    w.key("bond", list(0, bond), &mut it.bonds, "power bonds: effort one way, flow the other");
    w.key("junction", list(0, junction), &mut it.junctions, "bonds that share one effort or one flow");
    if let KeyWalk::Read(at) = w {
        parts::check_unique(it, at);
    }
    let words = ["a table of groups", "write `[monolithic.name]` with `components = [\"a\", \"b\"]`"];
    let (usual, pattern) = (MonolithicDecl::default(), NAME_PATTERN);
    let groups = NamedTables { shape: TableKeys(strong), usual, kept: None, least: 0, pattern, words };
    let doc = "components that are integrated together, by the name of the group";
    w.key("monolithic", groups, &mut it.monolithic, doc);
    w.key("method", METHOD, &mut it.methods, "");
    let hint = "write `[island.name]` with `components = [\"a\"]`, and what `[method]` could say";
    let words = ["a table of islands", hint];
    let usual = IslandDecl { methods: it.methods.clone(), ..IslandDecl::default() };
    let islands = NamedTables { shape: TableKeys(island), usual, kept: None, least: 0, pattern, words };
    let doc = "methods of islands, by name; an island is what remains connected when lines are cut";
    w.key("island", islands, &mut it.islands, doc);
    w.key("results", TableKeys(results), &mut it.results, "");
    w.key("reference", maybe(TableKeys(reference)), &mut it.reference, "");
}

const END: WordValues<EndRule> = &[("exact", EndRule::Exact), ("after", EndRule::After)];
const RECORD: WordValues<RecordPoint> =
    &[("after-exchange", RecordPoint::AfterExchange), ("before-exchange", RecordPoint::BeforeExchange)];

fn experiment(it: &mut Experiment, w: &mut KeyWalk<'_, '_>) {
    w.about("what is to be run", |_, _| "`[experiment]`".into());
    let known = w.key("start", Finite, &mut it.start, "where it begins, in seconds");
    let doc = "where it ends, in seconds; later than the start";
    let known = w.key(Required("stop", "stop = 4.0"), Finite, &mut it.stop, doc) && known;
    experiment_rest(it, w);
    let KeyWalk::Read(at) = w else { return };
    it.span = at.section.span.clone();
    // What could not be read cannot be compared.
    if let Some(item) = at.section.get("stop").filter(|_| known && it.stop <= it.start) {
        at.out.push(item.wrong(&format!("later than `start`, {} s", it.start)));
    }
}

fn experiment_rest(it: &mut Experiment, w: &mut KeyWalk<'_, '_>) {
    w.about("what is to be run", |_, _| "`[experiment]`".into());
    let end = "whether the last step is cut to hit the stop time, or goes past it";
    w.key("end", END, &mut it.end, end);
    w.key("record", RECORD, &mut it.record, "which values a row at a communication point holds");
    w.key("history", maybe(text()), &mut it.history, "a table of outputs before the start");
}

fn component(it: &mut Component, w: &mut KeyWalk<'_, '_>) {
    w.about("a simulator", |name, _| format!("component `{name}`"));
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
    w.about("a simulator", |name, _| format!("component `{name}`"));
    w.head(&it.name);
    w.key("parameters", each(any()), &mut it.parameters, "parameters of the model, by name");
    let start = "inputs that nobody drives, and first guesses in algebraic loops, by port";
    w.key("start", each(Finite), &mut it.starts, start);
    let units = "units of ports, where they are others than the simulator says, or it says none";
    w.key("units", each(unit()), &mut it.units, units);
    w.key("tolerance", maybe(Positive), &mut it.tolerance, "for estimates that weigh outputs by simulator");
    w.key("weight", maybe(NotNegative), &mut it.weight, "for estimates that weigh outputs by simulator");
    let (mut step, old) = (it.step.as_ref().map(|(step, _)| *step), it.step.take());
    let doc = "its own step in seconds: a multiple or a fraction of everybody's, where that is fixed";
    w.key("step", maybe(Positive), &mut step, doc);
    it.step = w.item("step").and_then(|item| Some((step?, item.whole()))).or(old);
}

fn unit_keys(it: &mut Unit, w: &mut KeyWalk<'_, '_>) {
    w.about("a unit by SI units", |port, _| format!("the unit of `{port}`"));
    let mut name = (std::mem::take(&mut it.text), 0..0);
    w.key(Said("name"), text(), &mut name, "what it is called");
    it.text = name.0;
    w.key("factor", Positive, &mut it.factor, "how many SI units one of it is");
    w.key("offset", Finite, &mut it.offset, "where its zero lies, in SI units");
    for (base, place) in BASE_UNITS.into_iter().zip(&mut it.dimension) {
        w.key(base, exponent(), place, &format!("exponent of {base}"));
    }
}

fn connection(it: &mut ConnectionDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("a signal from outputs to an input", |_, _| "`[[connection]]`".into());
    if let KeyWalk::Read(at) = w {
        parts::check_sum(at);
    }
    let from = "the output, or several whose sum is expected";
    w.key(Required("from", "from = \"component.output\""), sum(), &mut it.from, from);
    w.key(Required("to", "to = \"component.input\""), port(), &mut it.to, "");
    let mut none = Summand::default();
    let one = if let [one] = &mut it.from[..] { one } else { &mut none };
    w.key("gain", Finite, &mut one.gain, "input = gain * output + offset");
    w.key("offset", Finite, &mut it.offset, "in the unit of the input");
    w.key("map", mapping(), &mut one.map, MAP);
    let convert = "whether outputs are converted to the unit of the input, before anything else";
    w.key("convert", flag(), &mut it.convert, convert);
    match w {
        // What is said of the output stands before what is said of the input.
        KeyWalk::Write(page) => page.entries.sort_by_key(|entry| ["offset", "convert"].contains(&entry.key)),
        KeyWalk::Schema(schema) => parts::default_first(&mut schema.keys["convert"]),
        _ => {}
    }
}

const MAP: &str = "what to take instead of each value that the output may have, as `{ 0 = 1, 1 = 0 }`";

fn summand(it: &mut Summand, w: &mut KeyWalk<'_, '_>) {
    w.about("one of several outputs", |_, _| "an output of `from`".into());
    w.key(Required("port", "port = \"component.output\""), port(), &mut it.port, "");
    w.key("gain", Finite, &mut it.gain, "what it is multiplied by");
    w.key("map", mapping(), &mut it.map, MAP);
}

const OPPOSITE: WordValues<Opposite> =
    &[("none", Opposite::Neither), ("effort", Opposite::Effort), ("flow", Opposite::Flow)];
const DIRECTION: WordValues<PowerDirection> =
    &[("a-to-b", PowerDirection::AToB), ("b-to-a", PowerDirection::BToA)];

fn bond(it: &mut BondDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("a power bond", |_, _| "`[[bond]]`".into());
    w.called("bond", &mut it.name, &mut it.span);
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
    let opposite = "which variable changes its sign from one side to the other";
    w.key(Alone("opposite"), OPPOSITE, &mut it.opposite, opposite);
    w.key(
        Alone("direction"),
        DIRECTION,
        &mut it.direction,
        "which way effort times flow of side a counts power",
    );
    w.key(
        Alone("tolerance"),
        maybe(Positive),
        &mut it.tolerance,
        "of this bond, before that of the estimate",
    );
    w.key(Alone("energy_scale"), maybe(Positive), &mut it.energy_scale, "a typical energy, in J");
    w.key("line", maybe(TableKeys(line)), &mut it.line, "");
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
        let hint = "effort and flow of one side belong to one component; the other side is the other one";
        at.report("system/two-components", [&message, &format!("not a port of `{left}`"), hint], &it.flow.1);
    }
}

const COMMON: WordValues<Common> = &[("effort", Common::Effort), ("flow", Common::Flow)];
/// Whether power leaves.
const POWER: WordValues<bool> = &[("enters", false), ("leaves", true)];

fn junction(it: &mut JunctionDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("several bonds in one point", |_, _| "`[[junction]]`".into());
    w.called("junction", &mut it.name, &mut it.span);
    let common = "the variable that all sides share; the others sum to zero";
    w.key(Required("common", "common = \"effort\""), COMMON, &mut it.common, common);
    let example = "sides = [ { effort = \"a.p\", flow = \"a.q\" }, { effort = \"b.p\", flow = \"b.q\" } ]";
    w.key(Required("sides", example), list(2, side), &mut it.sides, "");
    w.key("tolerance", maybe(Positive), &mut it.tolerance, "of this junction, before that of the estimate");
    w.key("energy_scale", maybe(Positive), &mut it.energy_scale, "a typical energy, in J");
}

fn side(it: &mut JunctionSide, w: &mut KeyWalk<'_, '_>) {
    w.about("one side, its variables both of one component", |_, node| format!("a side of {node}"));
    ports(&mut it.port, w);
    w.key("power", POWER, &mut it.leaves, "whether effort times flow counts power that enters or leaves");
}

const BETWEEN: WordValues<StampInterpolation> =
    &[("linear", StampInterpolation::Linear), ("hermite", StampInterpolation::Hermite)];
/// Whether there is one.
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
    w.about("a delay between the sides: both give their flow and take the effort", |_, bond| {
        format!("`line` of {bond}")
    });
    let mut ways = [Some(it.impedance).filter(|_| matches!(w, KeyWalk::Write(_))), None, None];
    match w {
        KeyWalk::Read(at) => parts::check_ways(at),
        KeyWalk::Schema(schema) => {
            schema.rules.push(("oneOf", json!(WAYS.map(|way| json!({ "required": [way] })))));
        }
        _ => {}
    }
    w.key(Required("delay", "delay = 1e-4"), Positive, &mut it.delay, "from one side to the other, in s");
    let docs = [
        "effort per flow, in SI units",
        "instead: effort per integral of the flow, impedance / delay",
        "instead: integral of the flow per effort, delay / impedance",
    ];
    for ((key, place), doc) in WAYS.into_iter().zip(&mut ways).zip(docs) {
        w.key(Said(key), maybe(Positive), place, doc);
    }
    // Z = k D = D / C.
    let [impedance, stiffness, capacitance] = ways;
    let other = stiffness.map(|k| k * it.delay).or(capacitance.map(|c| it.delay / c));
    it.impedance = impedance.or(other).unwrap_or(it.impedance);
    w.key("interpolation", BETWEEN, &mut it.between, "how to read between two published values");
    let mut control = it.steady.is_some();
    // What control was meant where it could not be read is not known.
    control |= !w.key("control", CONTROL, &mut control, "whether delays grow where nothing moves");
    let mut steady = it.steady.take().unwrap_or_else(|| Choice::named("sliding-window"));
    w.key("steady", method_of("steadiness"), &mut steady, "how to tell that nothing moves");
    it.steady = control.then_some(steady);
    let factor = "by how much the delay is multiplied at the start; of side a and b";
    w.key("factor", pair(), &mut it.factor, factor);
    let usual = if control { LineDecl::default().most } else { it.factor };
    let mut most = (it.most != usual).then_some(it.most);
    w.key(Said("most"), maybe(pair()), &mut most, "by how much it is multiplied at most; of side a and b");
    w.key("hold", NotNegative, &mut it.hold, "seconds from the last movement until a delay grows");
    w.key("linked", flag(), &mut it.linked, "an end whose delay shrinks makes that of the other shrink");
    w.key("announced", flag(), &mut it.announced, "the other end hears beforehand of events that are known");
    w.key("rollback", flag(), &mut it.rollback, "a step after which an end moves again is taken back");
    w.key("repay", NotNegative, &mut it.repay, "seconds within which lost charge is given back");
    w.key("impedances", IMPEDANCES, &mut it.impedances, "whose impedance an end has while delays differ");
    w.key("boundary", BOUNDARY, &mut it.boundary, "how the effort reaches the simulators");
    w.key("mass_a", maybe(Positive), &mut it.mass[0], "effort per rate of the flow of side a");
    w.key("mass_b", maybe(Positive), &mut it.mass[1], "effort per rate of the flow of side b");
    let KeyWalk::Read(at) = w else { return };
    it.most = at.section.get("most").and(most).unwrap_or(usual);
    it.span = at.item.whole();
    parts::check_line(it, control, at);
}

fn strong(it: &mut MonolithicDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("one system of equations out of several units", |name, _| format!("`[monolithic.{name}]`"));
    w.named("group", &mut it.name, &mut it.span);
    if let KeyWalk::Read(at) = w
        && at.context.components.get(&it.name).is_some()
    {
        let message = format!("`{}` is the name of a component and of a group", it.name);
        at.report("system/name", [&message, "taken", ""], &it.span);
    }
    let example = "components = [\"a\", \"b\"]";
    w.key(Required("components", example), components(2), &mut it.components, "");
    let own = &mut it.options;
    w.key("solver", option("solver", None), own, "the integrator, as a unit's \"cosimo.solver\"");
    w.key("relative", option("relative", Some(Positive)), own, "relative tolerance");
    w.key("absolute", option("absolute", Some(Positive)), own, "absolute tolerance");
    w.key("largest_step", option("largest_step", Some(Positive)), own, "of the integrator, in s");
}

pub(crate) const EXCHANGE: WordValues<Exchange> = &[("stale", Exchange::Stale), ("fresh", Exchange::Fresh)];
pub(crate) const EXCHANGE_DOC: &str = "which outputs others get to see";
const REJECT: WordValues<Reject> = &[("never", Reject::Never), ("above-one", Reject::AboveOne)];

fn method(it: &mut MethodConfig, w: &mut KeyWalk<'_, '_>) {
    w.about("the chosen methods", |_, _| "`[method]`".into());
    let (usual, origin) = (MethodConfig::default(), w.origin());
    let open = |choice: Choice| Choice { origin, ..choice };
    w.key(Short("schedule"), method_of("partition"), &mut it.partition, "short for `partition`, swept once");
    w.key(Alone("partition"), method_of("partition"), &mut it.partition, "who steps with whom, and when");
    w.key(Alone("iteration"), method_of("iteration"), &mut it.iteration, "how often the stages are swept");
    let inputs = each_input("input", method_of("input"), open(usual.input.default));
    w.key(Alone("input"), inputs, &mut it.input, "what inputs are assumed to be in a step");
    let corrections = each_input("correction", method_of("correction"), open(usual.correction.default));
    w.key(Alone("correction"), corrections, &mut it.correction, "what is added to inputs");
    let exchanges = each_input("exchange", EXCHANGE, Exchange::default());
    w.key(Alone("exchange"), exchanges, &mut it.exchange, EXCHANGE_DOC);
    w.key("step", STEP, it, "");
    match w {
        KeyWalk::Read(at) => {
            if let Some(item) = at.section.get("step") {
                it.step.span = item.whole();
            }
            if let Some(schedule) = at.section.get("schedule") {
                it.iteration = open(usual.iteration);
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
    w.about("the size of steps", |_, _| "`step`".into());
    let beside = w.item("estimate").is_some();
    let estimate = "what measures the error of a step";
    let known = w.key(Alone("estimate"), method_of("estimate"), &mut it.estimate, estimate);
    w.key(Alone("controller"), method_of("controller"), &mut it.controller, "how the error changes the size");
    let error = "the error that is just good enough";
    w.key("tolerance", tolerance(beside, known), &mut it.estimate, error);
    let it = &mut it.step;
    let size = "the size, or the first one where it changes, in seconds";
    let sized = w.key("size", maybe(Positive), &mut it.size, size) && w.item("size").is_some();
    w.key("min", Positive, &mut it.min, "the least size, in seconds");
    w.key("max", Positive, &mut it.max, "the largest size, in seconds");
    // Ratios of neighbouring sizes: no change, a ratio of 1, must lie between them.
    let limits = json!({ "type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0 });
    let shrink = within("a number above 0 and at most 1", |ratio| ratio > 0.0 && ratio <= 1.0, limits);
    w.key("shrink", shrink, &mut it.shrink, "the least ratio of neighbouring sizes");
    let limits = json!({ "type": "number", "minimum": 1.0 });
    let grow = within("a finite number of at least 1", |ratio| ratio >= 1.0, limits);
    w.key("grow", grow, &mut it.grow, "the largest ratio of neighbouring sizes");
    w.key(Alone("reject"), REJECT, &mut it.reject, "what happens to a step whose error is too large");
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
            None => format!("without `min`, the least step is {} s", it.min),
        };
        at.report("system/value", [&message, "the limits cross", &hint], &item.span());
    }
}

fn island(it: &mut IslandDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("the methods of one island, where they are not those of `method`", |name, _| {
        format!("`[island.{name}]`")
    });
    w.named("island", &mut it.name, &mut it.span);
    let doc = "components of the island: one is enough";
    w.key(Required("components", "components = [\"a\"]"), components(1), &mut it.components, doc);
    method(&mut it.methods, w);
    if let KeyWalk::Schema(schema) = w {
        let required = std::mem::take(&mut schema.required);
        schema.rules.push(("required", json!(required)));
    }
}

fn results(it: &mut Results, w: &mut KeyWalk<'_, '_>) {
    w.about("what goes into result files", |_, _| "`[results]`".into());
    let patterns = texts(check_pattern, None, json!({ "type": "string", "pattern": "^(!.|[^!])" }));
    let variables = "patterns of the variables to keep, with `*` and `?`; `!` before one leaves out";
    w.key("variables", patterns, &mut it.variables, variables);
    let every = "seconds from row to row; else every communication point";
    w.key("every", maybe(Positive), &mut it.every, every);
}

fn reference(it: &mut ReferenceDecl, w: &mut KeyWalk<'_, '_>) {
    w.about("what to compare with", |_, _| "`[reference]`".into());
    w.key(Required("model", "model = \"name\""), model(), &mut it.model, "the monolithic reference");
    let ports = "ports as `component.port`, and the column each should equal";
    w.key("ports", columns(it.model.0.clone()), &mut it.ports, ports);
}
