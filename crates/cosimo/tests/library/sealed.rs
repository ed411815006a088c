//! The checksum of a certificate.

use cosimo::certificate::{CertificateData, Source, unchanged, with_seal};

#[test]
fn every_changed_byte_is_noticed() {
    let odd = Source { file: "\"checksum\": \"".into(), sha256: "0".repeat(64) };
    let text = with_seal(CertificateData { inputs: vec![odd], ..CertificateData::default() });
    assert!(unchanged(&text).pass, "{text}");
    for at in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[at] ^= 1;
        let Ok(changed) = String::from_utf8(changed) else { continue };
        assert!(!unchanged(&changed).pass, "byte {at}");
    }
    assert!(!unchanged("{}").pass);
}
