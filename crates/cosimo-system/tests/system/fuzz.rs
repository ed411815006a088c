//! Reading returns for any text, with spans inside the text and on character boundaries.

use proptest::prelude::*;

use super::{FULL, read, registry};

fn check(text: &str) {
    let (mut system, problems) = read(text);
    for problem in problems {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?} in {text:?}");
    }
    let _ = cosimo_system::write::to_toml(&system);
    let overrides = cosimo_system::Overrides {
        tolerance: Some(1e-3),
        sets: vec![text.into(), format!("a={text}"), format!("wheel.{text}=1")],
        methods: vec![text.into(), format!("input={text}"), format!("controller={{ pi = {text} }}")],
        ..Default::default()
    };
    let _ = cosimo_system::overrides::apply(&mut system, &overrides, &registry::registry());
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn text_of_the_letters_toml_is_made_of(text in "[\\[\\]{}.=,\"'# \\n\\\\_a-c0-9é-]{0,60}") {
        check(&text);
    }

    #[test]
    fn a_good_file_with_a_piece_replaced(
        start in 0..FULL.len(),
        length in 0usize..40,
        piece in prop_oneof![
            "[\\[\\]{}.=,\"'# \\n\\\\a-cé]{0,8}",
            prop::sample::select(vec!["nan", "[[", "]]", "{}", "[]", "true", "1e999", "\"\"", "2020-01-01", "\u{0}"])
                .prop_map(String::from),
        ],
    ) {
        let end = (start + length).min(FULL.len());
        check(&format!("{}{piece}{}", &FULL[..start], &FULL[end..]));
    }

    #[test]
    fn a_good_file_with_two_lines_exchanged(first in 0usize..60, second in 0usize..60) {
        let mut lines: Vec<&str> = FULL.lines().collect();
        let last = lines.len() - 1;
        lines.swap(first.min(last), second.min(last));
        check(&lines.join("\n"));
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn deep_nesting_ends() {
    check(&format!("a = {}", "[".repeat(5000)));
    check(&format!("[component.a]\nparameters = {}", "{ a = ".repeat(5000)));
    check(&format!("[{}]", vec!["component"; 5000].join(".")));
}
