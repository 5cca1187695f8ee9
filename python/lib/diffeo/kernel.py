"""The kernel for Jupyter: `diffeo jupyter install`, or `python -m diffeo.kernel install`, then notebooks in Diffeo.

A cell has definitions, and an expression behind them whose value is shown; commands, which begin with a colon, may stand
before them. Later cells see earlier ones, and may define their names anew: what uses them sees the new ones.
"""

import json
import os
import sys
import time
import warnings

from ipykernel.kernelbase import Kernel

from . import _diffeo
from ._cells import Cells, Placed, commands, defined, split
from ._display import bundle
from ._errors import Error, PlotWarning
from ._excerpt import located
from ._variants import Types

#: What a value of a cell is made with: machine code that is there at once.
_ENGINE = "jit"

#: How often progress is shown, in seconds.
_EVERY = 0.2

_KINDS = {3: "function", 6: "instance", 9: "module", 13: "class", 20: "class", 21: "instance"}


class DiffeoKernel(Kernel):
    """Runs cells in Diffeo."""

    implementation = "diffeo"
    implementation_version = _diffeo.__version__
    banner = f"Diffeo {_diffeo.__version__}"
    language_info = {
        "name": "diffeo",
        "version": _diffeo.__version__,
        "mimetype": "text/x-diffeo",
        "file_extension": ".deo",
        "pygments_lexer": "diffeo",
    }

    def __init__(self, **options):
        super().__init__(**options)
        self._cells = Cells()
        self._notebook = _diffeo.Notebook()
        self._placed = None
        self._server = _diffeo.Server()
        self._next_progress = 0.0
        self._progress_of = None

    # Running

    async def do_execute(
        self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, *, cell_meta=None, cell_id=None
    ):
        asked, code = commands(code)
        line, expression = 0, ""
        self._placed = None
        try:
            for command in asked:
                self._command(command, silent)
            definitions, line, expression = split(code)
            self._placed = Placed([(self.execution_count, definitions), *self._cells.numbered(definitions)])
            self._execute(definitions, line, expression, silent)
        except Error as error:
            return self._failed(error, line, expression, silent)
        except KeyboardInterrupt:
            return self._stopped("KeyboardInterrupt", "interrupted", ["interrupted"], silent)
        finally:
            self._warn(silent)
        return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}

    def _command(self, command, silent):
        self._notebook.check(self._cells.joined(""))
        # Those of earlier cells.
        self._notebook.take_warnings()
        text, definition = self._notebook.command(command, **self._options(silent))
        if definition:
            self._cells.add(definition, self.execution_count)
        self._stream("stdout", text, silent)

    def _execute(self, definitions, line, expression, silent):
        text = self._placed.text
        self._notebook.check(text)
        self._warn(silent)
        if definitions.strip():
            self._cells.add(definitions, self.execution_count)
        if not expression.strip():
            own = defined(definitions)
            symbols = json.loads(self._server.answer(text, "textDocument/documentSymbol", "{}"))
            types = [f"{s['name']} : {s['detail']}" for s in symbols if s["detail"] and s["name"] in own]
            if types:
                self._show({"text/plain": "\n".join(types)}, silent)
            return
        # A constant that an earlier cell has computed is its value.
        classes = Types(self._notebook.variants())._classes
        value, written, columns = self._notebook.evaluate(expression, classes, **self._options(silent))
        self._warn(silent)
        for note in getattr(value, "notes", []):
            self._stream("stderr", f"warning[plot]: in the plot, {note}", silent)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlotWarning)
            self._show(bundle(value, written, columns), silent)

    def _warn(self, silent):
        for warning in self._notebook.take_warnings():
            self._stream("stderr", warning["text"], silent)

    def _options(self, silent):
        return {
            "engine": _ENGINE,
            "trace": lambda text: self._stream("stdout", text, silent),
            "progress": lambda label, step, value: self._progress(f"{label}: step {step}, {value:.6g}", silent),
        }

    def _show(self, data, silent):
        if not silent:
            content = {"execution_count": self.execution_count, "data": data, "metadata": {}}
            self.send_response(self.iopub_socket, "execute_result", content)

    def _stream(self, name, text, silent):
        if not silent:
            self.send_response(self.iopub_socket, "stream", {"name": name, "text": f"{text}\n"})

    def _progress(self, text, silent):
        """A line that the next one replaces, now and then."""
        now = time.monotonic()
        if silent or now < self._next_progress:
            return
        self._next_progress = now + _EVERY
        transient = {"display_id": f"progress-{self.execution_count}"}
        shown = self._progress_of == self.execution_count
        self._progress_of = self.execution_count
        content = {"data": {"text/plain": text}, "metadata": {}, "transient": transient}
        self.send_response(self.iopub_socket, "update_display_data" if shown else "display_data", content)

    def _failed(self, error, line, expression, silent):
        own = f"cell {self.execution_count}"

        def place(file, at):
            # The expression of a cell is a text of its own.
            if file == "<expression>":
                lines = expression.splitlines()
                return own, at + line, lines[at - 1] if at <= len(lines) else None
            return self._placed.place(at) if self._placed and file == "cell.deo" else (file, at, None)

        lines = [part for message in error.messages for part in located(message, place)["text"].split("\n")]
        # Places of this cell are lines and columns alone.
        lines = [part.removeprefix(f"{own}:") for part in lines]
        first = error.messages[0]
        return self._stopped(first["code"], first["message"], lines, silent)

    def _stopped(self, name, value, lines, silent):
        content = {"ename": name, "evalue": value, "traceback": lines}
        if not silent:
            self.send_response(self.iopub_socket, "error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    # What is known of a cell

    def _ask(self, method, code, cursor):
        """The answer of the language server about a place of a cell."""
        _, code = commands(code)
        definitions, first, expression = split(code)
        prefix = "def it = " if expression.strip() else ""
        lines = code.splitlines()
        if prefix:
            lines[first] = prefix + lines[first]
        before = code[:cursor].split("\n")
        line, character = len(before) - 1, len(before[-1].encode("utf-16-le")) // 2
        if prefix and line == first:
            character += len(prefix)
        text = "\n".join(["\n".join(lines), self._cells.joined(definitions)[len(definitions) :]])
        params = {"position": {"line": line, "character": character}}
        return json.loads(self._server.answer(text, method, json.dumps(params)))

    async def do_complete(self, code, cursor_pos):
        start = cursor_pos
        while start > 0 and (code[start - 1].isalnum() or code[start - 1] in "_'"):
            start -= 1
        word = code[start:cursor_pos]
        found = self._ask("textDocument/completion", code, cursor_pos) or {"items": []}
        items = [item for item in found["items"] if item["label"].startswith(word)]
        types = [
            {"start": start, "end": cursor_pos, "text": item["label"], "type": _KINDS.get(item["kind"], ""), "signature": item["detail"] or ""}
            for item in items
        ]
        return {
            "status": "ok",
            "matches": [item["label"] for item in items],
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {"_jupyter_types_experimental": types},
        }

    async def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        found = self._ask("textDocument/hover", code, cursor_pos)
        data = {}
        if found:
            text = found["contents"]["value"]
            data = {"text/markdown": text, "text/plain": text.removeprefix("```diffeo\n").replace("\n```", "", 1)}
        return {"status": "ok", "found": bool(data), "data": data, "metadata": {}}

    async def do_is_complete(self, code):
        if _diffeo.is_unfinished(code):
            return {"status": "incomplete", "indent": "  "}
        definitions, _, expression = split(commands(code)[1])
        whole = not any(_diffeo.is_unfinished(part) for part in (definitions, expression))
        return {"status": "complete"} if whole else {"status": "incomplete", "indent": "  "}

    async def do_shutdown(self, restart):
        return {"status": "ok", "restart": restart}


def _prefix(action, arguments):
    """The folder that the options name; None for the user's own."""
    import argparse

    texts = {"install": "Makes the kernel known to Jupyter.", "remove": "Takes the kernel away from Jupyter."}
    parser = argparse.ArgumentParser(f"python -m diffeo.kernel {action}", description=texts[action])
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user (the default)")
    where.add_argument("--sys-prefix", action="store_true", help="for this environment of Python")
    where.add_argument("--prefix", help="below this folder")
    given = parser.parse_args(arguments)
    return sys.prefix if given.sys_prefix else given.prefix


def install(arguments):
    """Writes the kernel's specification to where Jupyter looks for it."""
    import tempfile
    from importlib import resources

    from jupyter_client.kernelspec import KernelSpecManager

    prefix = _prefix("install", arguments)
    specification = {
        "argv": [sys.executable, "-m", "diffeo.kernel", "-f", "{connection_file}"],
        "display_name": "Diffeo",
        "language": "diffeo",
        "interrupt_mode": "signal",
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(specification, file, indent=2)
        for logo in resources.files("diffeo").joinpath("logo").iterdir():
            with open(os.path.join(folder, logo.name), "wb") as file:
                file.write(logo.read_bytes())
        made = KernelSpecManager().install_kernel_spec(folder, "diffeo", user=not prefix, prefix=prefix)
    print(f"the kernel is in {made}")


def remove(arguments):
    """Removes what `install` has written."""
    import shutil

    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_core.paths import jupyter_data_dir

    prefix = _prefix("remove", arguments)
    data = os.path.join(prefix, "share", "jupyter") if prefix else jupyter_data_dir()
    folder = os.path.join(data, "kernels", "diffeo")
    if os.path.islink(folder):
        os.remove(folder)
    elif os.path.isdir(folder):
        shutil.rmtree(folder)
    else:
        elsewhere = KernelSpecManager().find_kernel_specs().get("diffeo")
        sys.exit(f"there is no {folder}" + (f"; Jupyter finds the kernel in {elsewhere}" if elsewhere else ""))
    print(f"the kernel is no longer in {folder}")


def main():
    """Installs or removes the kernel, or runs it as Jupyter does."""
    actions = {"install": install, "remove": remove}
    if action := actions.get(sys.argv[1] if len(sys.argv) > 1 else ""):
        try:
            action(sys.argv[2:])
        except OSError as error:
            sys.exit(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(kernel_class=DiffeoKernel)


if __name__ == "__main__":
    main()
