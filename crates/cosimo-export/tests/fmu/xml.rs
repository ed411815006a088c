//! The descriptions: well-formed, complete, stable, and true to the model.

use std::collections::BTreeSet;

use cosimo_test_fmus::{
    CLOCKS, Design, InterfaceType, SABOTEUR, Variant, Version, exchange_sources, model_description, sources,
};
use roxmltree::{Document, Node};

fn designs() -> Vec<Design> {
    let mut designs = Vec::new();
    let all = sources().into_iter().chain([SABOTEUR.to_owned()]);
    for source in all {
        for version in Version::ALL {
            for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_in(version)) {
                designs.push(Design::new(&source, version).variant(variant));
                designs.push(Design::new(&source, version).variant(variant).spying());
            }
        }
    }
    designs
}

/// With states: for model exchange, and for both kinds.
fn exchange_designs() -> Vec<Design> {
    let mut designs = Vec::new();
    for source in exchange_sources() {
        for (version, kind) in Version::ALL.into_iter().flat_map(|v| InterfaceType::ALL.map(|kind| (v, kind)))
        {
            for variant in Variant::ALL.into_iter().filter(|variant| variant.exists_for(kind, version)) {
                designs.push(Design::new(&source, version).kind(kind).variant(variant));
            }
        }
    }
    let solved_here = sources();
    designs.retain(|design| match design.kind {
        InterfaceType::CoSimulation => false,
        InterfaceType::ModelExchange => true,
        InterfaceType::Both => solved_here.contains(&design.source),
    });
    designs
}

fn child<'a>(node: Node<'a, 'a>, name: &str) -> Node<'a, 'a> {
    node.children().find(|child| child.has_tag_name(name)).unwrap_or_else(|| panic!("no {name}"))
}

fn elements<'a>(node: Node<'a, 'a>) -> Vec<Node<'a, 'a>> {
    node.children().filter(|child| child.is_element()).collect()
}

fn numbers(text: &str) -> Vec<usize> {
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn every_description_holds_together() {
    let mut tokens = BTreeSet::new();
    for design in designs() {
        let text = model_description(&design).unwrap();
        assert_eq!(model_description(&design).unwrap(), text, "equal models give equal files");
        let document = Document::parse(&text).unwrap();
        let root = document.root_element();
        let two = design.version == Version::Two;
        assert_eq!(root.attribute("fmiVersion"), Some(design.version.text()));
        let token = root.attribute(if two { "guid" } else { "instantiationToken" }).unwrap();
        assert!(token.len() == 38 && tokens.insert(token.to_owned()), "{token} of {}", design.name());
        let identifier = child(root, "CoSimulation").attribute("modelIdentifier").unwrap();
        assert!(identifier.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));

        let units: Vec<&str> = elements(child(root, "UnitDefinitions"))
            .iter()
            .filter_map(|unit| unit.attribute("name"))
            .collect();
        let variables = elements(child(root, "ModelVariables"));
        let names: BTreeSet<_> =
            variables.iter().map(|variable| variable.attribute("name").unwrap()).collect();
        assert_eq!(names.len(), variables.len(), "names are unique in {}", design.name());
        for (index, variable) in variables.iter().enumerate() {
            let typed = if two { elements(*variable)[0] } else { *variable };
            assert_eq!(variable.attribute("valueReference"), Some(index.to_string().as_str()));
            if let Some(unit) = typed.attribute("unit") {
                assert!(units.contains(&unit), "{unit}");
            }
            let text = typed.has_tag_name("String");
            let starts = typed.attribute("start").is_some() || text;
            let wanted = matches!(variable.attribute("causality"), Some("input" | "parameter"));
            assert_eq!(starts, wanted, "{:?} of {}", variable.attribute("name"), design.name());
        }

        let structure = child(root, "ModelStructure");
        let list = |two_name: &str, three_name: &str| -> Vec<(usize, Vec<usize>)> {
            let nodes: Vec<Node<'_, '_>> = if two {
                elements(child(structure, two_name))
            } else {
                elements(structure).into_iter().filter(|node| node.has_tag_name(three_name)).collect()
            };
            let key = if two { "index" } else { "valueReference" };
            let offset = usize::from(two);
            let unknown = |node: &Node<'_, '_>| {
                let at: usize = node.attribute(key).unwrap().parse().unwrap();
                let known = numbers(node.attribute("dependencies").unwrap());
                (at - offset, known.iter().map(|at| at - offset).collect())
            };
            nodes.iter().map(unknown).collect()
        };
        let causality = |at: usize| variables[at].attribute("causality").unwrap();
        let shown: Vec<usize> = (0..variables.len()).filter(|at| causality(*at) == "output").collect();
        for (name, list) in
            [("outputs", list("Outputs", "Output")), ("unknowns", list("InitialUnknowns", "InitialUnknown"))]
        {
            assert_eq!(list.iter().map(|(at, _)| *at).collect::<Vec<_>>(), shown, "{name}");
            for (_, known) in list {
                assert!(
                    known.is_sorted()
                        && known.iter().all(|at| matches!(causality(*at), "input" | "parameter"))
                );
                assert!(name != "outputs" || known.iter().all(|at| causality(*at) == "input"));
            }
        }
    }
}

