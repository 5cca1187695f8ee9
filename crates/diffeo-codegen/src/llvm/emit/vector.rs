//! Vector versions of the library functions that straight-line code calls for rare operands (see [`crate::math`]).
//!
//! LLVM vectorises a loop with a call in a branch only if there is a version of the function that takes a vector and a
//! mask of the lanes that want it. This version tests whether any lane does, and if so calls the library for each lane.
//! It is inlined after vectorisation, so it costs a test.

use super::{EmitShared, FIRST_RARE};
use crate::runtime;
use std::fmt::Write;

/// The numbers of Reals that vectors may have.
const LANES: [u32; 3] = [2, 4, 8];

/// The attribute of a call that names its vector version to LLVM.
pub(super) fn attribute(name: &str) -> String {
    let variants = LANES.map(|lanes| format!("_ZGV_LLVM_M{lanes}vv_{name}({name}_{lanes})"));
    format!("\"vector-function-abi-variant\"=\"{}\"", variants.join(","))
}

/// Defines the vector versions of the functions that are called.
pub(super) fn define(shared: &mut EmitShared<'_>, text: &mut String) {
    let functions = std::mem::take(&mut shared.rare);
    if functions.is_empty() {
        return;
    }
    let rolled = shared.metadata("!{!\"llvm.loop.unroll.disable\"}".into());
    let mut kept = Vec::new();
    let mut widths = std::mem::take(&mut shared.widths);
    widths.extend(LANES);
    for function in functions.values() {
        for lanes in widths.iter().copied() {
            let own = shared.metadata.len();
            shared.metadata(format!("distinct !{{!{own}, !{rolled}}}"));
            define_one(function, lanes, own, text);
            kept.push(format!("ptr @{}_{lanes}", function.name));
        }
    }
    for lanes in &widths {
        let _ = writeln!(text, "declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)");
    }
    // Nobody calls them before loops are vectorised.
    let _ = writeln!(
        text,
        "@llvm.compiler.used = appending global [{} x ptr] [{}], section \"llvm.metadata\"",
        kept.len(),
        kept.join(", ")
    );
}

fn define_one(function: &runtime::RuntimeFunction, lanes: u32, metadata: usize, text: &mut String) {
    let name = function.name;
    let vector = format!("<{lanes} x double>");
    let _ = write!(
        text,
        "define internal {vector} @{name}_{lanes}({vector} %x, {vector} %y, <{lanes} x i1> %mask) #4 {{
start:
  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %mask)
  br i1 %any, label %lane, label %end, !prof !{FIRST_RARE}
lane:
  %i = phi i64 [ 0, %start ], [ %next, %lane ]
  %before = phi {vector} [ %x, %start ], [ %after, %lane ]
  %a = extractelement {vector} %x, i64 %i
  %b = extractelement {vector} %y, i64 %i
  %value = call double @{name}(double %a, double %b)
  %after = insertelement {vector} %before, double %value, i64 %i
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, {lanes}
  br i1 %more, label %lane, label %end, !llvm.loop !{metadata}
end:
  %result = phi {vector} [ %x, %start ], [ %after, %lane ]
  ret {vector} %result
}}
"
    );
}
