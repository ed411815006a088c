use cosimo_core::unit::{DOMAINS, POWER, Unit, describe};

/// Every unit that is known alone, as a number of SI units.
#[test]
fn factors_of_units() {
    let turn = std::f64::consts::TAU;
    for (text, factor) in [
        ("g", 1e-3),
        ("deg", turn / 360.0),
        ("rev", turn),
        ("%", 0.01),
        ("bar", 1e5),
        ("l", 1e-3),
        ("min", 60.0),
        ("h", 3600.0),
        ("rpm", turn / 60.0),
        ("pF", 1e-12),
        ("nm", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("cm2", 1e-4),
        ("dm^3", 1e-3),
        ("hPa", 1e2),
        ("MW", 1e6),
        ("mbar", 1e2),
        ("ml", 1e-6),
        ("mdeg", 1e-3 * turn / 360.0),
        ("GPa", 1e9),
        ("kg/(l.min)", 1e3 / 60.0),
        ("1/(m/s)", 1.0),
        ("degF", 5.0 / 9.0),
    ] {
        let unit = Unit::parse(text).unwrap();
        assert!((unit.factor / factor - 1.0).abs() < 1e-14, "{text}: {}", unit.factor);
    }
    assert!((Unit::parse("degF").unwrap().offset - 459.67 / 1.8).abs() < 1e-10);
}

#[test]
fn dimensions_are_described_in_base_units() {
    for (text, described) in [
        ("N", "kg m s^-2"),
        ("V", "kg m^2 s^-3 A^-1"),
        ("H", "kg m^2 s^-2 A^-2"),
        ("F", "kg^-1 m^-2 s^4 A^2"),
        ("rad", "1"),
        ("1/(mol.cd)", "mol^-1 cd^-1"),
        ("m/s/s", "m s^-2"),
        ("m/(s2/kg)", "kg m s^-2"),
    ] {
        assert_eq!(describe(Unit::parse(text).unwrap().dimension), described, "{text}");
    }
}

#[test]
fn efforts_times_flows_are_powers() {
    for domain in DOMAINS {
        let product: Vec<i8> = domain.effort.iter().zip(domain.flow).map(|(e, f)| e + f).collect();
        assert_eq!(product, POWER, "{}", domain.words);
    }
}
