//! What structures mean: connections through nested systems, units, transformations, parameters. Every expected number
//! is computed by hand.

use cosimo::core::Value;

use super::{
    EXPERIMENT, UNITS, close, component, connection, connectors_of, run, ssd, system, to, warnings, written,
};

fn values(list: &str) -> String {
    format!(
        "<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version=\"1.0\" name=\"p\">\
         <ssv:Parameters>{list}</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding>\
         </ssd:ParameterBindings>"
    )
}

fn real(name: &str, value: &str) -> String {
    format!("<ssv:Parameter name=\"{name}\"><ssv:Real value=\"{value}\"/></ssv:Parameter>")
}

#[test]
fn values_go_through_nested_systems_and_are_converted() {
    // car (speed in km/h, angle in deg, temperature in degC) -> Outer.Inner.sensor in m/s, rad and K.
    let sensor = component(
        "sensor",
        "tap:|v[m/s] angle[rad] T[K]",
        &["v input m/s", "angle input rad", "T input K"],
        "",
    );
    let inner = format!(
        "<ssd:System name=\"Inner\">{}<ssd:Elements>{sensor}</ssd:Elements><ssd:Connections>{}{}{}</ssd:Connections></ssd:System>",
        connectors_of(&["v input", "angle input", "T input degC"]),
        connection("v", "sensor.v", ""),
        connection("angle", "sensor.angle", ""),
        connection("T", "sensor.T", ""),
    );
    let outer = format!(
        "<ssd:System name=\"Outer\">{}<ssd:Elements>{inner}</ssd:Elements><ssd:Connections>{}{}{}</ssd:Connections></ssd:System>",
        connectors_of(&["v input", "angle input", "T input"]),
        connection("v", "Inner.v", ""),
        connection("Inner.angle", "angle", ""), // start and end say nothing about the direction
        connection("T", "Inner.T", ""),
    );
    let car = component(
        "car",
        "tap:v=36+36 angle=180 T=20+1|",
        &["v output km/h", "angle output deg", "T output degC"],
        "",
    );
    let connections = format!(
        "{}{}{}",
        connection("car.v", "Outer.v", ""),
        connection("car.angle", "Outer.angle", ""),
        connection("car.T", "Outer.T", "")
    );
    let inside =
        format!("<ssd:Elements>{car}{outer}</ssd:Elements><ssd:Connections>{connections}</ssd:Connections>");
    let path = written("nested", &[("SystemStructure.ssd", &ssd(&inside, &format!("{UNITS}{EXPERIMENT}")))]);
    let mut run = run(&path);
    close(&run, "Outer.Inner.sensor.v.seen", 10.0);
    close(&run, "Outer.Inner.sensor.angle.seen", std::f64::consts::PI);
    close(&run, "Outer.Inner.sensor.T.seen", 293.15);
    to(&mut run, 1.0);
    // Held inputs, four steps: those of t = 0.75.
    close(&run, "Outer.Inner.sensor.v.seen", 17.5);
    close(&run, "Outer.Inner.sensor.T.seen", 293.9);
}

#[test]
fn transformations_come_after_the_conversion_at_every_connection() {
    // 20 degC -> K, times 2, plus 1 at the first connection; back to degC, times 10 at the second.
    let inner = component("b", "tap:|T[degC]", &["T input degC"], "");
    let sub = format!(
        "<ssd:System name=\"S\">{}<ssd:Elements>{inner}</ssd:Elements><ssd:Connections>{}</ssd:Connections></ssd:System>",
        connectors_of(&["T input K"]),
        connection("T", "b.T", "<ssc:LinearTransformation factor=\"10\"/>")
    );
    let direct = component("c", "tap:|T[K] w[K]", &["T input K", "w input K"], "");
    let a = component("a", "tap:T=20|", &["T output degC"], "");
    let inside = format!(
        "<ssd:Elements>{a}{sub}{direct}</ssd:Elements><ssd:Connections>{}{}{}</ssd:Connections>",
        connection("a.T", "S.T", "<ssc:LinearTransformation factor=\"2\" offset=\"1\"/>"),
        connection("a.T", "c.T", "<ssc:LinearTransformation factor=\"2\" offset=\"1\"/>"),
        connection("a.T", "c.w", "<ssc:LinearTransformation factor=\"2\" offset=\"1\"/>")
            .replace("<ssd:Connection ", "<ssd:Connection suppressUnitConversion=\"true\" "),
    );
    let path = written("transformed", &[("a.ssd", &ssd(&inside, &format!("{UNITS}{EXPERIMENT}")))]);
    let run = run(&path);
    let kelvin = 2.0 * 293.15 + 1.0;
    close(&run, "S.b.T.seen", 10.0 * (kelvin - 273.15));
    close(&run, "c.T.seen", kelvin);
    close(&run, "c.w.seen", 41.0);
}

