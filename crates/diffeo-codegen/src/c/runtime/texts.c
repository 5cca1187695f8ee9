/* Copies an array of texts for the caller, from its words: one block, with the texts behind the array. */
DF_FN bool df_give_texts(const df_word *words, int rank, NAME_text **data, int64_t *shape) {
  int64_t count = 1, bytes = 0;
  for (int i = 0; i < rank; i++) {
    shape[i] = words[2 + i].i < 0 ? 0 : words[2 + i].i;
    count *= shape[i];
  }
  char *const *blocks = (char *const *)(void *)words[1].p;
  for (int64_t i = 0; i < count; i++) {
    int64_t more = ((const df_array *)blocks[i])->bytes + 1 + (int64_t)sizeof(NAME_text);
    if (more > INT64_MAX / 2 - bytes) return false;
    bytes += more;
  }
  NAME_text *texts = malloc((size_t)bytes + 1);
  if (!texts) return false;
  char *to = (char *)(texts + count);
  for (int64_t i = 0; i < count; i++) {
    int64_t length = ((const df_array *)blocks[i])->bytes;
    memcpy(to, blocks[i] + 32, (size_t)length);
    to[length] = 0;
    texts[i].data = to;
    texts[i].length = length;
    to += length + 1;
  }
  *data = texts;
  return true;
}

