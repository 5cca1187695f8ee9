//! Programs in Core for the tests of the translations: each has a function `f` from S to T, first-order
//! types, a `point` and a `tangent` of S. Together they have every form and every operation.

/// Name and text.
pub const PROGRAMS: &[(&str, &str)] = &[
    (
        "arithmetic",
        "def f : (Real, Real) -> Real =
           fn (p : (Real, Real)) ->
             let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
             #real.sub(#real.mul(#real.sin(x), #real.exp(y)), #real.div(#real.neg(x), #real.add(y, 2.0)))
         def point : (Real, Real) = tuple[(Real, Real)](0.7, 0.4)
         def tangent : (Real, Real) = tuple[(Real, Real)](0.3, -1.1)",
    ),
    (
        "leaves beside numbers, show, trace, progress, rounding",
        "def f : (Int, Real, String, Bool, ()) -> (String, Int, Real, Bool, Int) =
           fn (p : (Int, Real, String, Bool, ())) ->
             let n : Int = proj[(Int, Real, String, Bool, ()), 0](p);
                 x : Real = proj[(Int, Real, String, Bool, ()), 1](p);
                 s : String = proj[(Int, Real, String, Bool, ()), 2](p);
                 b : Bool = proj[(Int, Real, String, Bool, ()), 3](p);
                 t : Real = #trace[Real](\"x\", #real.mul(x, #to_real(n)));
                 u : Real = #progress[Real](\"steps\", 3, t, #real.mul(t, t)) in
             tuple[(String, Int, Real, Bool, Int)](
               #append_strings(s, #show[(Real, [][]Real)](
                 tuple[(Real, [][]Real)](x, array[[]Real](array[Real](t))))),
               #int.add(#floor(u), #int.mul(n, 2)),
               if #not(b) then u else #real.mul(#to_real(#ceil(x)), u),
               #is_nan(x),
               #int.sub(#round(x), #trunc(u)))
         def point : (Int, Real, String, Bool, ()) =
           tuple[(Int, Real, String, Bool, ())](3, 0.7, \"at \", true, ())
         def tangent : (Int, Real, String, Bool, ()) =
           tuple[(Int, Real, String, Bool, ())](3, 0.5, \"at \", true, ())",
    ),
    (
        "comparisons at every first-order type",
        "data Maybe[$0] = Nothing | Just($0)
         def f : (Real, Real) -> Real =
           fn (p : (Real, Real)) ->
             let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p);
                 a : Real = if #lt[Real](x, y) then #real.mul(x, x) else y;
                 b : Real = if #eq[(Real, Maybe[Real])](
                     tuple[(Real, Maybe[Real])](x, con Maybe[Real].Just(y)),
                     tuple[(Real, Maybe[Real])](x, con Maybe[Real].Just(y))) then x else 0.0;
                 c : Real = if #ne[[]Real](array[Real](x), array[Real](y)) then #real.mul(x, y) else 0.0;
                 d : Real = if #ge[String](\"b\", \"a\") then y else 0.0 in
             #real.add(#real.add(a, b), #real.add(c, d))
         def point : (Real, Real) = tuple[(Real, Real)](0.7, 0.9)
         def tangent : (Real, Real) = tuple[(Real, Real)](0.3, -1.1)",
    ),
    (
        "integer powers",
        "def f : (Real, Int) -> []Real =
           fn (p : (Real, Int)) ->
             let x : Real = proj[(Real, Int), 0](p); n : Int = proj[(Real, Int), 1](p) in
             build[Real] i : Int < 8 do #pow_int(#real.mul(x, x), #int.sub(i, n))
         def point : (Real, Int) = tuple[(Real, Int)](-0.8, 3)
         def tangent : (Real, Int) = tuple[(Real, Int)](0.5, 3)",
    ),
    (
        "integer powers at zero",
        "def f : Real -> []Real = fn (x : Real) -> build[Real] i : Int < 8 do #pow_int(x, i)
         def point : Real = 0.0
         def tangent : Real = 0.5",
    ),
    (
        "constant exponents",
        "def f : Real -> []Real =
           fn (x : Real) ->
             array[Real](#real.pow(x, 2.0), #real.pow(x, 3.0), #real.pow(x, -1.0), #real.pow(2.0, x),
               #real.pow(#real.mul(x, x), 0.5), #real.pow(#real.mul(x, x), x))
         def point : Real = -1.5
         def tangent : Real = 0.5",
    ),
    (
        "constant exponents at zero",
        "def f : Real -> []Real =
           fn (x : Real) -> array[Real](#real.pow(x, 0.0), #real.pow(x, 1.0), #real.pow(x, 2.0), #real.pow(x, 5.0))
         def point : Real = 0.0
         def tangent : Real = 0.5",
    ),
    (
        "functions of functions",
        "def twice : (Real -> Real) -> Real -> Real =
           fn (g : Real -> Real) -> fn (x : Real) -> g (g x)
         def compose : (Real -> Real, Real -> Real) -> Real -> Real =
           fn (fs : (Real -> Real, Real -> Real)) -> fn (x : Real) ->
             proj[(Real -> Real, Real -> Real), 1](fs) (proj[(Real -> Real, Real -> Real), 0](fs) x)
         def f : Real -> Real =
           fn (x : Real) ->
             let g : Real -> Real = @twice (fn (y : Real) -> #real.mul(x, #real.sin(y)));
                 h : Real -> Real =
                   @compose tuple[(Real -> Real, Real -> Real)](g, fn (y : Real) -> #real.add(x, y)) in
             h (@twice h 0.3)
         def point : Real = 0.8
         def tangent : Real = 1.2",
    ),
    (
        "variants",
        "data Shape[$0] = Circle($0) | Box($0, $0) | Nothing
         def area : Shape[Real] -> Real =
           fn (s : Shape[Real]) -> case s of Shape[Real] {
             | Circle(r : Real) -> #real.mul(3.0, #real.mul(r, r))
             | Box(a : Real, b : Real) -> #real.mul(a, b)
             | else -> 0.0 }
         def f : (Shape[Real], Shape[Real]) -> Shape[Real] =
           fn (p : (Shape[Real], Shape[Real])) ->
             con Shape[Real].Box(@area proj[(Shape[Real], Shape[Real]), 0](p),
               @area proj[(Shape[Real], Shape[Real]), 1](p))
         def point : (Shape[Real], Shape[Real]) =
           tuple[(Shape[Real], Shape[Real])](con Shape[Real].Box(2.0, 3.0), con Shape[Real].Circle(0.5))
         def tangent : (Shape[Real], Shape[Real]) =
           tuple[(Shape[Real], Shape[Real])](con Shape[Real].Box(0.2, 0.3), con Shape[Real].Circle(-0.5))",
    ),
    (
        "lists by recursion",
        "data List[$0] = Nil | Cons($0, List[$0])
         def f : List[Real] -> (Real, List[Real]) =
           fn (l : List[Real]) ->
             letrec fold : List[Real] -> Real =
               fn (l : List[Real]) -> case l of List[Real] {
                 | Nil() -> 1.0
                 | Cons(x : Real, rest : List[Real]) -> #real.mul(#real.exp(x), fold rest) } in
             letrec map : List[Real] -> List[Real] =
               fn (l : List[Real]) -> case l of List[Real] {
                 | Nil() -> con List[Real].Nil()
                 | Cons(x : Real, rest : List[Real]) -> con List[Real].Cons(#real.mul(x, x), map rest) } in
             tuple[(Real, List[Real])](fold l, map l)
         def point : List[Real] = con List[Real].Cons(0.5, con List[Real].Cons(-0.25, con List[Real].Nil()))
         def tangent : List[Real] = con List[Real].Cons(1.5, con List[Real].Cons(0.75, con List[Real].Nil()))",
    ),
    (
        "definitions that call each other, and a constant",
        "def half : Real = #real.div(1.0, 2.0)
         def even : (Int, Real) -> Real =
           fn (p : (Int, Real)) ->
             let n : Int = proj[(Int, Real), 0](p); x : Real = proj[(Int, Real), 1](p) in
             if #eq[Int](n, 0) then x
             else @odd tuple[(Int, Real)](#int.sub(n, 1), #real.mul(@half, #real.mul(x, x)))
         def odd : (Int, Real) -> Real =
           fn (p : (Int, Real)) ->
             let n : Int = proj[(Int, Real), 0](p); x : Real = proj[(Int, Real), 1](p) in
             if #eq[Int](n, 0) then #real.neg(x)
             else @even tuple[(Int, Real)](#int.sub(n, 1), #real.sin(x))
         def f : Real -> Real = fn (x : Real) -> @even tuple[(Int, Real)](5, x)
         def point : Real = 1.3
         def tangent : Real = 0.7",
    ),
    (
        "loops",
        "def f : (Real, Int) -> (Real, Real) =
           fn (p : (Real, Int)) ->
             let x : Real = proj[(Real, Int), 0](p);
                 s : Real = loop s : Real = x for i : Int < proj[(Real, Int), 1](p) do
                   #real.add(#real.mul(s, x), #to_real(i));
                 t : Real = loop t : Real = x while #lt[Real](t, 10.0) do #real.mul(t, #real.add(1.0, x)) in
             tuple[(Real, Real)](s, t)
         def point : (Real, Int) = tuple[(Real, Int)](0.9, 4)
         def tangent : (Real, Int) = tuple[(Real, Int)](1.5, 4)",
    ),
    (
        "arrays",
        "def f : []Real -> ([]Real, [][]Real, Real, []Int) =
           fn (xs : []Real) ->
             let n : Int = #length[Real](xs);
                 squares : []Real = build[Real] i : Int < n do
                   #real.mul(#index[Real](xs, i), #index[Real](xs, #int.sub(#int.sub(n, 1), i)));
                 both : []Real = #append[Real](#slice[Real](xs, 1, n), squares);
                 updated : []Real = #update[[]Real](both, 0, #real.sin(#index[Real](both, 1)));
                 rows : [][]Real = build[[]Real] i : Int < 2 do updated;
                 changed : [][]Real = #update[[][]Real](rows, 1, 2, #index[Real](xs, 0)) in
             tuple[([]Real, [][]Real, Real, []Int)](
               #flatten[Real](changed), changed, #sum[Real](updated), #arg_sort[Real](updated))
         def point : []Real = array[Real](0.5, -0.7, 1.1)
         def tangent : []Real = array[Real](1.5, 0.2, -0.4)",
    ),
    (
        "sizes",
        "def f : ([][]Real, []Real) -> (Int, []Real) =
           fn (p : ([][]Real, []Real)) ->
             let m : [][]Real = proj[([][]Real, []Real), 0](p);
                 v : []Real = proj[([][]Real, []Real), 1](p);
                 s : (Int, Int) = #sizes[{n, k}, 0, [n][k]_, [][]Real](m);
                 u : () = #sizes[{k}, 1, [k]_, []Real](v, proj[(Int, Int), 1](s)) in
             tuple[(Int, []Real)](proj[(Int, Int), 0](s),
               build[Real] i : Int < proj[(Int, Int), 0](s) do #inner[[]Real](#index[[]Real](m, i), v))
         def point : ([][]Real, []Real) = tuple[([][]Real, []Real)](
           array[[]Real](array[Real](1.0, 2.0), array[Real](3.0, 4.0)), array[Real](0.5, -0.5))
         def tangent : ([][]Real, []Real) = tuple[([][]Real, []Real)](
           array[[]Real](array[Real](0.1, 0.2), array[Real](0.3, 0.4)), array[Real](0.7, -0.9))",
    ),
    (
        "polytypic operations at tuples and records",
        "def f : ({a : Real, b : (Real, Real)}, Real) -> ({a : Real, b : (Real, Real)}, Real, []Real) =
           fn (p : ({a : Real, b : (Real, Real)}, Real)) ->
             let v : {a : Real, b : (Real, Real)} = proj[({a : Real, b : (Real, Real)}, Real), 0](p);
                 r : Real = proj[({a : Real, b : (Real, Real)}, Real), 1](p);
                 u : {a : Real, b : (Real, Real)} = #sub[{a : Real, b : (Real, Real)}](
                   #scale[{a : Real, b : (Real, Real)}](r, v),
                   #unscale[{a : Real, b : (Real, Real)}](#neg[{a : Real, b : (Real, Real)}](v), r)) in
             tuple[({a : Real, b : (Real, Real)}, Real, []Real)](
               #add[{a : Real, b : (Real, Real)}](u, #zero_of[{a : Real, b : (Real, Real)}](v)),
               #inner[{a : Real, b : (Real, Real)}](u, v),
               #ravel[{a : Real, b : (Real, Real)}](
                 #unravel[{a : Real, b : (Real, Real)}](v, array[Real](r, #real.mul(r, r), 3.0))))
         def point : ({a : Real, b : (Real, Real)}, Real) = tuple[({a : Real, b : (Real, Real)}, Real)](
           tuple[{a : Real, b : (Real, Real)}](1.0, tuple[(Real, Real)](2.0, -0.5)), 1.7)
         def tangent : ({a : Real, b : (Real, Real)}, Real) = tuple[({a : Real, b : (Real, Real)}, Real)](
           tuple[{a : Real, b : (Real, Real)}](0.1, tuple[(Real, Real)](0.2, -0.3)), 0.4)",
    ),
    (
        "polytypic operations at arrays",
        "def f : ([][]Real, Real) -> ([][]Real, Real, []Real, []Real) =
           fn (p : ([][]Real, Real)) ->
             let v : [][]Real = proj[([][]Real, Real), 0](p);
                 r : Real = proj[([][]Real, Real), 1](p);
                 u : [][]Real = #sub[[][]Real](#scale[[][]Real](r, v), #unscale[[][]Real](#neg[[][]Real](v), r));
                 w : [][]Real = #div_elements[[][]Real](#mul_elements[[][]Real](u, v), #add[[][]Real](v, v)) in
             tuple[([][]Real, Real, []Real, []Real)](
               #add[[][]Real](w, #zero_of[[][]Real](v)),
               #inner[[][]Real](u, v),
               #ravel[[][]Real](#unravel[[][]Real](v, #ravel[[][]Real](u))),
               #sum[[]Real](w))
         def point : ([][]Real, Real) = tuple[([][]Real, Real)](
           array[[]Real](array[Real](1.0, 2.0, 3.0), array[Real](0.5, -0.5, 0.25)), 1.7)
         def tangent : ([][]Real, Real) = tuple[([][]Real, Real)](
           array[[]Real](array[Real](0.1, 0.2, -0.3), array[Real](0.4, 0.5, -0.6)), 0.4)",
    ),
    (
        "polytypic operations at variants",
        "data List[$0] = Nil | Cons($0, List[$0])
         def f : (List[(Int, Real)], Real) -> (List[(Int, Real)], Real, []Real) =
           fn (p : (List[(Int, Real)], Real)) ->
             let l : List[(Int, Real)] = proj[(List[(Int, Real)], Real), 0](p);
                 r : Real = proj[(List[(Int, Real)], Real), 1](p);
                 m : List[(Int, Real)] = #add[List[(Int, Real)]](l, #scale[List[(Int, Real)]](r, l)) in
             tuple[(List[(Int, Real)], Real, []Real)](
               #add[List[(Int, Real)]](m, #zero_of[List[(Int, Real)]](l)),
               #inner[List[(Int, Real)]](m, l),
               #ravel[List[(Int, Real)]](#unravel[List[(Int, Real)]](l, array[Real](#real.sin(r), r))))
         def point : (List[(Int, Real)], Real) = tuple[(List[(Int, Real)], Real)](
           con List[(Int, Real)].Cons(tuple[(Int, Real)](1, 0.5),
             con List[(Int, Real)].Cons(tuple[(Int, Real)](2, -0.25), con List[(Int, Real)].Nil())), 1.5)
         def tangent : (List[(Int, Real)], Real) = tuple[(List[(Int, Real)], Real)](
           con List[(Int, Real)].Cons(tuple[(Int, Real)](1, 1.5),
             con List[(Int, Real)].Cons(tuple[(Int, Real)](2, 0.75), con List[(Int, Real)].Nil())), 0.3)",
    ),
    (
        "sums of no elements",
        "def f : (Real, [][]Real) -> (Real, Int, []Real, (Real, Real), []Real) =
           fn (p : (Real, [][]Real)) ->
             let none : []Real = #slice[Real](array[Real](proj[(Real, [][]Real), 0](p)), 0, 0) in
             tuple[(Real, Int, []Real, (Real, Real), []Real)](
               #sum[Real](none), #sum[Int](array[Int](1, 2, 4)), #sum[[]Real](proj[(Real, [][]Real), 1](p)),
               #sum[(Real, Real)](build[(Real, Real)] i : Int < 0 do tuple[(Real, Real)](1.0, 2.0)),
               #add[[]Real](none, none))
         def point : (Real, [][]Real) = tuple[(Real, [][]Real)](0.5, array[[]Real](array[Real](1.0), array[Real](2.0)))
         def tangent : (Real, [][]Real) = tuple[(Real, [][]Real)](1.5, array[[]Real](array[Real](0.1), array[Real](0.2)))",
    ),
    (
        "a sum of no rows has their size",
        "def f : [][]Real -> []Real =
           fn (m : [][]Real) -> #add[[]Real](#sum[[]Real](#slice[[]Real](m, 1, 1)), #index[[]Real](m, 1))
         def point : [][]Real = array[[]Real](array[Real](1.0, 3.0), array[Real](2.0, -1.0))
         def tangent : [][]Real = array[[]Real](array[Real](0.1, 0.3), array[Real](0.2, 0.7))",
    ),
    (
        "a constant point of a rule, of which something is captured",
        "def f : Real -> Real =
           fn (x : Real) ->
             #real.mul(x, #with_derivative[Real, Real](
               fn (z : Real) -> #real.mul(x, z),
               fn (p : (Real, Real)) -> tuple[(Real, Real)](
                 #real.mul(x, proj[(Real, Real), 0](p)), #real.mul(x, proj[(Real, Real), 1](p))),
               3.0))
         def point : Real = 0.6
         def tangent : Real = 1.5",
    ),
    (
        "integers",
        "def f : (Int, Real) -> (Int, Real) =
           fn (p : (Int, Real)) ->
             let n : Int = proj[(Int, Real), 0](p);
                 m : Int = #int.bit_xor(#int.shift_left(#int.abs(#int.neg(n)), 2),
                   #int.max(#int.rem(n, 4), #int.pow(n, 2))) in
             tuple[(Int, Real)](m, #real.mul(#to_real(#int.div(m, 2)), proj[(Int, Real), 1](p)))
         def point : (Int, Real) = tuple[(Int, Real)](7, 0.3)
         def tangent : (Int, Real) = tuple[(Int, Real)](7, 1.0)",
    ),
    (
        "functions of the program's own",
        "def square : Real -> Real = fn (x : Real) -> #real.mul(x, x)
         def f : Real -> (Real, Real, Real) =
           fn (x : Real) ->
             let y : Real = #checkpoint[Real, Real](fn (z : Real) -> #real.mul(x, #real.sin(z)), @square x);
                 s : Real = #real.mul(x, #stop_gradient[Real, Real](#real.exp(x)));
                 d : Real = #with_derivative[Real, Real](
                   fn (z : Real) -> #real.sin(z),
                   fn (p : (Real, Real)) -> tuple[(Real, Real)](
                     #real.sin(proj[(Real, Real), 0](p)),
                     #real.mul(#real.cos(proj[(Real, Real), 0](p)), proj[(Real, Real), 1](p))),
                   #real.mul(y, x)) in
             tuple[(Real, Real, Real)](y, s, d)
         def point : Real = 0.6
         def tangent : Real = 1.5",
    ),
    (
        "gradients are stopped in data that holds functions",
        "def f : Real -> Real =
           fn (x : Real) ->
             let p : (Real -> Real, [](Real, Int)) =
               #stop_gradient[(Real -> Real, [](Real, Int)), (Real -> Real, [](Real, Int))](
                 tuple[(Real -> Real, [](Real, Int))](fn (y : Real) -> #real.mul(y, y),
                   array[(Real, Int)](tuple[(Real, Int)](x, 3)))) in
             #real.mul(#trace[Real](\"x\", proj[(Real -> Real, [](Real, Int)), 0](p) x),
               proj[(Real, Int), 0](#index[(Real, Int)](proj[(Real -> Real, [](Real, Int)), 1](p), 0)))
         def point : Real = 0.6
         def tangent : Real = 1.5",
    ),
    (
        "a rule that captures what varies",
        "def f : (Real, Real) -> Real =
           fn (p : (Real, Real)) ->
             let a : Real = proj[(Real, Real), 0](p); b : Real = proj[(Real, Real), 1](p) in
             #with_derivative[(Real, []Real), Real](
               fn (q : (Real, []Real)) -> #real.mul(a, #real.mul(proj[(Real, []Real), 0](q),
                 #index[Real](proj[(Real, []Real), 1](q), 0))),
               fn (q : ((Real, []Real), (Real, []Real))) ->
                 let x : (Real, []Real) = proj[((Real, []Real), (Real, []Real)), 0](q);
                     dx : (Real, []Real) = proj[((Real, []Real), (Real, []Real)), 1](q);
                     u : Real = proj[(Real, []Real), 0](x);
                     v : Real = #index[Real](proj[(Real, []Real), 1](x), 0);
                     du : Real = proj[(Real, []Real), 0](dx);
                     dv : Real = #index[Real](proj[(Real, []Real), 1](dx), 0) in
                 tuple[(Real, Real)](#real.mul(a, #real.mul(u, v)),
                   #real.mul(a, #real.add(#real.mul(u, dv), #real.mul(v, du)))),
               tuple[(Real, []Real)](#real.sin(#real.mul(a, b)), array[Real](#real.exp(b))))
         def point : (Real, Real) = tuple[(Real, Real)](0.6, 0.9)
         def tangent : (Real, Real) = tuple[(Real, Real)](1.5, -0.5)",
    ),
    (
        "declared types with numbers and functions of their own",
        "data Model[$0] = Linear($0, Real) | Any(Real -> Real) | Both(Model[$0], Model[$0])
         def run : (Model[Real], Real) -> Real =
           fn (p : (Model[Real], Real)) ->
             let x : Real = proj[(Model[Real], Real), 1](p) in
             case proj[(Model[Real], Real), 0](p) of Model[Real] {
               | Linear(a : Real, b : Real) -> #real.add(#real.mul(a, x), b)
               | Any(g : Real -> Real) -> g x
               | Both(m : Model[Real], n : Model[Real]) ->
                   @run tuple[(Model[Real], Real)](m, @run tuple[(Model[Real], Real)](n, x)) }
         def f : (Real, Real) -> Real =
           fn (p : (Real, Real)) ->
             let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
             @run tuple[(Model[Real], Real)](
               con Model[Real].Both(con Model[Real].Linear(x, y),
                 con Model[Real].Any(fn (z : Real) -> #real.mul(x, #real.sin(z)))), #real.add(x, y))
         def point : (Real, Real) = tuple[(Real, Real)](0.6, 0.9)
         def tangent : (Real, Real) = tuple[(Real, Real)](1.5, -0.5)",
    ),
    (
        "arrays of functions and functions that give functions",
        "def f : (Real, []Real) -> Real =
           fn (p : (Real, []Real)) ->
             let x : Real = proj[(Real, []Real), 0](p); xs : []Real = proj[(Real, []Real), 1](p);
                 gs : [](Real -> Real) = build[Real -> Real] i : Int < #length[Real](xs) do
                   fn (y : Real) -> #real.sin(#real.mul(y, #index[Real](xs, i))) in
             loop s : Real = x for i : Int < #length[Real](xs) do #index[Real -> Real](gs, i) s
         def point : (Real, []Real) = tuple[(Real, []Real)](0.6, array[Real](0.9, 1.4))
         def tangent : (Real, []Real) = tuple[(Real, []Real)](1.5, array[Real](-0.5, 0.3))",
    ),
];

/// Rules that are not the derivative of any function, of which Taylor series are asked all the same.
pub const FALSE_RULES: &[(&str, &str)] = &[(
    "a false rule",
    "def f : (Real, Real) -> Real =
       fn (p : (Real, Real)) ->
         let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
         #with_exact_derivative[(Real, Real), Real](
           fn (q : (Real, Real)) -> #real.exp(proj[(Real, Real), 1](q)),
           fn (q : ((Real, Real), (Real, Real))) ->
             let x : Real = proj[(Real, Real), 0](proj[((Real, Real), (Real, Real)), 0](q));
                 y : Real = proj[(Real, Real), 1](proj[((Real, Real), (Real, Real)), 0](q));
                 dx : Real = proj[(Real, Real), 0](proj[((Real, Real), (Real, Real)), 1](q));
                 dy : Real = proj[(Real, Real), 1](proj[((Real, Real), (Real, Real)), 1](q)) in
             tuple[(Real, Real)](#real.exp(y),
               #real.add(#real.mul(#real.sin(#real.mul(x, y)), dx), #real.mul(#real.exp(x), dy))),
           tuple[(Real, Real)](#real.mul(x, y), #real.sin(x)))
     def point : (Real, Real) = tuple[(Real, Real)](0.6, 0.9)
     def tangent : (Real, Real) = tuple[(Real, Real)](1.5, -0.5)",
)];

/// A rule that uses the function it belongs to.
pub const OWN_FUNCTION: (&str, &str) = (
    "a rule of its own function",
    "def e : Real -> Real =
       fn (x : Real) ->
         #with_derivative[Real, Real](
           fn (y : Real) -> #real.add(#real.exp(y), 0.0),
           fn (p : (Real, Real)) -> tuple[(Real, Real)](
             @e proj[(Real, Real), 0](p), #real.mul(@e proj[(Real, Real), 0](p), proj[(Real, Real), 1](p))),
           x)
     def f : Real -> Real = fn (x : Real) -> #real.mul(x, @e #real.mul(x, x))
     def point : Real = 0.6
     def tangent : Real = 1.5",
);

/// Programs with declared types that have Reals of their own in S and T; these have no jets.
pub const DECLARED: &[(&str, &str)] = &[(
    "numbers in declarations",
    "data Body = Body(Real, Path) | Rest
     data Path = End | Step(Body, Int)
     def f : (Body, Real) -> (Body, Real) =
       fn (p : (Body, Real)) ->
         let b : Body = proj[(Body, Real), 0](p); r : Real = proj[(Body, Real), 1](p) in
         tuple[(Body, Real)](#scale[Body](r, #add[Body](b, b)), #inner[Body](b, b))
     def point : (Body, Real) = tuple[(Body, Real)](
       con Body.Body(0.5, con Path.Step(con Body.Body(0.25, con Path.End()), 3)), 2.0)
     def tangent : (Body, Real) = tuple[(Body, Real)](
       con Body.Body(1.5, con Path.Step(con Body.Body(-0.25, con Path.End()), 3)), 0.3)",
)];

/// The operations on Reals, each with a number around which its operand may vary; two operands if so marked.
pub const OPERATIONS: &[(&str, f64, usize)] = &[
    ("add", 0.7, 2),
    ("sub", 0.7, 2),
    ("mul", 0.7, 2),
    ("div", 0.7, 2),
    ("neg", 0.7, 1),
    ("rem", 2.9, 2),
    ("pow", 0.7, 2),
    ("exp", 0.7, 1),
    ("log", 0.7, 1),
    ("sqrt", 0.7, 1),
    ("sin", 0.7, 1),
    ("cos", 0.7, 1),
    ("tan", 0.7, 1),
    ("asin", 0.4, 1),
    ("acos", 0.4, 1),
    ("atan", 0.7, 1),
    ("sinh", 0.7, 1),
    ("cosh", 0.7, 1),
    ("tanh", 0.7, 1),
    ("asinh", 0.7, 1),
    ("acosh", 1.9, 1),
    ("atanh", 0.4, 1),
    ("expm1", 0.7, 1),
    ("log1p", 0.7, 1),
    ("cbrt", 0.7, 1),
    ("sigmoid", 0.7, 1),
    ("softplus", 0.7, 1),
    ("erf", 0.7, 1),
    ("erfc", 0.7, 1),
    ("lgamma", 1.7, 1),
    ("polygamma[0]", 1.7, 1),
    ("polygamma[2]", 1.7, 1),
    ("atan2", 0.7, 2),
    ("hypot", 0.7, 2),
    ("abs", -0.7, 1),
    ("sign", -0.7, 1),
    ("min", 0.7, 2),
    ("max", 0.7, 2),
];

/// The program of an operation of numbers that vary in several ways.
pub fn of_operation((op, around, operands): (&str, f64, usize)) -> String {
    let first = format!("#real.add({around:?}, #real.mul(0.2, #real.sin(#real.mul(x, y))))");
    let second = "#real.add(1.3, #real.mul(0.1, #real.cos(#real.add(x, y))))";
    let args = if operands == 2 { format!("{first}, {second}") } else { first };
    format!(
        "def f : (Real, Real) -> Real =
           fn (p : (Real, Real)) ->
             let x : Real = proj[(Real, Real), 0](p); y : Real = proj[(Real, Real), 1](p) in
             #real.{op}({args})
         def point : (Real, Real) = tuple[(Real, Real)](0.8, 0.5)
         def tangent : (Real, Real) = tuple[(Real, Real)](1.5, -0.5)"
    )
}
