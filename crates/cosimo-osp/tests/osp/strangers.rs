//! What public structures do otherwise: names of files in other cases, and FMUs behind proxies.

use cosimo::export::{Design, Version, built_library, write};

use crate::{folder, good, read};

fn structure(source: &str, connections: &str) -> String {
    format!(
        "<OspSystemStructure xmlns=\"http://opensimulationplatform.com/MSMI/OSPSystemStructure\" version=\"0.1\">\
         <StartTime>0</StartTime><EndTime>1</EndTime><BaseStepSize>0.01</BaseStepSize><Simulators>\
         <Simulator name=\"mass\" source=\"{source}\"/><Simulator name=\"spring\" source=\"spring.fmu\"/></Simulators>\
         <Connections>{connections}</Connections></OspSystemStructure>"
    )
}

const GROUPS: &str = "<VariableGroupConnection><VariableGroup simulator=\"mass\" name=\"joint\"/>\
                      <VariableGroup simulator=\"spring\" name=\"joint\"/></VariableGroupConnection>";

fn parts(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    for (model, file) in
        [("native:oscillator/mass", "mass.fmu"), ("native:oscillator/spring-damper", "spring.fmu")]
    {
        write(&Design::new(model, Version::Two), &built_library().unwrap(), &folder.join(file)).unwrap();
    }
    folder
}

#[test]
fn a_proxy_on_this_computer_is_the_fmu_itself() {
    let (folder, registry) = (parts("proxy"), cosimo::registry());
    let (system, warnings) = good(&structure("proxyfmu://localhost?file=mass.fmu", ""), &folder, &registry);
    assert_eq!((system.components[0].source.as_str(), &warnings[..]), ("mass.fmu", &["osp/proxy"][..]));
    let (_, problems) = read(&structure("proxyfmu://ship:9090?file=mass.fmu", ""), &folder, &registry);
    let found = problems.iter().find(|problem| problem.code == "osp/source").unwrap();
    assert_eq!(found.message, "the FMU is on the computer `ship:9090`; FMUs are run on this computer only");
}

#[test]
fn group_descriptions_are_found_in_any_case_and_the_message_names_what_was_tried() {
    let (folder, registry) = (parts("groups"), cosimo::registry());
    let text = structure("mass.fmu", GROUPS);
    let (_, problems) = read(&text, &folder, &registry);
    let missing = problems.iter().find(|problem| problem.code == "osp/group").unwrap();
    assert_eq!(missing.message, "no file says which variables of `mass` are the group `joint`");
    let hint = missing.hint.as_deref().unwrap();
    assert!(hint.starts_with("looked for `") && hint.contains("`mass_OspModelDescription.xml`"), "{hint}");
    let groups = "<OspModelDescription><VariableGroups><Generic name=\"joint\"><Variable ref=\"F\"/><Variable ref=\"v\"/>\
                  </Generic></VariableGroups></OspModelDescription>";
    for file in ["MASS_ospmodeldescription.XML", "spring_OspModelDescription.xml"] {
        std::fs::write(folder.join(file), groups).unwrap();
    }
    let (system, _) = good(&text, &folder, &registry);
    assert_eq!(system.connections.len(), 2);
}