#[test]
fn maps_of_flags_numbers_and_items() {
    let enumerations = "<ssd:Enumerations><ssc:Enumeration name=\"Gear\"><ssc:Item name=\"park\" value=\"0\"/>\
         <ssc:Item name=\"drive\" value=\"3\"/></ssc:Enumeration><ssc:Enumeration name=\"Lamp\">\
         <ssc:Item name=\"off\" value=\"7\"/><ssc:Item name=\"on\" value=\"8\"/></ssc:Enumeration></ssd:Enumerations>";
    let gear = "<ssc:Enumeration name=\"Gear\"/>";
    let typed = |name: &str, kind: &str, of: &str| {
        format!("<ssd:Connector name=\"{name}\" kind=\"{kind}\">{of}</ssd:Connector>")
    };
    let a = format!(
        "<ssd:Component name=\"a\" type=\"application/x-cosimo-native\" source=\"tap:b=1 i=2 g=3|\"><ssd:Connectors>{}{}{}</ssd:Connectors></ssd:Component>",
        typed("b", "output", "<ssc:Boolean/>"),
        typed("i", "output", "<ssc:Integer/>"),
        typed("g", "output", gear)
    );
    let b = format!(
        "<ssd:Component name=\"b\" type=\"application/x-cosimo-native\" source=\"tap:|b i g\"><ssd:Connectors>{}{}{}</ssd:Connectors></ssd:Component>",
        typed("b", "input", "<ssc:Boolean/>"),
        typed("i", "input", "<ssc:Integer/>"),
        typed("g", "input", "<ssc:Enumeration name=\"Lamp\"/>")
    );
    let inside = format!(
        "<ssd:Elements>{a}{b}</ssd:Elements><ssd:Connections>{}{}{}</ssd:Connections>",
        connection(
            "a.b",
            "b.b",
            "<ssc:BooleanMappingTransformation><ssc:MapEntry source=\"true\" target=\"false\"/><ssc:MapEntry source=\"false\" target=\"true\"/></ssc:BooleanMappingTransformation>"
        ),
        connection(
            "a.i",
            "b.i",
            "<ssc:IntegerMappingTransformation><ssc:MapEntry source=\"2\" target=\"-5\"/></ssc:IntegerMappingTransformation>"
        ),
        connection(
            "a.g",
            "b.g",
            "<ssc:EnumerationMappingTransformation><ssc:MapEntry source=\"park\" target=\"off\"/><ssc:MapEntry source=\"drive\" target=\"on\"/></ssc:EnumerationMappingTransformation>"
        ),
    );
    let path = written("maps", &[("a.ssd", &ssd(&inside, &format!("{enumerations}{EXPERIMENT}")))]);
    let run = run(&path);
    close(&run, "b.b.seen", 0.0);
    close(&run, "b.i.seen", -5.0);
    close(&run, "b.g.seen", 8.0);
}

