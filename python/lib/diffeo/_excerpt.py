"""Messages about texts that are no files, with the line that they are about, as the command line shows them."""

#: Of the names of such texts: what gives for a line the name and line to tell, and its text.
SOURCES = {}


def located(message, place=None):
    """A message with the places that ``place`` gives for a file and a line, or as they are in ``SOURCES``."""
    if place is None:
        if message["file"] not in SOURCES:
            return message
        place = lambda file, line: SOURCES[file](line) if file in SOURCES else (file, line, None)
    lines = [f"{message['severity']}[{message['code']}]: {message['message']}"]
    told = message
    if message["line"] is not None:
        told, text = _moved(message, place)
        lines[0] = f"{told['file']}:{told['line']}:{told['column']}: {lines[0]}"
        lines += _marked(told, text, "^", message["label"])
    labels = []
    for label in message["labels"]:
        if label["line"] is None:
            continue
        moved, text = _moved(label, place)
        labels.append(moved)
        lines.append(f"  {moved['file']}:{moved['line']}:{moved['column']}: {moved['message']}".rstrip())
        lines += _marked(moved, text, "-", "")
    lines += [f"  note: {note}" for note in message["notes"]]
    lines += [f"  help: {message['help']}"] if message["help"] else []
    return {**told, "labels": labels, "text": "\n".join(lines)}


def _moved(at, place):
    file, line, text = place(at["file"], at["line"])
    return {**at, "file": file, "line": line, "end_line": at["end_line"] - at["line"] + line}, text


def _marked(at, text, mark, label):
    """The line of a place, and marks below it."""
    if text is None:
        return []
    end = at["end_column"] if at["end_line"] == at["line"] else len(text) + 1
    marks = mark * max(end - at["column"], 1)
    before = "".join("\t" if c == "\t" else " " for c in text[: at["column"] - 1])
    margin = " " * len(str(at["line"]))
    return [f"{at['line']} │ {text}", f"{margin} │ {before}{marks} {label}".rstrip()]
