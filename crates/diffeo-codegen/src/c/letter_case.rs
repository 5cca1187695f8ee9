//! Lower and upper case in C: the tables of the characters that have another one, and what looks them up.
//!
//! Out: text for a file of C. The tables are Rust's, so that engines agree.

use std::fmt::Write;

/// What looks characters up.
const LOOKUP: &str = "
typedef struct {
  uint32_t from, to[3];
} df_case;

/* Each character of a text by a table of so many rows, in order. */
DF_FN char *df_text_case(df_context *cx, const char *text, const df_case *table, int64_t rows) {
  const unsigned char *begin = (const unsigned char *)text + 32, *end = begin + df_text_size(text);
  char *block = NULL;
  for (int pass = 0; pass < 2; pass++) {
    int64_t size = 0;
    for (const unsigned char *p = begin; p < end;) {
      int length;
      uint32_t c = df_character(p, end, &length);
      uint32_t to[3] = {c, 0, 0};
      int64_t lo = 0, hi = rows;
      while (lo < hi) {
        int64_t middle = (lo + hi) / 2;
        if (table[middle].from < c)
          lo = middle + 1;
        else
          hi = middle;
      }
      if (lo < rows && table[lo].from == c) memcpy(to, table[lo].to, sizeof to);
      for (int i = 0; i < 3 && (i == 0 || to[i]); i++) {
        char buffer[4];
        int bytes = df_write_character(to[i], buffer);
        if (block) memcpy(block + 32 + size, buffer, (size_t)bytes);
        size += bytes;
      }
      p += length;
    }
    if (!block) block = df_new_array(cx, DF_TEXT, size);
    if (!block) return NULL;
  }
  return block;
}
";

/// Writes tables and functions.
pub fn letter_case(out: &mut String) {
    out.push_str(LOOKUP);
    table(out, "lower", |c| c.to_lowercase().collect());
    table(out, "upper", |c| c.to_uppercase().collect());
}

fn table(out: &mut String, name: &str, of: impl Fn(char) -> Vec<char>) {
    let _ = write!(out, "\nstatic const df_case df_{name}_cases[] = {{");
    let changed = ('\0'..=char::MAX).map(|c| (c, of(c))).filter(|(c, to)| *to != [*c]);
    for (i, (c, to)) in changed.enumerate() {
        out.push_str(if i % 6 == 0 { "\n    " } else { " " });
        let to: Vec<String> = to.iter().map(|c| u32::from(*c).to_string()).collect();
        let _ = write!(out, "{{{}, {{{}}}}},", u32::from(c), to.join(", "));
    }
    let _ = write!(
        out,
        "}};\n\nDF_FN char *df_text_{name}(df_context *cx, const char *text) {{\n  return df_text_case(cx, text, \
         df_{name}_cases, (int64_t)(sizeof df_{name}_cases / sizeof *df_{name}_cases));\n}}\n"
    );
}
