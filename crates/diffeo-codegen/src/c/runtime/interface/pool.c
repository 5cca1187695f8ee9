/* Contexts that no call uses: each call takes one of its own, so any thread may call. */
static _Atomic(NAME_context *) idle[64];

static NAME_context *take_context(void) {
  for (int i = 0; i < 64; i++) {
    NAME_context *context = atomic_exchange(&idle[i], NULL);
    if (context) return context;
  }
  return NAME_new();
}

static void give_context(NAME_context *context) {
  for (int i = 0; i < 64; i++) {
    NAME_context *none = NULL;
    if (atomic_compare_exchange_strong(&idle[i], &none, context)) return;
  }
  NAME_free(context);
}

