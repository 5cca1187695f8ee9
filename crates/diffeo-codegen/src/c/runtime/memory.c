/* Memory: blocks come from chunks by size, so all of them can be freed at once. */

/* Counts bytes that are asked of the system; false if they are more than allowed. */
DF_FN bool df_charge(df_context *cx, int64_t bytes) {
  if (bytes < 0 || (cx->limit && bytes > cx->limit - cx->in_use)) return false;
  cx->in_use += bytes;
  return true;
}

DF_FN DF_COLD void *df_alloc_large(df_context *cx, int64_t bytes, bool zero) {
  if (bytes > INT64_MAX - 64) return NULL;
  int64_t total = bytes + (int64_t)sizeof(struct df_large);
  if ((uint64_t)total > SIZE_MAX / 2 || !df_charge(cx, total)) return NULL;
  struct df_large *large = zero ? calloc(1, (size_t)total) : malloc((size_t)total);
  if (!large) {
    cx->in_use -= total;
    return NULL;
  }
  large->bytes = total;
  large->previous = NULL;
  large->next = cx->large;
  if (cx->large) cx->large->previous = large;
  cx->large = large;
  return large + 1;
}

DF_FN DF_COLD void *df_alloc_chunk(df_context *cx, int64_t size) {
  int64_t bytes = cx->next_chunk;
  if (!df_charge(cx, bytes)) {
    bytes = 4096;
    if (!df_charge(cx, bytes)) return NULL;
  }
  struct df_chunk *chunk = malloc((size_t)bytes);
  if (!chunk) {
    cx->in_use -= bytes;
    return NULL;
  }
  if (cx->next_chunk < (1 << 20)) cx->next_chunk *= 2;
  chunk->bytes = bytes;
  chunk->next = cx->chunks;
  cx->chunks = chunk;
  cx->bump = (char *)(chunk + 1) + size;
  cx->bump_end = (char *)chunk + bytes;
  return chunk + 1;
}

/* So many bytes, aligned to 16; null if there are none left. */
DF_FN void *df_alloc(df_context *cx, int64_t bytes) {
  if (DF_UNLIKELY(bytes > DF_SMALL)) return df_alloc_large(cx, bytes, false);
  int64_t class = (bytes + 15) >> 4;
  void *block = cx->free[class];
  if (block) {
    cx->free[class] = *(void **)block;
    return block;
  }
  int64_t size = class << 4;
  if (DF_UNLIKELY(cx->bump_end - cx->bump < size)) return df_alloc_chunk(cx, size);
  block = cx->bump;
  cx->bump += size;
  return block;
}

/* Gives back what df_alloc gave for so many bytes. */
DF_FN void df_dealloc(df_context *cx, void *block, int64_t bytes) {
  if (bytes > DF_SMALL) {
    struct df_large *large = (struct df_large *)block - 1;
    cx->in_use -= large->bytes;
    if (large->next) large->next->previous = large->previous;
    if (large->previous)
      large->previous->next = large->next;
    else
      cx->large = large->next;
    free(large);
    return;
  }
  int64_t class = (bytes + 15) >> 4;
  *(void **)block = cx->free[class];
  cx->free[class] = block;
}

DF_FN char *df_box(df_context *cx, int64_t layout, int64_t words) {
  df_block *block = df_alloc(cx, 16 + 8 * words);
  if (DF_UNLIKELY(!block)) return NULL;
  block->count = 1;
  block->layout = layout;
  cx->live++;
  return (char *)block;
}

DF_FN char *df_array_block(df_context *cx, df_array *block, int64_t layout, int64_t bytes) {
  block->count = 1;
  block->layout = layout;
  block->bytes = bytes;
  block->capacity = bytes;
  cx->live++;
  return (char *)block;
}

DF_FN char *df_new_array(df_context *cx, int64_t layout, int64_t bytes) {
  if (DF_UNLIKELY((uint64_t)bytes > INT64_MAX - 64)) return NULL;
  df_array *block = df_alloc(cx, 32 + bytes);
  return DF_UNLIKELY(!block) ? NULL : df_array_block(cx, block, layout, bytes);
}

DF_FN char *df_new_zeros(df_context *cx, int64_t layout, int64_t bytes) {
  if (DF_UNLIKELY((uint64_t)bytes > INT64_MAX - 64)) return NULL;
  bool large = 32 + bytes > DF_SMALL;
  df_array *block = large ? df_alloc_large(cx, 32 + bytes, true) : df_alloc(cx, 32 + bytes);
  if (DF_UNLIKELY(!block)) return NULL;
  if (!large) memset(block + 1, 0, (size_t)bytes);
  return df_array_block(cx, block, layout, bytes);
}

/* Drops a reference to a block; if it was the last one, puts the block before those to be freed. A block to
 * be freed has the address of the next one in the place of its count. */
DF_FN df_block *df_drop(char *reference, df_block *list) {
  df_block *block = (df_block *)reference;
  if (!block || block->count < 0) return list;
  if (block->count > 1) {
    block->count--;
    return list;
  }
  block->count = (int64_t)(intptr_t)list;
  return block;
}

DF_FN df_block *df_drop_words(const char *words, const df_layout *layout, df_block *list) {
  for (int64_t i = 0; i < layout->words; i++) {
    if (layout->flags[i]) list = df_drop(((char *const *)words)[i], list);
  }
  return list;
}

