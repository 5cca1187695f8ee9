/* Errors: what is known of them while the functions are left, and their messages. */

/* The run fails: with an error of the table, at a place, of these operands. */
DF_FN DF_COLD void df_raise(df_context *cx, uint32_t error, uint32_t site, int64_t a, int64_t b, int64_t c) {
  cx->error = error + 1;
  cx->site = site;
  cx->words[0] = a;
  cx->words[1] = b;
  cx->words[2] = c;
  cx->notes = 0;
}

/* The same with a text, which is kept. */
DF_FN DF_COLD void df_raise_text(df_context *cx, uint32_t error, uint32_t site, const char *text) {
  int64_t bytes = ((const df_array *)text)->bytes;
  df_raise(cx, error, site, 0, 0, 0);
  free(cx->message);
  cx->message = malloc((size_t)bytes + 1);
  cx->message_bytes = cx->message ? bytes : 0;
  if (cx->message) {
    memcpy(cx->message, text + 32, (size_t)bytes);
    cx->message[bytes] = 0;
  }
}

/* A call of a function was open. */
DF_FN DF_COLD void df_note(df_context *cx, uint32_t site, uint32_t callee) {
  df_note_t note = {site, callee};
  if (cx->notes < DF_NOTES)
    cx->innermost[cx->notes] = note;
  else
    cx->outermost[cx->notes % DF_NOTES] = note;
  cx->notes++;
}

/* The open call at a position from the innermost one on; those in the middle may not have been kept. */
DF_FN const df_note_t *df_note_at(const df_context *cx, int64_t i) {
  if (i < 0 || i >= cx->notes) return NULL;
  if (i < DF_NOTES) return &cx->innermost[i];
  return i >= cx->notes - DF_NOTES ? &cx->outermost[i % DF_NOTES] : NULL;
}

/* After an error: the blocks that were in use are freed. */
DF_FN DF_COLD void df_abandon(df_context *cx) { df_free_all(cx); }
