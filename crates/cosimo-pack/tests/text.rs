//! Texts of files from outside.

use cosimo_pack::text::unescaped;

#[test]
fn escapes_of_uris_are_read() {
    assert_eq!(unescaped("resources/my%20unit.fmu").as_deref(), Some("resources/my unit.fmu"));
    assert_eq!(unescaped("gr%C3%B6%C3%9Fe").as_deref(), Some("größe"));
    for bad in ["%", "%2", "%zz", "%ff"] {
        assert_eq!(unescaped(bad), None, "{bad}");
    }
}
