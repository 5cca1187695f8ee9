/* The messages of errors, for callers from C. */

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

/* What the last error was: division and powers fail for two reasons. */
DF_FN enum df_error df_error_kind(const df_context *cx) {
  enum df_error kind = (enum df_error)df_raises[cx->error - 1].kind;
  if (kind == DF_DIVISION && cx->words[1] != 0) return DF_OVERFLOW_INFIX;
  if (kind == DF_EXPONENT && cx->words[1] >= 0) return DF_OVERFLOW_INFIX;
  return kind;
}

/* The status of the last call: an index into df_codes. */
DF_FN int32_t df_status(const df_context *cx) {
  if (!cx->error) return 0;
  switch (df_error_kind(cx)) {
  case DF_OVERFLOW_INFIX:
  case DF_OVERFLOW_CALL:
  case DF_OVERFLOW_UNARY:
    return 1;
  case DF_DIVISION:
    return 2;
  case DF_EXPONENT:
    return 3;
  case DF_SHIFT:
    return 4;
  case DF_ROUND:
    return 5;
  case DF_INDEX:
    return 6;
  case DF_SLICE:
    return 7;
  case DF_COUNT:
    return cx->words[0] < 0 ? 8 : 9;
  case DF_SIZE:
    return 10;
  case DF_ROWS:
    return 11;
  case DF_FAIL:
    return 12;
  case DF_SHAPE:
    return 13;
  case DF_CYCLE:
    return 14;
  case DF_NAN:
    return 18;
  case DF_ORDER:
    return 19;
  case DF_STOPPED:
    return cx->stack_end == (char *)UINTPTR_MAX ? 16 : 15;
  case DF_MEMORY:
    break;
  }
  return 17;
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
  case DF_NAN:
    df_write_format(w, "a derivative is nan", words, what);
    break;
  case DF_ORDER:
    df_write_format(w, "a derivative is of a higher order than is compiled", words, what);
    break;
  case DF_CYCLE:
    df_write_format(w, "the value of a constant depends on itself: `%s`", words, what);
    break;
  case DF_MEMORY:
    df_write_format(w, "the memory is used up", words, what);
    break;
  case DF_STOPPED: {
    const df_note_t *last = df_note_at(cx, 0);
    if (df_status(cx) == 16) {
      df_write_format(w, "interrupted", words, what);
      break;
    }
    df_write_format(w, "the recursion is too deep: %d calls are open, the last of `%s`", &cx->notes,
                    last ? df_functions[last->callee] : "main");
    break;
  }
  }
}

/* Where it happened; the call that led there, if that was within the standard library, or in a function that
 * the compiler has made. */
DF_FN void df_write_place(df_writer *w, const df_context *cx) {
  uint32_t site = cx->site;
  for (int64_t i = 0; i <= cx->notes; i++) {
    const df_note_t *note = df_note_at(cx, i);
    const df_place *place = &df_places[site];
    bool written = !note || df_functions[note->callee][0] != 0;
    if (written && place->line != 0) {
      int64_t words[2] = {place->line, place->column};
      df_write_format(w, "%s:%d:%d: ", words, df_files[place->file]);
      return;
    }
    if (!note) return;
    site = note->site;
  }
}

/* Writes `FILE:LINE:COLUMN: MESSAGE` of the error into the context. */
DF_FN DF_COLD void df_write_report(df_context *cx) {
  df_writer w = {0};
  df_write_place(&w, cx);
  df_write_message(&w, cx);
  free(cx->report);
  cx->report = w.text;
}

/* Warns: a line of `trace` whose label is the place and the code. */
DF_FN DF_COLD void df_warn(df_context *cx, const char *code, const char *message, const char *help, int64_t place) {
  const df_place *at = &df_places[place];
  int64_t words[2] = {at->line, at->column}, bytes = ((const df_array *)message)->bytes;
  df_writer w = {0};
  (void)help;
  if (at->line) df_write_format(&w, "%s:%d:%d: ", words, df_files[at->file]);
  df_write_format(&w, "warning[", words, "");
  df_write(&w, code + 32, (size_t)((const df_array *)code)->bytes);
  df_write(&w, "]", 1);
  df_print_line(cx, w.text ? w.text : "", (int64_t)w.length, message + 32, bytes);
  free(w.text);
}
