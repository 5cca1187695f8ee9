typedef struct NAME_context NAME_context;

/* What is not in the header stays here. */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

NAME_context *NAME_new(void) { return (NAME_context *)df_context_new(); }

void NAME_free(NAME_context *context) { df_context_free((df_context *)context); }

void NAME_release(void *data) { free(data); }

const char *NAME_message(const NAME_context *context) {
  const df_context *cx = (const df_context *)context;
  if (cx->status == 0) return "";
  return cx->report ? cx->report : "the memory is used up";
}

const char *NAME_code(int32_t status) {
  return status > 0 && status < (int32_t)(sizeof df_codes / sizeof *df_codes) ? df_codes[status] : "";
}

void NAME_interrupt(NAME_context *context) { ((df_context *)context)->stack_end = (char *)UINTPTR_MAX; }

void NAME_set_memory_limit(NAME_context *context, int64_t bytes) {
  ((df_context *)context)->limit = bytes > 0 ? bytes : 0;
}

void NAME_set_trace(NAME_context *context,
                    void (*trace)(void *data, const char *label, int64_t label_bytes, const char *value,
                                  int64_t value_bytes),
                    void *data) {
  df_context *cx = (df_context *)context;
  cx->host.trace = trace;
  cx->host.data = data;
}