/// States, derivatives and indicators of model exchange refer to each other as the standard says.
#[test]
fn states_and_their_derivatives_are_told() {
    for design in exchange_designs() {
        let text = model_description(&design).unwrap();
        let document = Document::parse(&text).unwrap();
        let root = document.root_element();
        let two = design.version == Version::Two;
        let offers = |name: &str| root.children().any(|node| node.has_tag_name(name));
        assert_eq!(
            (offers("ModelExchange"), offers("CoSimulation")),
            (true, design.kind == InterfaceType::Both)
        );
        let variables = elements(child(root, "ModelVariables"));
        let typed = |at: usize| if two { elements(variables[at])[0] } else { variables[at] };
        let structure = child(root, "ModelStructure");
        let nodes = |two_name: &str, three_name: &str| -> Vec<Node<'_, '_>> {
            let list = structure.children().find(|node| node.has_tag_name(two_name));
            match two {
                true => list.map_or(vec![], elements),
                false => {
                    elements(structure).into_iter().filter(|node| node.has_tag_name(three_name)).collect()
                }
            }
        };
        let offset = usize::from(two);
        let at = |node: &Node<'_, '_>| -> usize {
            let key = if two { "index" } else { "valueReference" };
            node.attribute(key).unwrap().parse::<usize>().unwrap() - offset
        };
        let mut states = BTreeSet::new();
        let derivatives = nodes("Derivatives", "ContinuousStateDerivative");
        for node in &derivatives {
            let derivative = at(node);
            let state: usize = typed(derivative).attribute("derivative").unwrap().parse().unwrap();
            let (state, derivative) = (variables[state - offset], variables[derivative]);
            let name = format!("der({})", state.attribute("name").unwrap());
            assert_eq!(derivative.attribute("name"), Some(name.as_str()), "{}", design.name());
            assert_eq!(derivative.attribute("variability"), Some("continuous"));
            states.insert(state.attribute("valueReference").unwrap().parse::<usize>().unwrap());
            for known in numbers(node.attribute("dependencies").unwrap()) {
                let known = variables[known - offset];
                let reference = known.attribute("valueReference").unwrap().parse::<usize>().unwrap();
                let input = known.attribute("causality") == Some("input");
                assert!(input || derivatives.len() > states.len() || states.contains(&reference));
            }
        }
        assert_eq!(states.len(), derivatives.len(), "one state each in {}", design.name());
        let with_attribute =
            (0..variables.len()).filter(|place| typed(*place).attribute("derivative").is_some()).count();
        assert_eq!(with_attribute, derivatives.len());
        // All that is worked out at the start, once and in order, and nothing else.
        let unknowns: Vec<usize> = nodes("InitialUnknowns", "InitialUnknown").iter().map(at).collect();
        let calculated = |place: &usize| {
            let indicator = variables[*place].attribute("name").unwrap().starts_with("indicator_");
            variables[*place].attribute("initial") == Some("calculated") && !indicator
        };
        assert_eq!(
            unknowns,
            (0..variables.len()).filter(calculated).collect::<Vec<_>>(),
            "{}",
            design.name()
        );
        // Parameters of the inner solver are of no use to another.
        let solved_here = variables.iter().any(|variable| variable.attribute("name") == Some("micro_steps"));
        assert!(!solved_here || design.kind == InterfaceType::Both, "{}", design.name());
    }
}

