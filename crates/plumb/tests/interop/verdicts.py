"""Checks files of verdicts against the schemas they follow, and reads them as build servers do:
verdicts.py SCHEMAS JUNIT SARIF. Prints what a reader finds. Exit code 1: a schema refuses one; 3: there are no
schemas or readers here."""

import json
import sys
from pathlib import Path

try:
    import jsonschema
    import junitparser
    from lxml import etree
except ImportError as error:
    print(error)
    sys.exit(3)

schemas = Path(sys.argv[1])
try:
    xsd = etree.XMLSchema(etree.parse(str(schemas / "junit-10.xsd")))
    sarif_schema = json.loads((schemas / "sarif-2.1.0.json").read_text(encoding="utf-8"))
except OSError as error:
    print(error)
    sys.exit(3)

document = etree.parse(sys.argv[2])
if not xsd.validate(document):
    sys.exit(f"{sys.argv[2]}: {xsd.error_log}")
log = json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
validator = jsonschema.validators.validator_for(sarif_schema)(sarif_schema)
for error in validator.iter_errors(log):
    sys.exit(f"{sys.argv[3]}: {'/'.join(map(str, error.absolute_path))}: {error.message}")

suites = junitparser.JUnitXml.fromfile(sys.argv[2])
cases = {"passed": 0, "failed": 0, "open": 0}
for suite in suites:
    for case in suite:
        kinds = {type(result).__name__ for result in case.result}
        kind = "failed" if "Failure" in kinds else "open" if "Error" in kinds else "passed"
        cases[kind] += 1
results = log["runs"][0]["results"]
print(json.dumps({
    "cases": cases,
    "suites": len(list(suites)),
    "counted": [suites.tests, suites.failures, suites.errors],
    "kinds": sorted({result["kind"] for result in results}),
    "rules": sorted({result["ruleId"] for result in results}),
}))