#[test]
fn outer_bindings_beat_inner_ones_and_later_ones_earlier_ones() {
    let inner = component(
        "c",
        "tap:x=1 y=1 z=1 w=1|",
        &[],
        &values(&format!("{}{}{}", real("x.start", "2"), real("y.start", "2"), real("w.start", "2"))),
    );
    let sub = format!(
        "<ssd:System name=\"S\">{}<ssd:Elements>{inner}</ssd:Elements></ssd:System>",
        values(&format!("{}{}", real("c.x.start", "3"), real("c.z.start", "3")))
    );
    let top = values(&format!("{}{}", real("S.c.x.start", "4"), real("S.c.y.start", "5"))).replace(
        "</ssd:ParameterBindings>",
        &values(&real("S.c.y.start", "6")).replace("<ssd:ParameterBindings>", ""),
    );
    let inside = format!("{top}<ssd:Elements>{sub}</ssd:Elements>");
    let path = written("precedence", &[("a.ssd", &ssd(&inside, EXPERIMENT))]);
    let run = run(&path);
    close(&run, "S.c.x", 4.0); // the outermost
    close(&run, "S.c.y", 6.0); // the later one of the outermost
    close(&run, "S.c.z", 3.0); // the system before the component
    close(&run, "S.c.w", 2.0);
}

#[test]
fn parameters_come_from_files_with_prefix_mapping_and_units() {
    let ssv = r#"<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0" name="p">
<ssv:Parameters>
  <ssv:Parameter name="cruise"><ssv:Real value="72" unit="km/h"/></ssv:Parameter>
  <ssv:Parameter name="room"><ssv:Real value="20" unit="degC"/></ssv:Parameter>
  <ssv:Parameter name="spare"><ssv:Real value="1"/></ssv:Parameter>
</ssv:Parameters>
<ssv:Units><ssc:Unit name="km/h"><ssc:BaseUnit m="1" s="-1" factor="0.2777777777777778"/></ssc:Unit>
<ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit></ssv:Units>
</ssv:ParameterSet>"#;
    let ssm = r#"<ssm:ParameterMapping xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0">
<ssm:MappingEntry source="S.cruise" target="S.c.v.start"><ssc:LinearTransformation factor="0.5" offset="1"/></ssm:MappingEntry>
<ssm:MappingEntry source="S.room" target="S.heat"/>
</ssm:ParameterMapping>"#;
    // The temperature goes to a connector of the system, from there to an unconnected input.
    let c = component("c", "tap:v=1|T", &["v.start parameter m/s", "v output", "T input K"], "");
    let sub = format!(
        "<ssd:System name=\"S\">{}<ssd:Elements>{c}</ssd:Elements><ssd:Connections>{}</ssd:Connections></ssd:System>",
        connectors_of(&["heat input degC"]),
        connection("heat", "c.T", "")
    );
    let binding = "<ssd:ParameterBindings><ssd:ParameterBinding source=\"resources/p.ssv\" prefix=\"S.\">\
                   <ssd:ParameterMapping source=\"resources/p.ssm\"/></ssd:ParameterBinding></ssd:ParameterBindings>";
    let inside = format!("{binding}<ssd:Elements>{sub}</ssd:Elements>");
    let path = written(
        "parameters",
        &[
            ("a.ssd", &ssd(&inside, &format!("{UNITS}{EXPERIMENT}"))),
            ("resources/p.ssv", ssv),
            ("resources/p.ssm", ssm),
        ],
    );
    let run = run(&path);
    close(&run, "S.c.v", 0.5 * 20.0 + 1.0);
    close(&run, "S.c.T.seen", 293.15);
    let said = warnings(&path);
    assert_eq!(said, ["the mapping has no entry for `S.spare`; unmapped parameters are not set"]);
}

#[test]
fn without_a_connector_the_unit_of_the_parameter_itself_counts() {
    let given = |unit: &str| {
        let set = format!(
            "<ssv:Parameter name=\"T.start\"><ssv:Real value=\"20\" unit=\"{unit}\"/></ssv:Parameter>"
        );
        let units = "</ssv:Parameters><ssv:Units><ssc:Unit name=\"C\"><ssc:BaseUnit K=\"1\" offset=\"273.15\"/></ssc:Unit>\
                     <ssc:Unit name=\"h\"><ssc:BaseUnit s=\"1\" factor=\"3600\"/></ssc:Unit></ssv:Units>";
        let c = component("c", "tap:T[K]=1 x=1|", &[], &values(&set).replace("</ssv:Parameters>", units));
        written(unit, &[("a.ssd", &ssd(&format!("<ssd:Elements>{c}</ssd:Elements>"), EXPERIMENT))])
    };
    close(&run(&given("C")), "c.T", 293.15);
    let wrong = "the value [h] cannot be set to `c.T.start` [K]: the dimensions differ";
    assert_eq!(warnings(&given("h")), [wrong]);
}