#[test]
fn variants_declare_what_they_can_do() {
    let flag = |variant: Variant, version: Version, name: &str| {
        let design = Design::new("native:dual-mass/left-force", version).variant(variant);
        let text = model_description(&design).unwrap();
        let document = Document::parse(&text).unwrap();
        let node = child(document.root_element(), "CoSimulation");
        node.attribute(name).unwrap_or_else(|| panic!("{name}")) == "true"
    };
    for (version, state) in [(Version::Two, "FMUstate"), (Version::Three, "FMUState")] {
        for what in ["canGetAndSet", "canSerialize"] {
            let name = format!("{what}{state}");
            assert!(flag(Variant::Plain, version, &name));
            assert!(!flag(Variant::NoRollback, version, &name));
        }
        let name = "canHandleVariableCommunicationStepSize";
        assert!(flag(Variant::Plain, version, name) && !flag(Variant::FixedStep, version, name));
    }
    assert!(!flag(Variant::Plain, Version::Two, "canInterpolateInputs"));
    assert!(flag(Variant::Interpolates, Version::Two, "canInterpolateInputs"));
    assert!(!flag(Variant::Plain, Version::Three, "providesIntermediateUpdate"));
    assert!(flag(Variant::Intermediate, Version::Three, "providesIntermediateUpdate"));
    let exchange = |variant: Variant, version: Version, name: &str| {
        let text = model_description(&Design::exchange("native:rc-rl/rc", version).variant(variant)).unwrap();
        let document = Document::parse(&text).unwrap();
        let node = child(document.root_element(), "ModelExchange");
        node.attribute(name).unwrap_or_else(|| panic!("{name}")) == "true"
    };
    for (variant, needed) in
        [(Variant::Plain, false), (Variant::Completed, true), (Variant::StepEvents, true)]
    {
        assert_eq!(exchange(variant, Version::Two, "completedIntegratorStepNotNeeded"), !needed);
        assert_eq!(exchange(variant, Version::Three, "needsCompletedIntegratorStep"), needed);
    }
    for variant in [Variant::Plain, Variant::NoDerivatives] {
        let offers = variant == Variant::Plain;
        assert_eq!(exchange(variant, Version::Two, "providesDirectionalDerivative"), offers);
        assert_eq!(exchange(variant, Version::Three, "providesDirectionalDerivatives"), offers);
        assert_eq!(exchange(variant, Version::Three, "providesAdjointDerivatives"), offers);
    }
    let wrong = Design::exchange("native:rc-rl/rc", Version::Two).variant(Variant::FixedStep);
    let error = model_description(&wrong).unwrap_err();
    assert_eq!(error, "the variant `fixedstep` does not exist in FMI 2.0 for model exchange");
    let wrong = Design::new("native:thermostat", Version::Two);
    let error = model_description(&wrong).unwrap_err();
    assert_eq!(error, "`native:thermostat` is available for model exchange only");
    // Only where there is nothing to solve can events be handled between steps.
    for (source, has) in [("native:stair", "true"), ("native:rc-rl/rc", "false")] {
        let text = model_description(&Design::new(source, Version::Three)).unwrap();
        for flag in ["hasEventMode", "mightReturnEarlyFromDoStep"] {
            assert!(text.contains(&format!("{flag}=\"{has}\"")), "{text}");
        }
    }
    let wrong = Design::new(CLOCKS, Version::Two);
    let error = model_description(&wrong).unwrap_err();
    assert_eq!(error, "`test:clocks` is available for co-simulation in FMI 3.0 only");
    let wrong = Design::exchange("native:ring/rotor", Version::Two);
    assert_eq!(model_description(&wrong).unwrap_err(), "`native:ring/rotor` has no equations");
    let wrong = Design::new("native:rc-rl/rc", Version::Three).variant(Variant::Interpolates);
    let error = model_description(&wrong).unwrap_err();
    assert_eq!(error, "the variant `interpolates` does not exist in FMI 3.0");
    let unknown = Design::new("native:rc-rl/cr", Version::Three);
    assert_eq!(model_description(&unknown).unwrap_err(), "there is no model `native:rc-rl/cr`");
}

#[test]
fn feedthrough_units_and_doubled_names_are_told() {
    let text = model_description(&Design::new("native:quarter-car/wheel-strut", Version::Three)).unwrap();
    for line in [
        r#"<Output valueReference="2" dependencies="1"/>"#,
        r#"<Output valueReference="3" dependencies=""/>"#,
        r#"<BaseUnit kg="1" m="1" s="-2"/>"#,
        r#"<Int32 name="micro_steps" valueReference="14""#,
        r#"causality="parameter" variability="fixed" min="1" start="10"/>"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = model_description(&Design::new("native:ring/rotor", Version::Two)).unwrap();
    for name in ["a_in", "b_in", "a_out", "b_out"] {
        assert!(text.contains(&format!("name=\"{name}\"")), "{text}");
    }
}
