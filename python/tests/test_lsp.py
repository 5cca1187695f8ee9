"""The language server as an editor drives it that counts columns in bytes; `editors/lsp` has the one that counts units."""

import json
import random
import subprocess

import pytest
from built import ROOT, program

pytest_lsp = pytest.importorskip("pytest_lsp")
from lsprotocol import types  # noqa: E402

PROGRAM = program()
SEED = 1
EDITS = 200
#: After so many edits, the messages are compared.
EVERY = 5
#: How many messages of one severity the command line shows.
MOST = 50
SEVERITIES = {"error": types.DiagnosticSeverity.Error, "warning": types.DiagnosticSeverity.Warning}


@pytest_lsp.fixture(config=pytest_lsp.ClientServerConfig(server_command=[str(PROGRAM), "lsp"]))
async def client(lsp_client: pytest_lsp.LanguageClient):
    capabilities = pytest_lsp.client_capabilities("neovim")
    capabilities.general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf8])
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


class Document:
    """A text, and the places in it: lines from 0, columns in bytes."""

    def __init__(self, client, path):
        self.client, self.path, self.uri = client, path, path.as_uri()
        self.text, self.version = path.read_text(), 1
        item = types.TextDocumentItem(uri=self.uri, language_id="diffeo", version=1, text=self.text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        self.id = types.TextDocumentIdentifier(uri=self.uri)

    def position(self, at):
        before = self.text[:at].split("\n")
        return types.Position(line=len(before) - 1, character=len(before[-1].encode()))

    def byte(self, at):
        return self.position(len(self.text.encode()[:at].decode()))

    def edit(self, start, end, text):
        where = types.Range(start=self.position(start), end=self.position(end))
        change = types.TextDocumentContentChangePartial(range=where, text=text)
        self.text = self.text[:start] + text + self.text[end:]
        self.version += 1
        whose = types.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=whose, content_changes=[change]))

    def at(self, kind, offset, **more):
        return kind(text_document=self.id, position=self.position(offset), **more)

    async def said(self):
        """What the server says: it deals with what was sent before a request before it answers."""
        await self.client.workspace_symbol_async(types.WorkspaceSymbolParams(query="no such name"))
        counts = {1: 0, 2: 0}
        found = []
        for d in self.client.diagnostics[self.uri]:
            counts[d.severity] += 1
            if counts[d.severity] <= MOST:
                found.append((d.range.start, d.range.end, d.severity, d.code, d.message))
        return found

    def checked(self):
        """What `diffeo check` says."""
        self.path.write_text(self.text)
        command = [PROGRAM, "check", "--message-format", "json", self.path.name]
        done = subprocess.run(command, cwd=self.path.parent, capture_output=True, text=True)
        found = []
        for message in map(json.loads, done.stderr.splitlines()):
            if message["code"] == "more":
                continue
            place = message["place"]
            start, end = (self.byte(place[side]) for side in ("start_byte", "end_byte"))
            notes = [f"note: {note}" for note in message["notes"]]
            helps = [f"help: {message['help']}"] if message["help"] else []
            text = "\n".join([message["message"], *notes, *helps])
            found.append((start, end, SEVERITIES[message["severity"]], message["code"], text))
        return found


@pytest.fixture
def document(client, tmp_path):
    path = tmp_path / "model.deo"
    path.write_text((ROOT / "examples" / "pendulum.deo").read_text())
    return Document(client, path)


@pytest.mark.asyncio
async def test_messages_after_edits_are_those_of_check(document):
    """Words and signs of several bytes are put in and taken out anywhere."""
    dice = random.Random(SEED)
    pieces = ["x", " ", "\n", "(", ")", "[", "= ", "def f(x: Real) = x\n", "1.0", '"µ → 😀"', "# ∂\n", "sin", ".", "é", ", "]
    wrong = 0
    assert await document.said() == [] == document.checked()
    undone = document.text
    for i in range(EDITS):
        at = dice.randrange(len(document.text) + 1)
        if dice.random() < 0.4:
            document.edit(at, min(len(document.text), at + dice.choice([1, 1, 1, 5, 40])), "")
        else:
            document.edit(at, at, dice.choice(pieces))
        if i % EVERY == 0:
            said = await document.said()
            assert said == document.checked(), f"after {i} edits"
            wrong += bool(said)
        if dice.random() < 0.1:
            document.edit(0, len(document.text), undone)
            assert await document.said() == []
    assert wrong > 0


@pytest.mark.asyncio
async def test_a_definition_is_typed(document):
    """Typed sign by sign behind signs of several bytes, completed, looked up, renamed and laid out."""
    client = document.client
    document.edit(0, 0, '# "µ → 😀"\n')
    at = document.text.index("def ")
    typed = 'def  slope(x: Real) = ("😀", line'
    for i, sign in enumerate(typed):
        document.edit(at + i, at + i, sign)
    end = at + len(typed)
    found = await client.text_document_completion_async(document.at(types.CompletionParams, end))
    assert "linspace" in [item.label for item in found.items]
    document.edit(end - len("line"), end, "2.0 * x)\n")
    assert await document.said() == []
    hover = await client.text_document_hover_async(document.at(types.HoverParams, document.text.index("x)\n")))
    assert "x : Real" in hover.contents.value
    where = document.at(types.RenameParams, document.text.index("x: Real"), new_name="argument")
    edits = (await client.text_document_rename_async(where)).changes[document.uri]
    assert len(edits) == 2
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    laid_out = await client.text_document_formatting_async(types.DocumentFormattingParams(text_document=document.id, options=options))
    document.edit(0, len(document.text), laid_out[0].new_text)
    assert 'def slope(x: Real) = ("😀", 2.0 * x)\n' in document.text
    assert await document.said() == [] == document.checked()
