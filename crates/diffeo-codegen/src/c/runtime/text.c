/* Texts, and values as Diffeo writes them. */

DF_FN char *df_text(df_context *cx, const char *bytes, int64_t length) {
  char *block = df_new_array(cx, DF_TEXT, length);
  if (block) memcpy(block + 32, bytes, (size_t)length);
  return block;
}

DF_FN char *df_append_text(df_context *cx, const char *a, const char *b) {
  int64_t m = ((const df_array *)a)->bytes, n = ((const df_array *)b)->bytes;
  char *block = df_new_array(cx, DF_TEXT, m + n);
  if (!block) return NULL;
  memcpy(block + 32, a + 32, (size_t)m);
  memcpy(block + 32 + m, b + 32, (size_t)n);
  return block;
}

/* How many of the bytes before the 0 are sound UTF-8: no more than needed for a character, none of the surrogates. */
DF_FN int64_t df_sound(const char *text) {
  const unsigned char *p = (const unsigned char *)text;
  while (*p) {
    int more = *p < 0x80 ? 0 : *p < 0xc2 ? -1 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : *p < 0xf5 ? 3 : -1;
    if (more < 0) break;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
      break;
    int i = 1;
    while (i <= more && (p[i] & 0xc0) == 0x80) i++;
    if (i <= more) break;
    p += more + 1;
  }
  return (const char *)p - text;
}

/* UTF-8 is ordered as its characters are. */
DF_FN int64_t df_compare_text(const char *a, const char *b) {
  int64_t m = ((const df_array *)a)->bytes, n = ((const df_array *)b)->bytes;
  int order = memcmp(a + 32, b + 32, (size_t)(m < n ? m : n));
  return order ? (order < 0 ? -1 : 1) : (m > n) - (m < n);
}

/* Adds one to the last of the decimal digits; a further digit in front is dropped with its exponent. */
DF_FN void df_next_digits(char *digits, int count, int *exponent) {
  for (int i = count - 1; i >= 0; i--) {
    if (digits[i] < '9') {
      digits[i]++;
      return;
    }
    digits[i] = '0';
  }
  digits[0] = '1';
  ++*exponent;
}

/* The decimal digits of x > 0 in scientific notation, the point being after the first one; glibc and others
 * round correctly. A locale may have another point. */
DF_FN void df_digits(double x, int count, char *digits, int *exponent) {
  char buffer[64];
  snprintf(buffer, sizeof buffer, "%.*e", count - 1, x);
  int n = 0;
  const char *p = buffer;
  for (; *p && *p != 'e'; p++) {
    if (*p >= '0' && *p <= '9' && n < count) digits[n++] = *p;
  }
  digits[n] = 0;
  *exponent = *p == 'e' ? atoi(p + 1) : 0;
}

DF_FN bool df_reads_back(const char *digits, int exponent, double x) {
  char buffer[48];
  snprintf(buffer, sizeof buffer, "%se%d", digits, exponent - (int)strlen(digits) + 1);
  return strtod(buffer, NULL) == x;
}

/* The fewest digits of x > 0 that read back as x, of these the nearest; the upper one of two equally near. */
DF_FN void df_shortest(double x, char *digits, int *exponent) {
  /* All numbers of 15 digits are told apart, but for those near zero, which have fewer bits. */
  int count = x < 2.2250738585072014e-308 ? 1 : 15;
  for (; count <= 17; count++) {
    df_digits(x, count, digits, exponent);
    char upper[24];
    int upper_exponent = *exponent;
    strcpy(upper, digits);
    df_next_digits(upper, count, &upper_exponent);
    bool fits = df_reads_back(digits, *exponent, x);
    bool upper_fits = df_reads_back(upper, upper_exponent, x);
    if (fits && upper_fits) {
      char longer[48];
      int longer_exponent;
      df_digits(x, count + 25, longer, &longer_exponent);
      fits = strncmp(longer, digits, (size_t)count) != 0 || strcmp(longer + count, "5000000000000000000000000") != 0;
    }
    if (!fits && upper_fits) {
      strcpy(digits, upper);
      *exponent = upper_exponent;
    }
    if (fits || upper_fits) break;
  }
  int n = (int)strlen(digits);
  while (n > 1 && digits[n - 1] == '0') digits[--n] = 0;
}

