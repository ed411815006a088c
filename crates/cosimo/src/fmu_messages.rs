//! Log messages and warnings of FMUs; empty in a build without FMI.

use crate::certificate::FmuMessage;

/// Each kind of message as data, and in words.
#[cfg(feature = "fmi")]
pub(crate) fn fmu_messages() -> Vec<(FmuMessage, String)> {
    cosimo_fmi::messages().iter().map(|message| (data(message), message.to_string())).collect()
}

#[cfg(not(feature = "fmi"))]
pub(crate) fn fmu_messages() -> Vec<(FmuMessage, String)> {
    Vec::new()
}

#[cfg(feature = "fmi")]
fn data(message: &cosimo_fmi::Message) -> FmuMessage {
    use cosimo_fmi::MessageKind;
    let cosimo_fmi::Message { component, kind, count, first } = message;
    let (category, function) = match kind {
        MessageKind::Logged { category, .. } => (Some(category.clone()), None),
        MessageKind::Returned { function } => (None, Some(*function)),
    };
    FmuMessage {
        component: component.clone(),
        status: kind.status_word(),
        function,
        count: *count,
        first: category.as_ref().map(|_| first.clone()),
        category,
    }
}
