/* The messages of errors, for callers from C. */

typedef struct df_place {
  int32_t file;   /* an index into df_files */
  int32_t line;   /* 0: within the standard library, so the place is that of the call that led there */
  int32_t column; /* in characters, from 1 */
} df_place;

typedef struct df_writer {
  char *text;
  size_t length, room;
} df_writer;

DF_FN void df_write(df_writer *w, const char *bytes, size_t count) {
  if (w->length + count + 1 > w->room) {
    size_t room = 2 * (w->length + count) + 64;
    char *text = realloc(w->text, room);
    if (!text) return;
    w->text = text;
    w->room = room;
  }
  memcpy(w->text + w->length, bytes, count);
  w->length += count;
  w->text[w->length] = 0;
}

/* Writes a format with %d for the next word, %r for it as a Real, %s for the name. */
DF_FN void df_write_format(df_writer *w, const char *format, const int64_t *words, const char *what) {
  char buffer[48];
  for (const char *p = format; *p; p++) {
    if (*p != '%') {
      df_write(w, p, 1);
      continue;
    }
    p++;
    if (*p == 'd') {
      df_write(w, buffer, (size_t)snprintf(buffer, sizeof buffer, "%lld", (long long)*words++));
    } else if (*p == 'r') {
      df_write(w, buffer, (size_t)df_write_real(df_from_bits(*words++), buffer));
    } else {
      df_write(w, what, strlen(what));
    }
  }
}

static const char *const df_codes[] = {
    "overflow",   "overflow",     "overflow",      "division-by-zero", "negative-exponent", "shift-out-of-range",
    "not-an-int", "index-out-of-bounds", "slice-out-of-bounds", "negative-count", "size-mismatch", "irregular-rows",
    "fail",       "shape-mismatch", "constant-cycle", "out-of-memory", "too-deep"};

/* What the last error was: division and powers fail for two reasons. */
DF_FN enum df_error df_error_kind(const df_context *cx) {
  enum df_error kind = (enum df_error)df_raises[cx->error - 1].kind;
  if (kind == DF_DIVISION && cx->words[1] != 0) return DF_OVERFLOW_INFIX;
  if (kind == DF_EXPONENT && cx->words[1] >= 0) return DF_OVERFLOW_INFIX;
  return kind;
}

/* The code of the last error; null if there was none. */
DF_FN const char *df_error_code(const df_context *cx) {
  if (!cx->error) return NULL;
  enum df_error kind = df_error_kind(cx);
  if (kind == DF_COUNT && cx->words[0] >= 0) return "too-large";
  return df_codes[kind];
}

/* What happened. */
DF_FN void df_write_message(df_writer *w, const df_context *cx) {
  const df_raise_t *raise = &df_raises[cx->error - 1];
  const int64_t *words = cx->words;
  const char *what = raise->what;
  switch (df_error_kind(cx)) {
  case DF_OVERFLOW_INFIX:
    df_write_format(w, "Int overflow: %d %s %d has more than 64 bits", words, what);
    break;
  case DF_OVERFLOW_CALL:
    df_write_format(w, "Int overflow: %s(%d, %d) has more than 64 bits", words, what);
    break;
  case DF_OVERFLOW_UNARY:
    df_write_format(w, "Int overflow: %s(%d) has more than 64 bits", words, what);
    break;
  case DF_DIVISION:
    df_write_format(w, "Int division by zero: %d %s 0", words, what);
    break;
  case DF_EXPONENT:
    df_write_format(w, "an Int to the power %d: the exponent must not be negative", words + 1, what);
    break;
  case DF_SHIFT:
    df_write_format(w, "a shift by %d bits: it must be from 0 to 63", words + 1, what);
    break;
  case DF_ROUND:
    df_write_format(w, "%s(%r) is not an Int", words, what);
    break;
  case DF_INDEX: {
    int64_t shown[3] = {words[0], words[1], DF_SUB(words[1], 1)};
    df_write_format(w,
                    words[1] == 0 ? "index %d of an empty array"
                                  : "index %d is out of bounds: the array has length %d, its indices are 0 to %d",
                    shown, what);
    break;
  }
  case DF_SLICE:
    df_write_format(w, "the slice %d..%d does not lie in an array of length %d", words, what);
    break;
  case DF_COUNT:
    df_write_format(
        w, words[0] < 0 ? "a negative count of elements: %d" : "an array of %d elements does not fit into memory",
        words, what);
    break;
  case DF_SIZE:
    df_write_format(w, "the sizes %d and %d differ: %s", words, what);
    break;
  case DF_ROWS:
    df_write_format(
        w, "the rows of an array must be of one length, but there are rows of %d and of %d", words, what);
    break;
  case DF_FAIL:
    if (cx->message) df_write(w, cx->message, (size_t)cx->message_bytes);
    break;
  case DF_SHAPE:
    df_write_format(w, "%s: ", words, what);
    if (cx->message) df_write(w, cx->message, (size_t)cx->message_bytes);
    break;
  case DF_CYCLE:
    df_write_format(w, "the value of a constant depends on itself: `%s`", words, what);
    break;
  case DF_MEMORY:
    df_write_format(w, "the memory is used up", words, what);
    break;
  case DF_STOPPED: {
    const df_note_t *last = df_note_at(cx, 0);
    df_write_format(w, "the recursion is too deep: %d calls are open, the last of `%s`", &cx->notes,
                    last ? df_functions[last->callee] : "main");
    break;
  }
  }
}

/* Where it happened; the call that led there, if that was within the standard library. */
DF_FN void df_write_place(df_writer *w, const df_context *cx) {
  const df_place *place = &df_places[cx->site];
  for (int64_t i = 0; place->line == 0; i++) {
    const df_note_t *note = df_note_at(cx, i);
    if (!note) return;
    place = &df_places[note->site];
  }
  int64_t words[2] = {place->line, place->column};
  df_write_format(w, "%s:%d:%d", words, df_files[place->file]);
}

/* `FILE:LINE:COLUMN: MESSAGE` of the last error, in the context's memory. */
DF_FN const char *df_report(df_context *cx) {
  if (!cx->error) return "";
  df_writer w = {0};
  df_write_place(&w, cx);
  if (w.length) df_write(&w, ": ", 2);
  df_write_message(&w, cx);
  free(cx->report);
  cx->report = w.text;
  return w.text ? w.text : "the memory is used up";
}
