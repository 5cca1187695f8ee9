#!/bin/sh
# Makes the first inputs of the fuzz targets, below corpus/: every case of tests/lang, every example and
# module of the standard library as a program; a few small data files.
set -eu
cd "$(dirname "$0")"
for target in parser front_end evaluator data; do mkdir -p "corpus/$target"; done

# A case of tests/lang begins at a line `#: name`; directives follow, then the program. Of `#d f at X`, which
# says where a function is to be differentiated, a program is made.
find ../tests/lang -name '*.deo' | sort | while read -r file; do
  stem=$(basename "$file" .deo)
  awk -v stem="corpus/parser/$(basename "$(dirname "$file")")-$stem" '
    function flush() { if (main != "") print "def main = (" main ")" > out; main = "" }
    /^#: / { flush(); close(out); out = sprintf("%s-%03d", stem, ++n); next }
    out != "" && /^#d1? / {
      sub(/^#d1? /, ""); at = match($0, / at [^@]*$/)
      f = substr($0, 1, at - 1); x = substr($0, at + 4)
      main = main (main == "" ? "" : ", ") "let f = (" f ") let x = " x " in rd(f, x, f(x))"
      next
    }
    out != "" && !/^#([=~!?>]|kinks) / { print > out }
    END { flush() }' "$file"
done
cp ../std/*.deo ../examples/*.deo corpus/parser
cp corpus/parser/* corpus/front_end
# The first byte of an input of `evaluator` says how it is run: of these, as text, kinks ignored.
for file in corpus/parser/*; do
  { printf 0; cat "$file"; } > "corpus/evaluator/$(basename "$file")"
done
# Any bytes are choices for the generator of programs: here of constants (0201) and of functions (0303).
for i in 1 2 3 4 5 6 7 8 9; do
  gzip -9nc ../std/prelude.deo | tail -c "+$((i * 700))" | head -c 600 > corpus/choices
  { printf '\201'; cat corpus/choices; } > "corpus/evaluator/program-$i"
  { printf '\303'; cat corpus/choices; } > "corpus/evaluator/function-$i"
done
rm corpus/choices

# The first byte of an input of `data` is the format, the second the type.
seed() { # name, bytes
  printf "$2" > "corpus/data/$1"
}
for ty in 0 1 2 3 4 5 6 7 8 9; do
  seed "json-number-$ty" "0${ty}1.5e-3"
  seed "json-array-$ty" "0${ty}[[1, 2.5], [\"nan\", 3]]"
  seed "json-records-$ty" "0${ty}[{\"a\": 1, \"b\": \"\\\\u00e9\"}, {\"a\": -2e9, \"b\": null}]"
  seed "json-data-$ty" "0${ty}[{\"Just\": 1}, {\"Nothing\": null}, null, [true, \"x\"]]"
  seed "csv-$ty" "1${ty}a,b\\n1,2\\n3.5,nan\\n"
  seed "csv-plain-$ty" "1${ty}1,x\\r\\n-2,\"y \"\"z\"\"\"\\r\\n"
  seed "csv-missing-$ty" "1${ty}a,b,c\\n1,,true\\n,2,false\\n"
done
npy() { # name, type, descr, order, shape, data
  header="{'descr': '$3', 'fortran_order': $4, 'shape': $5, }"
  # The header ends with a newline and fills up to 118 bytes.
  printf '2%s\223NUMPY\001\000\166\000%-117s\n'"$6" "$2" "$header" > "corpus/data/npy-$1"
}
npy f8 1 '<f8' False '(2,)' '\0\0\0\0\0\0\360\077\0\0\0\0\0\0\0\100'
npy f4 2 '<f4' True '(1, 2)' '\0\0\200\077\0\0\0\100'
npy i8 3 '<i8' False '()' '\1\0\0\0\0\0\0\0'
npy b1 3 '|b1' False '(2,)' '\0\1'
npy i2 1 '>i2' False '(2,)' '\0\1\0\2'
