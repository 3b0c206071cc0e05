"""Validates documents against the published schemas with jsonschema from PyPI.

    python schemas.py FILE

FILE holds {"schemas": {name: schema}, "documents": [[name, place, document, valid]]}; prints what was not as declared.
"""
import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1], encoding="utf-8") as file:
    work = json.load(file)
validators = {}
for name, schema in work["schemas"].items():
    Draft202012Validator.check_schema(schema)
    validators[name] = Draft202012Validator(schema)
wrong = 0
for name, place, document, valid in work["documents"]:
    error = next(validators[name].iter_errors(document), None)
    if (error is None) != valid:
        wrong += 1
        print(f"{place}: {name}: {'should not validate' if error is None else error.message[:300]}")
print(f"{len(work['documents'])} documents")
sys.exit(1 if wrong else 0)
