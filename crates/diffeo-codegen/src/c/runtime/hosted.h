/* A program whose runtime is that of the process that it is loaded into. */

/* The beginning of the context. */
typedef struct df_context {
  char *volatile stack_end; /* the stack may not grow below this */
  char *runtimes;           /* the runtime's own */
  int64_t *constants;       /* the words of the constants */
  char *const *texts;       /* the blocks of the texts */
  char *const *statics;     /* by layout, the blocks of boxes without fields */
} df_context;

#define DF_TEXT_BLOCK(number) (cx->texts[number])
#define DF_STATIC_BLOCK(layout) (cx->statics[layout])

#define df_box(cx, layout, words) diffeo_box(cx, layout)
#define df_new_array diffeo_array
#define df_new_zeros diffeo_zeros
#define df_free diffeo_free
#define df_retain_all(data, count) diffeo_retain_all(cx, data, count)
#define df_append_text diffeo_append_text
#define df_compare_text(a, b) diffeo_compare_text(cx, a, b)
#define df_show_real diffeo_show_real
#define df_show_int diffeo_show_int
#define df_show_bool diffeo_show_bool
#define df_show_text diffeo_show_text
#define df_text_size(text) diffeo_text_size(cx, text)
#define df_text_byte(text, i) diffeo_text_byte(cx, text, i)
#define df_text_slice diffeo_text_slice
#define df_text_find(part, text, from) diffeo_text_find(cx, part, text, from)
#define df_text_character diffeo_text_character
#define df_text_lower diffeo_text_lower
#define df_text_upper diffeo_text_upper
#define df_text_digits diffeo_text_digits
#define df_text_number(text) diffeo_text_number(cx, text)
#define df_trace diffeo_trace
#define df_progress diffeo_progress
#define df_warn diffeo_warn
#define df_sort_reals diffeo_sort_reals
#define df_sort_ints diffeo_sort_ints
#define df_sort_texts diffeo_sort_texts
/* The end of the stack is as high if the run is to end, or to ask whether it goes on. */
#define df_poll(cx) ((uintptr_t)(cx)->stack_end >= UINTPTR_MAX - 1 && diffeo_poll(cx) != 0)
#define df_deep(cx) (diffeo_deep(cx) != 0)
#define df_stack_new diffeo_stack_new
#define df_stack_grow diffeo_stack_grow
#define df_raise diffeo_raise
#define df_raise_text(cx, error, site, text) diffeo_raise(cx, error, site, (int64_t)(intptr_t)(text), 0, 0)
#define df_note(cx, site, callee) diffeo_note(cx, callee, site)
