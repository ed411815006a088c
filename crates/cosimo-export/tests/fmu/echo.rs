//! A unit that shows its inputs again: every type of both versions arrives as it was sent.

use std::ptr::null_mut;

use cosimo_test_fmus::{Design, ECHO, Version};

use crate::load::Fmu;

fn echo(version: Version) -> Fmu {
    let fmu = Fmu::of(&Design::new(ECHO, version));
    fmu.start();
    fmu
}

#[test]
fn numbers_of_all_widths_come_back_to_the_last_bit() {
    let fmu = echo(Version::Three);
    assert_eq!(fmu.pass("Float32", "float32_in", f32::MIN_POSITIVE, "float32_out"), Ok(f32::MIN_POSITIVE));
    assert_eq!(fmu.pass("Float64", "float64_in", -0.1, "float64_out"), Ok(-0.1));
    for value in [i8::MIN, -1, i8::MAX] {
        assert_eq!(fmu.pass("Int8", "int8_in", value, "int8_out"), Ok(value));
    }
    assert_eq!(fmu.pass("UInt8", "uint8_in", u8::MAX, "uint8_out"), Ok(u8::MAX));
    assert_eq!(fmu.pass("Int16", "int16_in", i16::MIN, "int16_out"), Ok(i16::MIN));
    assert_eq!(fmu.pass("UInt16", "uint16_in", u16::MAX, "uint16_out"), Ok(u16::MAX));
    assert_eq!(fmu.pass("Int32", "int32_in", i32::MIN, "int32_out"), Ok(i32::MIN));
    assert_eq!(fmu.pass("UInt32", "uint32_in", u32::MAX, "uint32_out"), Ok(u32::MAX));
    for value in [i64::MIN, i64::MAX, (1 << 53) + 1] {
        assert_eq!(fmu.pass("Int64", "int64_in", value, "int64_out"), Ok(value));
    }
    assert_eq!(fmu.pass("UInt64", "uint64_in", u64::MAX, "uint64_out"), Ok(u64::MAX));
    assert_eq!(fmu.pass("Boolean", "boolean_in", true, "boolean_out"), Ok(true));
    assert_eq!(fmu.pass("Int64", "enumeration_in", 3i64, "enumeration_out"), Ok(3));
    assert!(fmu.environment.log.is_empty(), "{:?}", fmu.environment.log);
    // Steps change nothing, and what was not sent is still there.
    fmu.step(0.0, 1.0);
    assert_eq!(fmu.pass("Int8", "int8_in", 5i8, "int8_out"), Ok(5));
    assert_eq!((fmu.get("float64_out"), fmu.get_enumeration("enumeration_out")), (-0.1, 3));
}

#[test]
fn the_types_of_fmi_2_come_back() {
    let fmu = echo(Version::Two);
    fmu.set("float64_in", 1.5);
    assert_eq!((fmu.set_count("int32_in", -7), fmu.set_count("enumeration_in", 2)), (0, 0));
    assert_eq!((fmu.set_flag("boolean_in", true), fmu.set_text("string_in", "straße \u{1f6a2}")), (0, 0));
    assert_eq!((fmu.get("float64_out"), fmu.get_count("int32_out")), (1.5, -7));
    assert_eq!((fmu.get_count("enumeration_out"), fmu.get_flag("boolean_out")), (2, true));
    assert_eq!(fmu.get_text("string_out"), "straße \u{1f6a2}");
    assert_eq!(fmu.set_count("enumeration_in", 4), 3);
    assert!(fmu.last_log().ends_with("`enumeration_in` must be from 1 to 3, got 4"), "{}", fmu.last_log());
}

#[test]
fn texts_and_bytes_of_any_length_come_back() {
    let fmu = echo(Version::Three);
    assert_eq!((fmu.get_text("string_out"), fmu.get_bytes("binary_out")), (String::new(), Ok(vec![])));
    let long = "x".repeat(100_000);
    assert_eq!((fmu.set_text("string_in", &long), fmu.get_text("string_out") == long), (0, true));
    for bytes in [vec![0u8], vec![0, 255, 0, 10], vec![7; 1 << 20], vec![]] {
        assert_eq!((fmu.set_bytes("binary_in", &bytes), fmu.get_bytes("binary_out")), (0, Ok(bytes)));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let fmu = echo(Version::Three);
    assert_eq!(fmu.pass("Int8", "uint8_in", 1i8, "int8_out"), Err(3));
    assert!(fmu.last_log().ends_with("`uint8_in` has another type"), "{}", fmu.last_log());
    assert_eq!(fmu.pass("UInt8", "uint8_out", 1u8, "uint8_out"), Err(3));
    assert!(fmu.last_log().ends_with("`uint8_out` cannot be set"), "{}", fmu.last_log());
    assert_eq!(fmu.pass("Int64", "enumeration_in", 0i64, "enumeration_out"), Err(3));
    assert_eq!((fmu.set_bytes("string_in", b"a"), fmu.set_text("binary_in", "a")), (3, 3));
    assert_eq!(
        (fmu.get_bytes("string_out"), fmu.try_get("float32_out"), fmu.try_set("int8_in", 1.0)),
        (Err(3), Err(3), 3)
    );
    assert_eq!(fmu.get_enumeration("enumeration_out"), 1);
}

#[test]
fn states_carry_texts_and_bytes() {
    for version in Version::ALL {
        let fmu = echo(version);
        let three = version == Version::Three;
        assert_eq!(fmu.set_text("string_in", "before"), 0);
        assert!(!three || fmu.set_bytes("binary_in", &[1, 2, 3]) == 0);
        let mut state = null_mut();
        assert_eq!((fmu.get_state(&mut state), fmu.set_text("string_in", "after")), (0, 0));
        assert!(!three || fmu.set_bytes("binary_in", &[]) == 0);
        assert_eq!((fmu.set_state(state), fmu.get_text("string_out")), (0, "before".into()));
        assert!(!three || fmu.get_bytes("binary_out") == Ok(vec![1, 2, 3]));
        let (other, mut read) = (echo(version), null_mut());
        assert_eq!((other.deserialize(&fmu.serialize(state), &mut read), other.set_state(read)), (0, 0));
        assert_eq!(other.get_text("string_out"), "before");
        assert!(!three || other.get_bytes("binary_out") == Ok(vec![1, 2, 3]));
        assert_eq!((fmu.reset(), fmu.enter(0.0, None), fmu.get_text("string_out")), (0, 0, String::new()));
    }
}
