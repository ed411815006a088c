//! What is written as XML reads back.

use cosimo_pack::XmlWriter;

#[test]
fn what_is_written_reads_back() {
    let odd = "a<b> & \"c\"\t'd'\r\n]]>";
    let mut xml = XmlWriter::new();
    xml.open("list").set("name", odd).set_some("none", None::<u8>).set_some("count", Some(2));
    xml.text("item", odd);
    xml.leaf("item").set("number", 0.5);
    let text = xml.finish();
    let read = roxmltree::Document::parse(&text).unwrap();
    let list = read.root_element();
    let attributes: Vec<(&str, &str)> = list.attributes().map(|a| (a.name(), a.value())).collect();
    assert_eq!(attributes, [("name", odd), ("count", "2")]);
    let items: Vec<_> = list.children().filter(|child| child.is_element()).collect();
    assert_eq!((items[0].text(), items[1].attribute("number")), (Some(odd), Some("0.5")));
    assert!(text.ends_with("\n  <item number=\"0.5\"/>\n</list>\n"), "{text}");
}
