//! Types that variables refer to by name.

use std::collections::BTreeMap;

use cosimo_pack::xml::XmlReader;
use roxmltree::Node;

/// The types of a description, and the references to types that it lacks.
#[derive(Debug)]
pub(crate) struct DeclaredTypes<'a, 'input> {
    types: BTreeMap<&'a str, Node<'a, 'input>>,
    /// The first variable with such a reference, and how many there are.
    undeclared: Option<(Node<'a, 'input>, &'a str, usize)>,
}

impl<'a, 'input> DeclaredTypes<'a, 'input> {
    pub(crate) fn new(types: impl Iterator<Item = (&'a str, Node<'a, 'input>)>) -> Self {
        DeclaredTypes { types: types.collect(), undeclared: None }
    }

    /// The type of a variable, where it refers to one.
    pub(crate) fn of(&mut self, variable: Node<'a, 'input>) -> Option<Node<'a, 'input>> {
        let name = variable.attribute("declaredType")?;
        let found = self.types.get(name).copied();
        if found.is_none() {
            self.undeclared.get_or_insert((variable, name, 0)).2 += 1;
        }
        found
    }

    /// One warning for all references to types that are not declared: a single missing type may have thousands.
    pub(crate) fn warn(self, reader: &mut XmlReader<'_>) {
        let Some((variable, name, count)) = self.undeclared else { return };
        let others = match count - 1 {
            0 => String::new(),
            1 => ", as for 1 other variable".to_owned(),
            others => format!(", as for {others} other variables"),
        };
        let message = format!("type `{name}` is not declared in `<TypeDefinitions>`; it is ignored{others}");
        reader.warning(variable, message);
    }
}
