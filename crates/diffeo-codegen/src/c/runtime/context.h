/* The runtime of compiled Diffeo programs: its types.
 *
 * Nothing here is global and mutable: everything a run needs is in its context, so contexts can be used by
 * threads at the same time, each by one. */

/* A block of memory that is counted: this, then the fields of a box, or the data of an array or a text. */
typedef struct df_block {
  int64_t count;  /* how many references there are; negative: it is never freed */
  int64_t layout; /* an index into the layouts of the program */
} df_block;

/* The count of blocks that are never freed. */
#define DF_STATIC (INT64_MIN / 2)

/* An array or a text; the data follow. */
typedef struct df_array {
  int64_t count, layout;
  int64_t bytes;    /* of data */
  int64_t capacity; /* bytes that there is room for */
} df_array;

/* An argument or a result of a program. */
typedef union df_word {
  int64_t i;
  double x;
  bool b;
  char *p;
} df_word;

/* A stack of tuples. */
typedef struct df_stack {
  int64_t count, layout;
  int64_t length, room; /* in tuples */
  char *tuples;
} df_stack;

enum df_kind { DF_PLAIN, DF_TEXT, DF_REFERENCES, DF_FIELDS, DF_STACK };

/* What the words of a block are. */
typedef struct df_layout {
  enum df_kind kind;
  int64_t words;              /* of the fields, or of a tuple */
  const unsigned char *flags; /* of each word, whether it refers to a block */
} df_layout;

/* A program; several can share this file. */
typedef struct df_program {
  const df_layout *layouts;
  int64_t first_constant, constant_words; /* where its constants are in those of the context */
  const unsigned char *constant_references; /* of each word, whether it refers to a block */
} df_program;

/* Blocks of at most so many bytes come from chunks, by size; larger ones from malloc. */
#define DF_SMALL 512
#define DF_CLASSES (DF_SMALL / 16 + 1)

struct df_chunk {
  struct df_chunk *next;
  int64_t bytes;
};

struct df_large {
  struct df_large *next, *previous;
  int64_t bytes, unused;
};

/* Of the calls that were open at an error the innermost and outermost are kept. */
#define DF_NOTES 64

typedef struct df_note_t {
  uint32_t site, callee;
} df_note_t;

/* What the program that runs this one provides; each may be null. */
typedef struct df_host {
  void *data;
  /* Prints `label: value`. */
  void (*trace)(void *data, const char *label, int64_t label_bytes, const char *value, int64_t value_bytes);
  void (*progress)(void *data, const char *label, int64_t label_bytes, int64_t step, double value);
  /* Why the run is to end: 0 if it is not. */
  int32_t (*stop)(void *data);
} df_host;

/* A run. */
typedef struct df_context {
  char *volatile stack_end; /* the stack may not grow below this */
  int64_t *constants;       /* the words of the constants */
  const df_layout *layouts; /* of the program that runs */
  char *bump, *bump_end;    /* what is left of the last chunk */
  void *free[DF_CLASSES];   /* freed blocks by size; each begins with the address of the next one */
  int64_t live;             /* how many blocks there are */
  int64_t in_use, limit;    /* bytes of chunks and large blocks; the limit is 0 if there is none */
  int64_t next_chunk;
  struct df_chunk *chunks;
  struct df_large *large;
  uint32_t error, site; /* of df_raises, counted from 1; 0: none */
  int32_t stopped;      /* what df_host.stop said */
  int64_t words[3];     /* the operands that the error names */
  char *message;        /* the text that the error names */
  int64_t message_bytes;
  int64_t notes; /* of the error: how many calls were open */
  df_note_t innermost[DF_NOTES], outermost[DF_NOTES]; /* the latter a ring */
  df_host host;
  char *thread_low, *thread_high; /* the stack that stack_end was made for */
  char *report;                   /* the text of the last error, for callers */
  int32_t status;                 /* of the last call, for callers */
} df_context;

/* An error that a program raises. */
typedef struct df_raise_t {
  int32_t kind; /* of enum df_error */
  const char *what;
} df_raise_t;

enum df_error {
  DF_OVERFLOW_INFIX, /* a op b does not fit */
  DF_OVERFLOW_CALL,  /* op(a, b) does not fit */
  DF_OVERFLOW_UNARY, /* op(a) does not fit */
  DF_DIVISION,
  DF_EXPONENT,
  DF_SHIFT,
  DF_ROUND,
  DF_INDEX,
  DF_SLICE,
  DF_COUNT,
  DF_SIZE,
  DF_ROWS,
  DF_FAIL,
  DF_SHAPE,
  DF_CYCLE,
  DF_MEMORY,
  DF_STOPPED,
  DF_NAN,
  DF_ORDER
};

/* The blocks of the texts of the program, and of its boxes without fields. */
#define DF_TEXT_BLOCK(number) ((char *)&df_text_##number)
#define DF_STATIC_BLOCK(layout) ((char *)&df_static_##layout)
