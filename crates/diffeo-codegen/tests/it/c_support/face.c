/* How the engine runs the programs of this file: one table of functions. */

typedef bool (*df_enter_t)(df_context *, char *, char *);

DF_FN df_context *df_face_new(const df_host *host, int64_t limit) {
  df_context *cx = df_context_new();
  if (!cx) return NULL;
  cx->host = *host;
  cx->limit = limit;
  return cx;
}

DF_FN bool df_face_run(df_context *cx, int64_t program, char *arguments, char *results) {
  static const df_enter_t enter[] = DF_ENTER;
  cx->error = 0;
  cx->stopped = 0;
  return enter[program](cx, arguments, results);
}

/* The end of the stack, a word that may be written at any time. */
DF_FN char *volatile *df_face_stack_end(df_context *cx) { return &cx->stack_end; }

/* The error: its number, its place, three operands, the text and its length, how many calls were open. */
DF_FN void df_face_error(const df_context *cx, int64_t *words) {
  words[0] = (int64_t)cx->error - 1;
  words[1] = cx->site;
  memcpy(words + 2, cx->words, sizeof cx->words);
  words[5] = (int64_t)(intptr_t)cx->message;
  words[6] = cx->message_bytes;
  words[7] = cx->notes;
}

/* The place of an open call, from the innermost one on; -1 of those that were not kept. */
DF_FN int64_t df_face_note(const df_context *cx, int64_t i) {
  const df_note_t *note = df_note_at(cx, i);
  return note ? (int64_t)note->site : -1;
}

DF_FN int64_t df_face_live(const df_context *cx) { return cx->live; }

typedef struct df_face {
  df_context *(*create)(const df_host *, int64_t);
  void (*destroy)(df_context *);
  bool (*run)(df_context *, int64_t, char *, char *);
  char *volatile *(*stack_end)(df_context *);
  void (*error)(const df_context *, int64_t *);
  int64_t (*note)(const df_context *, int64_t);
  void (*abandon)(df_context *);
  void (*release)(df_context *, char *);
  void (*release_constants)(df_context *);
  int64_t (*live)(const df_context *);
} df_face;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const df_face diffeo_face;
const df_face diffeo_face = {df_face_new,  df_context_free, df_face_run, df_face_stack_end,    df_face_error,
                             df_face_note, df_abandon,      df_release,  df_release_constants, df_face_live};