/* Writes x as Diffeo does, into at least 32 bytes; gives the length. */
DF_FN int64_t df_write_real(double x, char *out) {
  char *to = out;
  if (x != x) {
    memcpy(to, "nan", 3);
    return 3;
  }
  if (df_bits(x) < 0) *to++ = '-';
  x = fabs(x);
  if (x == INFINITY || x == 0) {
    memcpy(to, x == 0 ? "0.0" : "inf", 3);
    return to + 3 - out;
  }
  char digits[24];
  int exponent;
  df_shortest(x, digits, &exponent);
  int count = (int)strlen(digits);
  if (x >= 1e16 || x < 1e-4) {
    *to++ = digits[0];
    if (count > 1) {
      *to++ = '.';
      memcpy(to, digits + 1, (size_t)count - 1);
      to += count - 1;
    }
    return to + sprintf(to, "e%d", exponent) - out;
  }
  if (exponent < 0) {
    *to++ = '0';
    *to++ = '.';
    for (int i = -1; i > exponent; i--) *to++ = '0';
    memcpy(to, digits, (size_t)count);
    return to + count - out;
  }
  for (int i = 0; i <= exponent; i++) *to++ = i < count ? digits[i] : '0';
  *to++ = '.';
  if (count <= exponent + 1) *to++ = '0';
  for (int i = exponent + 1; i < count; i++) *to++ = digits[i];
  return to - out;
}

DF_FN char *df_show_real(df_context *cx, double x) {
  char buffer[40];
  return df_text(cx, buffer, df_write_real(x, buffer));
}

DF_FN char *df_show_int(df_context *cx, int64_t n) {
  char buffer[24];
  return df_text(cx, buffer, snprintf(buffer, sizeof buffer, "%lld", (long long)n));
}

DF_FN char *df_show_bool(df_context *cx, bool b) { return df_text(cx, b ? "true" : "false", b ? 4 : 5); }

/* The character at p, and its length in bytes. */
DF_FN uint32_t df_character(const unsigned char *p, const unsigned char *end, int *length) {
  int more = *p < 0xc0 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
  if (more >= end - p) more = 0;
  uint32_t c = more == 0 ? *p : *p & (0x3fu >> more);
  for (int i = 1; i <= more; i++) c = c << 6 | (p[i] & 0x3fu);
  *length = more + 1;
  return c;
}

/* Control characters, line separators and the marks that order or join text. */
DF_FN bool df_escaped(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x2069) || c == 0xfeff;
}

/* Writes a text with quotes and escapes to `out`, if that is not null; gives the length. */
DF_FN int64_t df_write_text(const char *text, char *out) {
  const unsigned char *p = (const unsigned char *)text + 32, *end = p + ((const df_array *)text)->bytes;
  int64_t length = 0;
  char buffer[16];
  while (true) {
    int bytes = 1, size = 1;
    const char *from = buffer;
    buffer[0] = '"';
    if (p != end && length != 0) {
      uint32_t c = df_character(p, end, &bytes);
      if (c == '\n' || c == '\t' || c == '"' || c == '\\') {
        size = 2;
        buffer[0] = '\\';
        buffer[1] = c == '\n' ? 'n' : c == '\t' ? 't' : (char)c;
      } else if (df_escaped(c)) {
        size = snprintf(buffer, sizeof buffer, "\\u{%x}", (unsigned)c);
      } else {
        from = (const char *)p;
        size = bytes;
      }
    }
    if (out) memcpy(out + length, from, (size_t)size);
    if (length != 0 && p == end) return length + size;
    if (length != 0) p += bytes;
    length += size;
  }
}

DF_FN char *df_show_text(df_context *cx, const char *text) {
  char *block = df_new_array(cx, DF_TEXT, df_write_text(text, NULL));
  if (block) df_write_text(text, block + 32);
  return block;
}

/* Prints a text without what a terminal would act on. */
DF_FN void df_print_label(const char *text, int64_t length) {
  const unsigned char *p = (const unsigned char *)text, *end = p + length;
  while (p != end) {
    int bytes;
    uint32_t c = df_character(p, end, &bytes);
    if (df_escaped(c) && c != '\n' && c != '\t')
      fprintf(stderr, "\\u{%x}", (unsigned)c);
    else
      fwrite(p, 1, (size_t)bytes, stderr);
    p += bytes;
  }
}

DF_FN void df_print_line(df_context *cx, const char *label, int64_t m, const char *value, int64_t n) {
  if (cx->host.trace) {
    cx->host.trace(cx->host.data, label, m, value, n);
    return;
  }
  df_print_label(label, m);
  fputs(": ", stderr);
  fwrite(value, 1, (size_t)n, stderr);
  fputc('\n', stderr);
}

DF_FN void df_trace(df_context *cx, const char *label, const char *value) {
  df_print_line(cx, label + 32, ((const df_array *)label)->bytes, value + 32, ((const df_array *)value)->bytes);
}

DF_FN DF_COLD void df_warn(df_context *cx, const char *code, const char *message, const char *help, int64_t place);

DF_FN void df_progress(df_context *cx, const char *label, int64_t step, double value) {
  if (cx->host.progress) {
    cx->host.progress(cx->host.data, label + 32, ((const df_array *)label)->bytes, step, value);
  }
}

/* Operations on texts: positions count bytes; each has a value whatever its operands are. */

DF_FN int64_t df_text_size(const char *text) { return ((const df_array *)text)->bytes; }

