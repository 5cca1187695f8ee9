/**
 * @file Diffeo, a differentiable programming language
 * @license MIT OR Apache-2.0
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

// Operators, loosest first, as in the table "Precedence" of the language reference.
const PREC = {
  pipe: 1,
  or: 2,
  and: 3,
  not: 4,
  compare: 5,
  cons: 6,
  append: 7,
  add: 8,
  multiply: 9,
  negate: 10,
  power: 11,
};

const KEYWORDS = [
  "def", "type", "import", "let", "rec", "in", "fn", "if", "then", "else", "case", "of", "loop", "for", "while",
  "do", "with", "and", "or", "not", "list", "true", "false",
];

/** Elements between commas, of which one may stand after the last. */
const elements = (rule) => seq(rule, repeat(seq(",", rule)), optional(","));

export default grammar({
  name: "diffeo",

  word: ($) => $.identifier,

  extras: ($) => [/[ \t\r\n]/, $.comment, $.doc_comment],

  supertypes: ($) => [$.expression, $.pattern, $.type],

  reserved: {
    global: () => KEYWORDS,
  },

  rules: {
    source_file: ($) => repeat(choice($.import_declaration, $.type_declaration, $.definition)),

    // Lines of three and more `#` are plain comments.
    comment: () => token(choice(/#([^#\n][^\n]*)?/, /###[^\n]*/)),
    doc_comment: () => token(/##([^#\n][^\n]*)?/),

    // Names begin with a letter of any script or `_`. The case of the first letter decides what is named.
    identifier: () =>
      token(
        choice(
          seq(
            new RustRegex("[\\p{Alphabetic}--\\p{Uppercase}]"),
            new RustRegex("[_0-9\\p{Alphabetic}]*"),
            /'*/,
          ),
          seq("_", new RustRegex("[_0-9\\p{Alphabetic}]+"), /'*/),
          /_'+/,
        ),
      ),
    _upper: () =>
      token(seq(new RustRegex("\\p{Uppercase}"), new RustRegex("[_0-9\\p{Alphabetic}]*"), /'*/)),

    // Definitions.

    import_declaration: ($) =>
      seq("import", field("module", alias($.identifier, $.module)), optional(field("names", $.import_list))),

    import_list: ($) =>
      seq("(", optional(elements(choice($.identifier, alias($._upper, $.constructor)))), ")"),

    type_declaration: ($) =>
      seq(
        "type",
        field("name", alias($._upper, $.type_identifier)),
        optional(field("parameters", $.type_parameters)),
        "=",
        field("body", choice($.variants, $.type)),
      ),

    type_parameters: ($) => seq("[", optional(elements(alias($.identifier, $.type_variable))), "]"),

    // One name alone is a type, `type T = A`; what makes it constructors is a `|` or fields.
    variants: ($) =>
      choice(
        seq("|", $._variants),
        seq(alias($._variant_with_fields, $.variant), optional(seq("|", $._variants))),
        seq($.variant, "|", $._variants),
      ),
    _variants: ($) =>
      seq(
        choice($.variant, alias($._variant_with_fields, $.variant)),
        repeat(seq("|", choice($.variant, alias($._variant_with_fields, $.variant)))),
      ),
    variant: ($) => field("name", alias($._upper, $.constructor)),
    _variant_with_fields: ($) =>
      seq(field("name", alias($._upper, $.constructor)), "(", elements($.type), ")"),

    definition: ($) =>
      seq(
        "def",
        field("name", $.identifier),
        optional(
          choice(
            seq(":", field("type", $.type)),
            seq(field("parameters", $.parameters), optional(seq("->", field("return_type", $.type)))),
          ),
        ),
        "=",
        field("body", $.expression),
      ),

    parameters: ($) => seq("(", optional(elements($._annotated)), ")"),

    _annotated: ($) => choice($.pattern, $.annotated_pattern),

    // Types.

    type: ($) => choice($.function_type, $._type_atom),

    function_type: ($) => seq(field("parameter", $._type_atom), "->", field("result", $.type)),

    _type_atom: ($) =>
      choice(
        alias($.identifier, $.type_variable),
        $._type_name,
        $.applied_type,
        $.unit_type,
        $.parenthesized_type,
        $.tuple_type,
        $.record_type,
        $.array_type,
      ),

    _type_name: ($) => choice(alias($._upper, $.type_identifier), $.qualified_type),

    qualified_type: ($) =>
      seq(
        field("module", alias($.identifier, $.module)),
        ".",
        field("name", alias($._upper, $.type_identifier)),
      ),

    applied_type: ($) => seq(field("name", $._type_name), "[", elements($.type), "]"),

    unit_type: () => seq("(", ")"),

    parenthesized_type: ($) => seq("(", $.type, optional(","), ")"),

    tuple_type: ($) => seq("(", $.type, ",", elements($.type), ")"),

    record_type: ($) => seq("{", elements($.field_type), "}"),

    field_type: ($) => seq(field("name", $._field_name), ":", field("type", $.type)),

    array_type: ($) =>
      seq(
        "[",
        optional(field("size", choice(alias($.identifier, $.size), $.integer))),
        "]",
        field("element", $._type_atom),
      ),

    // Any word, or any text in quotes, can name a field.
    _field_name: ($) =>
      choice(
        alias($.identifier, $.field_identifier),
        alias($._upper, $.field_identifier),
        alias($._keyword, $.field_identifier),
        $.string,
      ),

    _keyword: () => choice(...KEYWORDS),

    // Patterns.

    pattern: ($) => choice($.cons_pattern, $._pattern_atom),

    cons_pattern: ($) => seq(field("head", $._pattern_atom), "::", field("tail", $.pattern)),

    _pattern_atom: ($) =>
      choice(
        alias($.identifier, $.variable_pattern),
        $.wildcard,
        $.integer,
        $.real,
        $.negative_literal,
        $.boolean,
        $.string,
        $._constructor_name,
        $.constructor_pattern,
        $.unit_pattern,
        $.parenthesized_pattern,
        $.tuple_pattern,
        $.record_pattern,
      ),

    wildcard: () => "_",

    negative_literal: ($) => seq("-", choice($.integer, $.real)),

    _constructor_name: ($) => choice(alias($._upper, $.constructor), $.qualified_constructor),

    qualified_constructor: ($) =>
      seq(
        field("module", alias($.identifier, $.module)),
        ".",
        field("name", alias($._upper, $.constructor)),
      ),

    constructor_pattern: ($) =>
      seq(field("constructor", $._constructor_name), "(", optional(elements($._annotated)), ")"),

    annotated_pattern: ($) => seq(field("pattern", $.pattern), ":", field("type", $.type)),

    unit_pattern: () => seq("(", ")"),

    parenthesized_pattern: ($) => seq("(", $._annotated, optional(","), ")"),

    tuple_pattern: ($) => seq("(", $._annotated, ",", elements($._annotated), ")"),

    record_pattern: ($) => seq("{", elements($.field_pattern), "}"),

    field_pattern: ($) =>
      seq(field("name", $._field_name), optional(seq("=", field("pattern", $.pattern)))),

    // Expressions. The forms extend as far to the right as they can; they are no operands.

    expression: ($) =>
      choice(
        $.let_expression,
        $.function_expression,
        $.if_expression,
        $.case_expression,
        $.loop_expression,
        $.array_update,
        $._operation,
      ),

    // `in` may be left out before another `let`.
    let_expression: ($) =>
      seq(
        "let",
        field("binding", choice($.value_binding, $.function_binding)),
        choice(seq("in", field("body", $.expression)), field("body", $.let_expression)),
      ),

    value_binding: ($) => seq(field("pattern", $.pattern), "=", field("value", $.expression)),

    function_binding: ($) =>
      seq(
        optional("rec"),
        field("name", $.identifier),
        field("parameters", $.parameters),
        optional(seq("->", field("return_type", $.type))),
        "=",
        field("body", $.expression),
      ),

    function_expression: ($) =>
      seq("fn", field("parameter", $.pattern), "->", field("body", $.expression)),

    if_expression: ($) =>
      seq(
        "if",
        field("condition", $.expression),
        "then",
        field("consequence", $.expression),
        "else",
        field("alternative", $.expression),
      ),

    case_expression: ($) =>
      seq("case", field("value", $.expression), "of", field("arms", $.case_arms)),

    case_arms: ($) =>
      seq("{", optional("|"), $.case_arm, repeat(seq("|", $.case_arm)), optional(","), "}"),

    case_arm: ($) => seq(field("pattern", $.pattern), "->", field("body", $.expression)),

    loop_expression: ($) =>
      seq(
        "loop",
        field("pattern", $.pattern),
        "=",
        field("initial", $.expression),
        choice(seq("for", $._clause), seq("while", field("condition", $.expression))),
        "do",
        field("body", $.expression),
      ),

    _clause: ($) => choice($.count_clause, $.element_clause),

    count_clause: ($) => seq(field("pattern", $.pattern), "<", field("bound", $.expression)),

    element_clause: ($) => seq(field("pattern", $.pattern), "in", field("source", $.expression)),

    array_update: ($) =>
      seq(
        field("array", $._application),
        "with",
        "[",
        elements(field("index", $.expression)),
        "]",
        "=",
        field("value", $.expression),
      ),

    _operation: ($) => choice($.unary_expression, $.binary_expression, $._application),

    unary_expression: ($) =>
      choice(
        prec(PREC.not, seq(field("operator", "not"), field("operand", $._operation))),
        prec(PREC.negate, seq(field("operator", "-"), field("operand", $._operation))),
      ),

    binary_expression: ($) => {
      const table = [
        [prec.left, PREC.pipe, "|>"],
        [prec.left, PREC.or, "or"],
        [prec.left, PREC.and, "and"],
        [prec.left, PREC.compare, choice("==", "!=", "<", "<=", ">", ">=")],
        [prec.right, PREC.cons, "::"],
        [prec.left, PREC.append, "++"],
        [prec.left, PREC.add, choice("+", "-")],
        [prec.left, PREC.multiply, choice("*", "/", "%")],
        [prec.right, PREC.power, "^"],
      ];
      return choice(
        ...table.map(([associate, level, operator]) =>
          associate(
            level,
            seq(field("left", $._operation), field("operator", operator), field("right", $._operation)),
          ),
        ),
      );
    },

    // A name, a literal or something in brackets, with its calls, indices and fields.
    _application: ($) =>
      choice(
        $.identifier,
        alias($._upper, $.constructor),
        $.integer,
        $.real,
        $.string,
        $.boolean,
        $.unit,
        $.parenthesized_expression,
        $.tuple,
        $.array,
        $.comprehension,
        $.list,
        $.record,
        $.record_update,
        $.call,
        $.index_expression,
        $.slice_expression,
        $.field_expression,
      ),

    call: ($) => seq(field("function", $._application), field("arguments", $.arguments)),

    arguments: ($) => seq("(", optional(elements(choice($.expression, $.hole))), ")"),

    hole: () => "_",

    index_expression: ($) =>
      seq(field("array", $._application), "[", elements(field("index", $.expression)), "]"),

    slice_expression: ($) =>
      seq(
        field("array", $._application),
        "[",
        field("start", $.expression),
        "..",
        field("end", $.expression),
        "]",
      ),

    // After a module's name, `.Name` is a constructor; only name resolution knows.
    field_expression: ($) =>
      seq(field("value", $._application), ".", field("field", choice($._field_name, $.integer))),

    unit: () => seq("(", ")"),

    parenthesized_expression: ($) => seq("(", $.expression, optional(","), ")"),

    tuple: ($) => seq("(", $.expression, ",", elements($.expression), ")"),

    array: ($) => seq("[", optional(elements($.expression)), "]"),

    comprehension: ($) =>
      seq("[", field("body", $.expression), "for", elements($._guarded_clause), "]"),

    _guarded_clause: ($) => seq($._clause, optional($.guard)),

    guard: ($) => seq("if", field("condition", $.expression)),

    list: ($) => seq("list", "[", optional(elements($.expression)), "]"),

    record: ($) => seq("{", elements(choice($.field_value, $.shorthand_field)), "}"),

    field_value: ($) => seq(field("name", $._field_name), "=", field("value", $.expression)),

    shorthand_field: ($) => $.identifier,

    record_update: ($) =>
      seq(
        "{",
        field("record", $._application),
        "with",
        elements(choice($.field_value, $.shorthand_field)),
        "}",
      ),

    // Literals.

    integer: () => /[0-9]+/,

    real: () => token(choice(/[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?/, /[0-9]+[eE][+-]?[0-9]+/)),

    boolean: () => choice("true", "false"),

    string: ($) =>
      seq(
        '"',
        repeat(choice(alias(token.immediate(prec(1, /[^"\\\n]+/)), $.string_content), $.escape_sequence)),
        token.immediate('"'),
      ),

    escape_sequence: () => token.immediate(/\\([nt"\\]|u\{[0-9a-fA-F]{1,6}\})/),
  },
});
