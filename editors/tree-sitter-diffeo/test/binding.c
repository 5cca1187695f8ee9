/* Hands the parser to the Node binding of tree-sitter. Node-API alone, so that a C compiler suffices. */
#include <node_api.h>

typedef struct TSLanguage TSLanguage;
const TSLanguage *tree_sitter_diffeo(void);

/* The tag by which the binding `tree-sitter` knows a language. */
static const napi_type_tag LANGUAGE = {0x8AF2E5212AD58ABF, 0xD5006CAD83ABBA16};

NAPI_MODULE_INIT() {
  napi_value language;
  if (napi_create_external(env, (void *)tree_sitter_diffeo(), NULL, NULL, &language) != napi_ok ||
      napi_type_tag_object(env, language, &LANGUAGE) != napi_ok ||
      napi_set_named_property(env, exports, "language", language) != napi_ok) {
    napi_throw_error(env, NULL, "the language cannot be made");
  }
  return exports;
}
