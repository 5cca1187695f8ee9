"""Exceptions."""


class Error(Exception):
    """A program was refused or stopped.

    ``messages`` has a dictionary for each message: severity, code, message, file, line, column, end_line, end_column,
    notes, help, and text, which is all of it as one text.
    """

    def __init__(self, messages=()):
        if isinstance(messages, str):
            messages = [{"severity": "error", "code": "argument", "message": messages, "text": messages}]
        self.messages = list(messages)
        super().__init__("\n".join(message["text"] for message in self.messages))

    def __reduce__(self):
        return (type(self), (self.messages,))


class ArgumentError(Error, TypeError):
    """An argument does not fit the type that a function takes."""
