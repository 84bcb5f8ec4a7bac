#!/usr/bin/env python3
"""Checks an OpenRPC document against the schema of OpenRPC, and the schemas in it.

    check_openrpc.py META_SCHEMA DOCUMENT
"""
import json
import sys

import jsonschema


def local(value):
    """Leaves out references to the schema of JSON Schema, which is checked by itself below."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            return {}
        return {key: local(member) for key, member in value.items()}
    return [local(item) for item in value] if isinstance(value, list) else value


with open(sys.argv[1]) as meta, open(sys.argv[2]) as file:
    schema, document = local(json.load(meta)), json.load(file)
problems = [
    "%s: %s" % (error.json_path, error.message) for error in jsonschema.Draft7Validator(schema).iter_errors(document)
]
for name, definition in document["components"]["schemas"].items():
    try:
        jsonschema.Draft7Validator.check_schema(definition)
    except jsonschema.SchemaError as error:
        problems.append("%s: %s" % (name, error.message))
if problems:
    sys.exit("\n".join(problems))
print("%d methods, %d types" % (len(document["methods"]), len(document["components"]["schemas"])))