DF_FN int64_t df_text_byte(const char *text, int64_t i) {
  return i >= 0 && i < df_text_size(text) ? (int64_t)(unsigned char)text[32 + i] : -1;
}

/* The nearest position at or before this one where a character begins. */
DF_FN int64_t df_boundary(const char *text, int64_t at) {
  int64_t size = df_text_size(text);
  if (at >= size) return size;
  if (at < 0) return 0;
  while (at > 0 && ((unsigned char)text[32 + at] & 0xc0) == 0x80) at--;
  return at;
}

DF_FN char *df_text_slice(df_context *cx, const char *text, int64_t lo, int64_t hi) {
  lo = df_boundary(text, lo);
  hi = df_boundary(text, hi);
  return df_text(cx, text + 32 + lo, hi > lo ? hi - lo : 0);
}

DF_FN int64_t df_text_find(const char *part, const char *text, int64_t from) {
  int64_t m = df_text_size(part), n = df_text_size(text);
  const char *p = part + 32, *s = text + 32;
  for (int64_t i = df_boundary(text, from); i + m <= n; i++) {
    if (m == 0) return i;
    const char *next = memchr(s + i, p[0], (size_t)(n - m - i + 1));
    if (!next) return -1;
    i = next - s;
    if (memcmp(next, p, (size_t)m) == 0) return i;
  }
  return -1;
}

/* Writes a character in UTF-8, and gives its length. */
DF_FN int df_write_character(uint32_t c, char *out) {
  unsigned char *to = (unsigned char *)out;
  if (c < 0x80) {
    to[0] = (unsigned char)c;
    return 1;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  to[0] = (unsigned char)((more == 1 ? 0xc0u : more == 2 ? 0xe0u : 0xf0u) | c >> (6 * more));
  for (int i = 1; i <= more; i++) to[i] = (unsigned char)(0x80u | (c >> (6 * (more - i)) & 0x3fu));
  return more + 1;
}

DF_FN char *df_text_character(df_context *cx, int64_t code) {
  char buffer[4];
  bool is = code >= 0 && code < 0x110000 && !(code >= 0xd800 && code < 0xe000);
  return df_text(cx, buffer, df_write_character(is ? (uint32_t)code : 0xfffd, buffer));
}

/* A locale may have another point, and one of several bytes. */
DF_FN char *df_text_digits(df_context *cx, int64_t count, double x) {
  char buffer[512], out[512];
  if (x != x) return df_text(cx, "nan", 3);
  if (x == INFINITY || x == -INFINITY) return x < 0 ? df_text(cx, "-inf", 4) : df_text(cx, "inf", 3);
  snprintf(buffer, sizeof buffer, "%.*f", (int)(count < 0 ? 0 : count > 100 ? 100 : count), x);
  int64_t n = 0;
  bool pointed = false;
  for (const char *p = buffer; *p; p++) {
    if ((*p >= '0' && *p <= '9') || *p == '-') {
      out[n++] = *p;
    } else if (!pointed) {
      out[n++] = '.';
      pointed = true;
    }
  }
  return df_text(cx, out, n);
}

DF_FN bool df_is_word(const char *s, int64_t n, const char *word) {
  if (n != (int64_t)strlen(word)) return false;
  for (int64_t i = 0; i < n; i++) {
    char c = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] - 'A' + 'a') : s[i];
    if (c != word[i]) return false;
  }
  return true;
}

/* The number is read as an integer with an exponent, for a locale may have another point. */
DF_FN double df_text_number(const char *text) {
  const char *s = text + 32, *end = s + df_text_size(text);
  bool negative = s < end && *s == '-';
  if (s < end && (*s == '-' || *s == '+')) s++;
  if (df_is_word(s, end - s, "inf") || df_is_word(s, end - s, "infinity")) return negative ? -INFINITY : INFINITY;
  char *digits = malloc((size_t)(end - s) + 32);
  if (!digits) return NAN;
  int64_t n = 0, exponent = 0;
  bool pointed = false, good = true;
  for (; s < end && ((*s >= '0' && *s <= '9') || (*s == '.' && !pointed)); s++) {
    if (*s == '.') {
      pointed = true;
    } else {
      digits[n++] = *s;
      exponent -= pointed;
    }
  }
  good = n > 0;
  if (good && s < end && (*s == 'e' || *s == 'E')) {
    s++;
    bool minus = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    good = s < end;
    int64_t given = 0;
    for (; s < end && *s >= '0' && *s <= '9'; s++) given = given < 1000000000000 ? 10 * given + (*s - '0') : given;
    exponent += minus ? -given : given;
  }
  double x = NAN;
  if (good && s == end) {
    /* Beyond these, the number is 0 or infinite however many digits there are. */
    if (exponent < -1000000000) exponent = -1000000000;
    if (exponent > 1000000000) exponent = 1000000000;
    snprintf(digits + n, 32, "e%lld", (long long)exponent);
    x = strtod(digits, NULL);
  }
  free(digits);
  return negative ? -x : x;
}
