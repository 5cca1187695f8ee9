/* Data from JSON: an object of numbers and of arrays of them, by name; fields of inner objects are `outer_inner`. */

#define MOST_INDICES 8

/* What is expected: 'r' for Real, 'i' for Int, 'b' for Bool; what the program calls its sizes. */
typedef struct datum { const char *name; char kind; int rank; const char *sizes[MOST_INDICES]; } datum;

/* What was given: its sizes, -1 where they are not known, and its elements. */
typedef struct given { bool there; int64_t shape[MOST_INDICES]; int64_t count, room; char *data; } given;

typedef struct reader { const char *at; char message[300]; int depth; } reader;

static bool wrong(reader *r, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (!r->message[0]) vsnprintf(r->message, sizeof r->message, format, arguments);
  va_end(arguments);
  return false;
}

static const char *here(const reader *r) { return *r->at ? r->at : "(the end)"; }

static char next(reader *r) {
  while (*r->at && strchr(" \t\r\n", *r->at)) r->at++;
  return *r->at;
}

static bool skip(reader *r, char c) {
  if (next(r) != c) return false;
  r->at++;
  return true;
}

/* A text, as far as it fits. */
static bool read_text(reader *r, char *to, size_t room) {
  if (!skip(r, '"')) return wrong(r, "JSON: a name in quotes is expected at `%.20s`", here(r));
  size_t n = 0;
  for (; *r->at && *r->at != '"'; r->at++) {
    if (*r->at == '\\' && r->at[1]) r->at++;
    if (n + 1 < room) to[n++] = *r->at;
  }
  to[n] = 0;
  return skip(r, '"') || wrong(r, "JSON: a quote is missing");
}

static bool read_number(reader *r, const datum *d, given *g) {
  bool quoted = skip(r, '"');
  char c = next(r), *end = NULL;
  double x = 0;
  int64_t n = 0;
  if (!strncmp(r->at, "true", 4) || !strncmp(r->at, "false", 5)) {
    n = c == 't';
    x = (double)n;
    end = (char *)(intptr_t)r->at + (n ? 4 : 5);
  } else if (c && strchr("+-.0123456789nNiI", c)) {
    x = strtod(r->at, &end);
    if (x >= -9223372036854775808.0 && x < 9223372036854775808.0) n = (int64_t)x;
    char *whole;
    long long exact = strtoll(r->at, &whole, 10);
    if (whole == end) n = exact;
  }
  if (!end || end == r->at) return wrong(r, "`%s` is no number at `%.20s`", d->name, here(r));
  if (d->kind != 'r' && (double)n != x) return wrong(r, "`%s` has %g, which is no Int", d->name, x);
  if (d->kind == 'b' && (n < 0 || n > 1)) return wrong(r, "`%s` has %g, which is no Bool", d->name, x);
  r->at = end;
  if (quoted && !skip(r, '"')) return wrong(r, "`%s` is no number at `%.20s`", d->name, here(r));
  if (g->count == g->room) {
    g->room = 2 * g->room + 8;
    char *more = realloc(g->data, (size_t)g->room * 8);
    if (!more) return wrong(r, "there is no memory for `%s`", d->name);
    g->data = more;
  }
  if (d->kind == 'r') ((double *)(void *)g->data)[g->count++] = x;
  if (d->kind == 'i') ((int64_t *)(void *)g->data)[g->count++] = n;
  if (d->kind == 'b') ((bool *)(void *)g->data)[g->count++] = n != 0;
  return true;
}

static bool read_value(reader *r, const datum *d, given *g, int depth) {
  if (next(r) != '[') {
    if (depth == d->rank) return read_number(r, d, g);
    return wrong(r, "`%s` has %d indices, and %d are expected", d->name, depth, d->rank);
  }
  if (depth == d->rank) return wrong(r, "`%s` has more than %d indices", d->name, d->rank);
  skip(r, '[');
  int64_t n = 0;
  for (; next(r) != ']'; n++) {
    if (n > 0 && !skip(r, ',')) return wrong(r, "JSON: a comma is expected in `%s` at `%.20s`", d->name, here(r));
    if (!read_value(r, d, g, depth + 1)) return false;
  }
  skip(r, ']');
  if (g->shape[depth] >= 0 && g->shape[depth] != n)
    return wrong(r, "`%s` has rows of %lld and of %lld elements", d->name, (long long)g->shape[depth], (long long)n);
  g->shape[depth] = n;
  return true;
}

/* Passes over a value of any kind. */
static bool pass(reader *r) {
  char text[2];
  int depth = 0;
  do {
    char c = next(r);
    if (c == 0) return wrong(r, "JSON: it ends within a value");
    if (c == '"') {
      if (!read_text(r, text, sizeof text)) return false;
      continue;
    }
    if (strchr("[{", c)) depth++;
    if (strchr("]}", c)) depth--;
    r->at++;
    while (depth == 0 && *r->at && !strchr(",]}", *r->at)) r->at++;
  } while (depth > 0);
  return true;
}

/* Reads the fields of an object that are expected; others are passed over. */
static bool read_object(reader *r, const char *before, const datum *expected, given *found, int count) {
  if (!skip(r, '{')) return wrong(r, "JSON: an object is expected at `%.20s`", here(r));
  if (++r->depth > 100) return wrong(r, "JSON: objects are nested too deep");
  for (int n = 0; next(r) != '}'; n++) {
    char key[200], name[420];
    if (n > 0 && !skip(r, ',')) return wrong(r, "JSON: a comma is expected at `%.20s`", here(r));
    if (!read_text(r, key, sizeof key)) return false;
    if (!skip(r, ':')) return wrong(r, "JSON: a colon is expected behind `%s`", key);
    snprintf(name, sizeof name, "%.200s%s", before, key);
    int i = 0;
    while (i < count && strcmp(expected[i].name, name)) i++;
    if (next(r) == '{') {
      snprintf(name, sizeof name, "%.200s%s_", before, key);
      if (!read_object(r, name, expected, found, count)) return false;
    } else if (i == count) {
      if (!pass(r)) return false;
    } else {
      found[i].there = true;
      found[i].count = 0;
      for (int j = 0; j < MOST_INDICES; j++) found[i].shape[j] = -1;
      if (!read_value(r, expected + i, found + i, 0)) return false;
    }
  }
  r->depth--;
  return skip(r, '}');
}