#[test]
fn parameters_of_systems_go_on_to_their_components() {
    let c = component("c", "tap:y=1|", &["y.start parameter", "y output"], "");
    let d = component("d", "tap:y=1|", &["y.start parameter", "y output"], "");
    let sub = format!(
        "<ssd:System name=\"S\">{}<ssd:Elements>{c}{d}</ssd:Elements><ssd:Connections>{}{}</ssd:Connections></ssd:System>",
        connectors_of(&["mass parameter"]),
        connection("mass", "c.y.start", ""),
        connection("mass", "d.y.start", "<ssc:LinearTransformation factor=\"3\"/>"),
    );
    let inside = format!("{}<ssd:Elements>{sub}</ssd:Elements>", values(&real("S.mass", "5")));
    let path = written("system-parameters", &[("a.ssd", &ssd(&inside, EXPERIMENT))]);
    let run = run(&path);
    close(&run, "S.c.y", 5.0);
    close(&run, "S.d.y", 15.0);
}

#[test]
fn start_values_reach_inputs_that_nobody_drives() {
    let a = component("a", "tap:y=5|", &["y output"], "");
    let list = format!("{}{}", real("u", "7"), real("w", "8"));
    let b = component("b", "tap:|u w", &["u input", "w input"], &values(&list));
    let inside = format!(
        "<ssd:Elements>{a}{b}</ssd:Elements><ssd:Connections>{}</ssd:Connections>",
        connection("a.y", "b.u", "")
    );
    let path = written("starts", &[("a.ssd", &ssd(&inside, EXPERIMENT))]);
    let run = run(&path);
    close(&run, "b.u.seen", 5.0);
    close(&run, "b.w.seen", 8.0);
    assert_eq!(warnings(&path), ["`b.u` is connected; its start value has no effect"]);
}

#[test]
fn signal_dictionaries_join_what_refers_to_them() {
    let dictionary = r#"<ssb:SignalDictionary xmlns:ssb="http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"
 xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0">
 <ssb:DictionaryEntry name="speed"><ssc:Real unit="m/s"/></ssb:DictionaryEntry>
 <ssb:Units><ssc:Unit name="m/s"><ssc:BaseUnit m="1" s="-1"/></ssc:Unit></ssb:Units></ssb:SignalDictionary>"#;
    let reference = |name: &str, kind: &str| {
        format!(
            "<ssd:SignalDictionaryReference name=\"{name}\" dictionary=\"bus\"><ssd:Connectors>\
             <ssd:Connector name=\"speed\" kind=\"{kind}\"/></ssd:Connectors></ssd:SignalDictionaryReference>"
        )
    };
    let a = component("a", "tap:v=36|", &["v output km/h"], "");
    let b = component("b", "tap:|v[m/s]", &["v input m/s"], "");
    let sub = format!(
        "<ssd:System name=\"S\"><ssd:Elements>{b}{}</ssd:Elements><ssd:Connections>{}</ssd:Connections></ssd:System>",
        reference("bus", "inout"),
        connection("bus.speed", "b.v", "")
    );
    let inside = format!(
        "<ssd:Elements>{a}{}{sub}</ssd:Elements><ssd:Connections>{}</ssd:Connections>\
         <ssd:SignalDictionaries><ssd:SignalDictionary name=\"bus\" source=\"bus.ssb\"/></ssd:SignalDictionaries>",
        reference("access", "inout"),
        connection("a.v", "access.speed", "")
    );
    let path = written(
        "dictionary",
        &[("a.ssd", &ssd(&inside, &format!("{UNITS}{EXPERIMENT}"))), ("bus.ssb", dictionary)],
    );
    close(&run(&path), "S.b.v.seen", 10.0);
}

