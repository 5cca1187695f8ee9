/* The part of the interface that all programs have. */

/* The stack of the thread that calls, as far as the system tells. */
DF_FN void df_find_stack(df_context *cx, char *here) {
  if (here >= cx->thread_low && here < cx->thread_high) return;
  cx->thread_low = here - 262144;
  cx->thread_high = here;
#if defined(__linux__)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void *low;
    size_t size;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0 && (char *)low < here && here - (char *)low < (ptrdiff_t)size) {
      cx->thread_low = low;
      cx->thread_high = (char *)low + size;
    }
    pthread_attr_destroy(&attributes);
  }
#elif defined(__APPLE__)
  char *high = pthread_get_stackaddr_np(pthread_self());
  size_t size = pthread_get_stacksize_np(pthread_self());
  if (here < high && high - here < (ptrdiff_t)size) {
    cx->thread_low = high - size;
    cx->thread_high = high;
  }
#endif
}

/* Before a call. */
DF_FN void df_begin(df_context *cx) {
  char here;
  char *volatile address = &here;
  df_find_stack(cx, address);
  ptrdiff_t size = cx->thread_high - cx->thread_low, margin = DF_MARGIN;
  if (margin > size / 2) margin = size / 2;
  cx->error = 0;
  cx->notes = 0;
  cx->status = 0;
  cx->stack_end = cx->thread_low + margin;
}

/* After a call that has failed: the status for the caller. */
DF_FN int32_t df_end(df_context *cx) {
  df_write_report(cx);
  df_abandon(cx);
  cx->status = df_status(cx);
  return cx->status;
}

/* There is no memory for a text that the caller gives, or for a result. */
DF_FN DF_COLD int32_t df_no_memory(df_context *cx) {
  free(cx->report);
  cx->report = NULL;
  df_abandon(cx);
  cx->status = 17;
  return 17;
}

/* Whether the sizes of an argument are none, or not those of another one that it belongs to. */
DF_FN bool df_refuses(df_context *cx, const char *name, const int64_t *shape, int rank, const int64_t *other,
                      int shared) {
  const char *format = NULL;
  int64_t words[2] = {0, 0};
  for (int i = 0; i < rank && !format; i++) {
    words[0] = shape[i];
    if (shape[i] < 0) {
      format = "a negative size: %d: %s";
    } else if (i < shared && shape[i] != other[i]) {
      words[1] = other[i];
      format = "the sizes %d and %d differ: %s";
    }
  }
  if (!format) return false;
  df_writer w = {0};
  df_write_format(&w, format, words, name);
  free(cx->report);
  cx->report = w.text;
  cx->status = 10;
  return true;
}

/* Whether a text that the caller gives is none. */
DF_FN bool df_refuses_text(df_context *cx, const char *name, const char *text) {
  if (!text) return false;
  int64_t at = df_sound(text);
  if (!text[at]) return false;
  df_writer w = {0};
  df_write_format(&w, "the text is not UTF-8 from byte %d on: %s", &at, name);
  free(cx->report);
  cx->report = w.text;
  cx->status = 20;
  return true;
}

/* A block for a text that the caller gives; null if there is no memory. */
DF_FN char *df_take_text(df_context *cx, const char *text) {
  return df_text(cx, text ? text : "", text ? (int64_t)strlen(text) : 0);
}

/* How many elements an array has; negative if they are more than there is memory for. */
DF_FN int64_t df_count(const int64_t *shape, int rank) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    if (shape[i] == 0) return 0;
    count = count < 0 || shape[i] > (INT64_MAX / 16) / count ? -1 : count * shape[i];
  }
  return count;
}

/* Whether one of the texts that the caller gives is none. */
DF_FN bool df_refuses_texts(df_context *cx, const char *name, const char *const *texts, const int64_t *shape, int rank) {
  int64_t count = df_count(shape, rank);
  for (int64_t i = 0; i < count; i++) {
    int64_t at = texts[i] ? df_sound(texts[i]) : 0;
    if (!texts[i] || !texts[i][at]) continue;
    int64_t words[2] = {i, at};
    df_writer w = {0};
    df_write_format(&w, "the text at %d is not UTF-8 from byte %d on: %s", words, name);
    free(cx->report);
    cx->report = w.text;
    cx->status = 20;
    return true;
  }
  return false;
}

/* A block for an array of texts that the caller gives; null if there is no memory. */
DF_FN char *df_take_texts(df_context *cx, const char *const *texts, const int64_t *shape, int rank) {
  int64_t count = df_count(shape, rank);
  char *block = count < 0 ? NULL : df_new_zeros(cx, DF_REFERENCES, 8 * count);
  if (!block) return NULL;
  char **to = (char **)(void *)(block + 32);
  for (int64_t i = 0; i < count; i++) {
    to[i] = df_take_text(cx, texts[i]);
    if (!to[i]) return NULL;
  }
  return block;
}

/* Copies the text of a block for the caller, with a byte 0 behind it. */
DF_FN bool df_give_text(const char *block, char **data, int64_t *length) {
  int64_t bytes = ((const df_array *)block)->bytes;
  *data = malloc((size_t)bytes + 1);
  if (!*data) return false;
  memcpy(*data, block + 32, (size_t)bytes);
  (*data)[bytes] = 0;
  *length = bytes;
  return true;
}

/* Copies an array for the caller: from its words. The length of rows that do not exist is 0. */
DF_FN bool df_give_array(const df_word *words, int rank, int64_t size, void **data, int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    shape[i] = words[2 + i].i < 0 ? 0 : words[2 + i].i;
    count *= shape[i];
  }
  *data = malloc(count > 0 ? (size_t)(count * size) : 1);
  if (!*data) return false;
  if (count > 0) memcpy(*data, words[1].p, (size_t)(count * size));
  return true;
}
