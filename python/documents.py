# SPDX-License-Identifier: GPL-2.0-only
"""Makes the types of the package from the JSON schemas of the book: `python documents.py [FOLDER]`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCHEMAS = HERE.parent / "docs/src/schemas"
OWN = HERE / "dyntick/documents"

HEAD = '''# SPDX-License-Identifier: GPL-2.0-only
"""Types of the program's documents, made from its JSON schemas by documents.py."""
'''


def make(folder: Path) -> None:
    """Writes a module for each schema."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(HEAD)
    for schema in sorted(SCHEMAS.glob("dyntick-*.json")):
        module = folder / (schema.stem.removeprefix("dyntick-").replace("-", "_") + ".py")
        options = {
            "--input": str(schema),
            "--input-file-type": "jsonschema",
            "--output": str(module),
            "--output-model-type": "typing.TypedDict",
            "--target-python-version": "3.11",
            "--class-name": "".join(word.capitalize() for word in schema.stem.split("-")),
            "--custom-file-header": HEAD,
        }
        switches = ["--use-union-operator", "--use-schema-description", "--use-field-description"]
        command = [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator", *switches]
        subprocess.run([*command, *(word for pair in options.items() for word in pair)], check=True)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else OWN)