#[test]
fn systems_are_used_by_reference() {
    let c = component("c", "tap:y=1|u", &["y output", "u input"], "");
    let definition = format!(
        "<ssd:System name=\"S\" id=\"cell\">{}<ssd:Elements>{c}</ssd:Elements><ssd:Connections>{}{}</ssd:Connections></ssd:System>",
        connectors_of(&["in input", "out output"]),
        connection("in", "c.u", ""),
        connection("c.y", "out", "")
    );
    let again = "<ssd:Component name=\"T\" type=\"application/x-ssp-definition\" source=\"#cell\"><ssd:ParameterBindings>\
         <ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version=\"1.0\" name=\"p\"><ssv:Parameters>\
         <ssv:Parameter name=\"c.y.start\"><ssv:Real value=\"9\"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>\
         </ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings></ssd:Component>";
    let inside = format!(
        "<ssd:Elements>{again}{definition}</ssd:Elements><ssd:Connections>{}{}</ssd:Connections>",
        connection("S.out", "T.in", ""),
        connection("T.out", "S.in", "")
    );
    let path = written("by-reference", &[("a.ssd", &ssd(&inside, EXPERIMENT))]);
    let run = run(&path);
    close(&run, "T.c.u.seen", 1.0);
    close(&run, "S.c.u.seen", 9.0);
}

#[test]
fn arrays_of_ssp_2_are_joined_element_by_element() {
    let array = |name: &str, kind: &str| {
        format!(
            "<ssd:Connectors><ssd:Connector name=\"{name}\" kind=\"{kind}\"><ssc:Float64/><ssc:Dimension size=\"2\"/>\
             </ssd:Connector></ssd:Connectors>"
        )
    };
    let one = |name: &str, source: &str, connectors: String| {
        format!(
            "<ssd:Component name=\"{name}\" type=\"application/x-cosimo-native\" source=\"{source}\">{connectors}</ssd:Component>"
        )
    };
    let a = one("a", "tap:q[1]=4 q[2]=5|", array("q", "output"));
    let b = one("b", "tap:|w[1] w[2]", array("w", "input"));
    let inside = format!(
        "<ssd:Elements>{a}{b}</ssd:Elements><ssd:Connections>{}</ssd:Connections>",
        connection("a.q", "b.w", "")
    );
    let text =
        ssd(&inside, EXPERIMENT).replace("version=\"1.0\" name=\"test\"", "version=\"2.0\" name=\"test\"");
    let wires = system(&written("arrays", &[("a.ssd", &text)])).connections;
    let ends: Vec<(&str, &str)> =
        wires.iter().map(|wire| (wire.from[0].port.0.as_str(), wire.to.0.as_str())).collect();
    assert_eq!(ends, [("a.q[1]", "b.w[1]"), ("a.q[2]", "b.w[2]")]);
}

#[test]
fn values_of_every_type_become_parameters() {
    let list = "<ssv:Parameter name=\"i\"><ssv:Integer value=\"3\"/></ssv:Parameter>\
                <ssv:Parameter name=\"b\"><ssv:Boolean value=\"1\"/></ssv:Parameter>\
                <ssv:Parameter name=\"s\"><ssv:String value=\"a &lt; b\"/></ssv:Parameter>\
                <ssv:Parameter name=\"e\"><ssv:Enumeration value=\"drive\"/></ssv:Parameter>\
                <ssv:Parameter name=\"l\"><ssv:Float64 value=\"1 2.5\"/></ssv:Parameter>";
    let names = ["i parameter", "b parameter", "s parameter", "e parameter", "l parameter"];
    let c = component("c", "tap:y=1|", &names, &values(list));
    let path = written("types", &[("a.ssd", &ssd(&format!("<ssd:Elements>{c}</ssd:Elements>"), EXPERIMENT))]);
    let system = system(&path);
    let found: Vec<(&str, &Value)> =
        system.components[0].parameters.iter().map(|(name, value, _)| (name.as_str(), value)).collect();
    let numbers = Value::List(vec![Value::Number(1.0), Value::Number(2.5)]);
    assert_eq!(
        found,
        [
            ("i", &Value::Number(3.0)),
            ("b", &Value::Flag(true)),
            ("s", &Value::Text("a < b".into())),
            ("e", &Value::Text("drive".into())),
            ("l", &numbers),
        ]
    );
}