/* Frees a block whose last reference is gone, and what it alone referred to. */
DF_FN void df_free(df_context *cx, char *reference) {
  df_block *list = (df_block *)reference;
  list->count = 0;
  while (list) {
    df_block *block = list;
    const df_layout *layout = &cx->layouts[block->layout];
    int64_t bytes = 0;
    list = (df_block *)(intptr_t)block->count;
    switch (layout->kind) {
    case DF_PLAIN:
    case DF_TEXT:
      bytes = 32 + ((df_array *)block)->capacity;
      break;
    case DF_REFERENCES: {
      int64_t data = ((df_array *)block)->bytes;
      bytes = 32 + ((df_array *)block)->capacity;
      char **references = (char **)((df_array *)block + 1);
      for (int64_t i = 0; i < data / 8; i++) list = df_drop(references[i], list);
      break;
    }
    case DF_FIELDS:
      bytes = 16 + 8 * layout->words;
      list = df_drop_words((char *)(block + 1), layout, list);
      break;
    case DF_STACK: {
      df_stack *stack = (df_stack *)block;
      int64_t width = 8 * layout->words;
      bytes = sizeof(df_stack);
      for (int64_t i = 0; i < stack->length; i++) {
        list = df_drop_words(stack->tuples + i * width, layout, list);
      }
      if (stack->tuples) df_dealloc(cx, stack->tuples, stack->room * width);
      break;
    }
    }
    df_dealloc(cx, block, bytes);
    cx->live--;
  }
}

DF_FN void df_release(df_context *cx, char *reference) {
  df_block *list = df_drop(reference, NULL);
  if (list) df_free(cx, (char *)list);
}

DF_FN void df_retain_all(char *data, int64_t count) {
  df_block **blocks = (df_block **)data;
  for (int64_t i = 0; i < count; i++) {
    if (blocks[i] && blocks[i]->count >= 0) blocks[i]->count++;
  }
}

DF_FN char *df_stack_new(df_context *cx, int64_t layout) {
  df_stack *stack = df_alloc(cx, sizeof(df_stack));
  if (DF_UNLIKELY(!stack)) return NULL;
  stack->count = 1;
  stack->layout = layout;
  stack->length = stack->room = 0;
  stack->tuples = NULL;
  cx->live++;
  return (char *)stack;
}

/* Makes room for one more tuple. */
DF_FN bool df_stack_grow(df_context *cx, char *reference) {
  df_stack *stack = (df_stack *)reference;
  if (stack->length < stack->room) return true;
  int64_t width = 8 * cx->layouts[stack->layout].words;
  int64_t room = stack->room < 8 ? 8 : stack->room;
  if (room > INT64_MAX / 4 / (width + 1)) return false;
  room *= 2;
  char *tuples = df_alloc(cx, room * width);
  if (DF_UNLIKELY(!tuples)) return false;
  if (stack->tuples) {
    memcpy(tuples, stack->tuples, (size_t)(stack->length * width));
    df_dealloc(cx, stack->tuples, stack->room * width);
  }
  stack->tuples = tuples;
  stack->room = room;
  return true;
}

/* Frees every block at once: after an error, or at the end. */
DF_FN void df_free_all(df_context *cx) {
  while (cx->large) {
    struct df_large *large = cx->large;
    cx->large = large->next;
    free(large);
  }
  while (cx->chunks) {
    struct df_chunk *chunk = cx->chunks;
    cx->chunks = chunk->next;
    free(chunk);
  }
  memset(cx->free, 0, sizeof cx->free);
  cx->bump = cx->bump_end = NULL;
  cx->live = cx->in_use = 0;
  cx->next_chunk = 16384;
  /* The values of the constants are gone. */
  memset(cx->constants, 0, 8 * DF_CONSTANT_WORDS);
}

/* Drops the values of the constants. */
DF_FN void df_release_constants(df_context *cx) {
  for (int64_t p = 0; p < DF_PROGRAMS; p++) {
    const df_program *program = &df_programs[p];
    cx->layouts = program->layouts;
    for (int64_t i = 0; i < program->constant_words; i++) {
      if (program->constant_references[i]) df_release(cx, *(char **)(cx->constants + program->first_constant + i));
    }
  }
  memset(cx->constants, 0, 8 * DF_CONSTANT_WORDS);
}

DF_FN df_context *df_context_new(void) {
  df_context *cx = calloc(1, sizeof(df_context));
  if (!cx) return NULL;
  cx->constants = calloc(DF_CONSTANT_WORDS + 1, 8);
  if (!cx->constants) {
    free(cx);
    return NULL;
  }
  cx->next_chunk = 16384;
  return cx;
}

DF_FN void df_context_free(df_context *cx) {
  if (!cx) return;
  df_free_all(cx);
  free(cx->constants);
  free(cx->message);
  free(cx->report);
  free(cx);
}

/* Whether the run is to end. */
DF_FN bool df_poll(df_context *cx) {
  if (cx->stack_end == (char *)UINTPTR_MAX) return true;
  if (!cx->host.stop) return false;
  cx->stopped = cx->host.stop(cx->host.data);
  return cx->stopped != 0;
}

/* Whether the run is to end or has no stack left, where one of both holds. */
#define df_deep(cx) true
