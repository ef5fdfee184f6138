"""Prints the documents of a manifest as JSON: kubernetes.py FILE. With --schema VERSION... they are checked
against the schemas of these versions of Kubernetes instead; exit code 3: there are none here."""

import json
import sys

import yaml

with open(sys.argv[1], encoding="utf-8") as manifest:
    documents = [document for document in yaml.safe_load_all(manifest) if document is not None]
if "--schema" not in sys.argv:
    print(json.dumps(documents))
    sys.exit()
try:
    import kubernetes_validate
except ImportError as error:
    print(error)
    sys.exit(3)
for version in sys.argv[3:]:
    for document in documents:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            sys.exit(f"{document['kind']} {document['metadata']['name']}, {version}: {error}")
