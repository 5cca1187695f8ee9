"""Values as notebooks show them: tables as HTML, plots as Vega-Lite and SVG, everything as text."""

import html
import json

import numpy as np

#: How many rows and columns of a table are shown.
MOST = 60

_VEGA_LITE = "application/vnd.vegalite.v6+json"


def bundle(value, text, columns=()):
    """The MIME bundle of a value, whose text in the language is given, and of a table of records the columns in their order."""
    data = {"text/plain": text}
    own = getattr(value, "_repr_mimebundle_", None)
    if own is not None:
        data.update(own() or {})
        return data
    specification = vega_lite(value)
    if specification is not None:
        data[_VEGA_LITE] = specification
        return data
    table = _table(value, columns)
    if table is not None:
        data["text/html"] = table
    return data


def vega_lite(value):
    """The specification that a value is, if it is one of Vega-Lite: a record, or its JSON as text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(value, dict) and "vega-lite" in str(value.get("$schema", "")):
        return _plain(value)
    return None


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value


def _table(value, names):
    """An array of records, of tuples or of rows as a table."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.size:
        columns, rows, count = range(min(value.shape[1], MOST)), value[:MOST, :MOST], len(value)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        columns, count = list(names or value[0]), len(value)
        rows = [[row[column] for column in columns] for row in value[:MOST]]
    elif isinstance(value, list) and value and isinstance(value[0], tuple):
        columns, rows, count = range(len(value[0])), value[:MOST], len(value)
    else:
        return None
    head = "".join(f"<th>{html.escape(str(column))}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>{count} rows, the first {MOST} are shown</p>" if count > MOST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(cell):
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (float, np.floating)):
        return repr(float(cell))
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    return str(cell)
