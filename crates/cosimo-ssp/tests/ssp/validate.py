"""Validates system structure descriptions, and the parameter sets inside them, with the schemas that come with
pyssp_standard; says one line for each file."""

import importlib.util
import sys
from pathlib import Path

from lxml import etree

VALUES = "{http://ssp-standard.org/SSP1/SystemStructureParameterValues}ParameterSet"
# Only its files are wanted; importing it would take a second.
schemas = Path(importlib.util.find_spec("pyssp_standard").origin).parent / "resources"


def schema(version, name):
    folder = schemas / "ssp2" if version.startswith("2") else schemas
    return etree.XMLSchema(etree.parse(folder / f"SystemStructure{name}.xsd"))


known = {}
failed = False
for file in sys.argv[1:]:
    root = etree.parse(file).getroot()
    version = root.get("version")
    for kind in ("Description", "ParameterValues"):
        known.setdefault((version, kind), schema(version, kind))
    checks = [(known[version, "Description"], root)]
    checks += [(known[version, "ParameterValues"], node) for node in root.iter(VALUES)]
    errors = [error for rules, node in checks if not rules.validate(node) for error in rules.error_log]
    failed |= bool(errors)
    print(file, "is invalid: " + "; ".join(map(str, errors)) if errors else "is valid")
sys.exit(failed)
