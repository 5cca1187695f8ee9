//! Unification: makes two types or two sizes agree, and restricts a type to what an operation requires.

use super::{
    Clash, Seen, Size, SizeState, SizeVar, Store, Touch, Ty, TyVar, TyVarState, TypeClass, Walk,
    Why,
};

impl Store {
    fn occurs(&self, var: TyVar, ty: &Ty) -> bool {
        let mut walk = Walk::of(ty);
        while let Some(ty) = walk.next(self) {
            if matches!(ty, Ty::Var(v) if v == var) {
                return true;
            }
        }
        false
    }

    /// Makes two types agree.
    pub fn unify(&mut self, a: &Ty, b: &Ty) -> Result<(), Clash> {
        let mut pending = vec![(a.clone(), b.clone())];
        let mut seen = Seen::default();
        while let Some((a, b)) = pending.pop() {
            let (a, b) = (self.shallow(&a), self.shallow(&b));
            let both = (a.part(), b.part());
            if both.0 != both.1 && seen.is_new(both) {
                let parts = pending.len();
                self.agree(a, b, &mut pending)?;
                // They are taken from the end.
                pending[parts..].reverse();
            }
        }
        Ok(())
    }

    /// Makes two types agree but for their parts, which are to agree, too.
    fn agree(&mut self, a: Ty, b: Ty, parts: &mut Vec<(Ty, Ty)>) -> Result<(), Clash> {
        let mut all = |xs: &[Ty], ys: &[Ty]| {
            parts.extend(xs.iter().cloned().zip(ys.iter().cloned()));
            Ok(())
        };
        match (&a, &b) {
            (Ty::Error, _) | (_, Ty::Error) => Ok(()),
            (Ty::Var(v), Ty::Var(w)) if v == w => Ok(()),
            // The older of two open variables stays, so that chains of variables stay short.
            (Ty::Var(v), Ty::Var(w))
                if v < w && matches!(self.vars[w.0 as usize].state, TyVarState::Open) =>
            {
                self.bind(*w, &a)
            }
            (Ty::Var(v), _) if matches!(self.vars[v.0 as usize].state, TyVarState::Open) => {
                self.bind(*v, &b)
            }
            (_, Ty::Var(w)) if matches!(self.vars[w.0 as usize].state, TyVarState::Open) => {
                self.bind(*w, &a).map_err(|clash| match clash {
                    Clash::Types(x, y) => Clash::Types(y, x),
                    other => other,
                })
            }
            (Ty::Real, Ty::Real)
            | (Ty::Int, Ty::Int)
            | (Ty::Bool, Ty::Bool)
            | (Ty::String, Ty::String)
            | (Ty::Unit, Ty::Unit) => Ok(()),
            (Ty::Tuple(xs), Ty::Tuple(ys)) if xs.len() == ys.len() => all(xs, ys),
            (Ty::Record(xs), Ty::Record(ys))
                if xs.len() == ys.len() && xs.iter().zip(ys.iter()).all(|(x, y)| x.0 == y.0) =>
            {
                let types = xs.iter().zip(ys.iter()).map(|(x, y)| (x.1.clone(), y.1.clone()));
                parts.extend(types);
                Ok(())
            }
            (Ty::Array(m, x), Ty::Array(n, y)) => {
                self.unify_size(*m, *n)?;
                parts.push((Ty::clone(x), Ty::clone(y)));
                Ok(())
            }
            (Ty::Data(d, xs), Ty::Data(e, ys)) if d == e => all(xs, ys),
            (Ty::Fun(f), Ty::Fun(g)) => {
                parts.extend([(f.0.clone(), g.0.clone()), (f.1.clone(), g.1.clone())]);
                Ok(())
            }
            (Ty::Param(i), Ty::Param(j)) if i == j => Ok(()),
            _ => Err(Clash::Types(a, b)),
        }
    }

    /// As [`Store::unify`], but sizes that differ become unknown: elements of lists are free.
    pub fn unify_free(&mut self, a: &Ty, b: &Ty) -> Result<(), Clash> {
        self.lenient = true;
        let result = self.unify(a, b);
        self.lenient = false;
        result
    }

    fn bind(&mut self, v: TyVar, ty: &Ty) -> Result<(), Clash> {
        if self.occurs(v, ty) {
            return Err(Clash::Infinite);
        }
        let level = self.vars[v.0 as usize].level;
        self.adjust(ty, level);
        let info = &mut self.vars[v.0 as usize];
        let (class, why) = (info.class, info.class_why.take());
        let (fo, eq, touch) = (info.first_order.take(), info.equality.take(), info.touch);
        let differentiated = info.differentiated;
        let waiting = std::mem::take(&mut info.waiting);
        let name = info.name.clone();
        info.state = TyVarState::Bound(ty.clone());
        // What waits is tried again: two variables made one can decide an operator.
        self.released.extend(waiting);
        if let Ty::Var(w) = ty {
            let other = &mut self.vars[w.0 as usize];
            other.touch = other.touch.max(touch);
            if matches!(other.state, TyVarState::Open) && other.name.is_none() {
                other.name = name;
            }
        }
        if differentiated {
            self.differentiate(ty);
        }
        if let Some(why) = why {
            if let Err(clash) = self.require(ty, class, &why) {
                if touch == Touch::Literal && why.what == "this literal" {
                    // As an Int the literal differs from the type in a way that can be shown.
                    self.vars[v.0 as usize].state = TyVarState::Bound(Ty::Int);
                    return Err(Clash::Types(Ty::Int, ty.clone()));
                }
                return Err(clash);
            }
        }
        if let Some(why) = fo {
            self.first_order(ty, &why)?;
        }
        if let Some(why) = eq {
            self.require_equality(ty, &why)?;
        }
        Ok(())
    }

    /// Requires a type to be in a class.
    pub fn require(&mut self, ty: &Ty, class: TypeClass, why: &Why) -> Result<(), Clash> {
        let ty = self.shallow(ty);
        let fail = |ty: Ty| Err(Clash::Class(ty, class, why.clone()));
        match &ty {
            Ty::Error => Ok(()),
            Ty::Var(v) => {
                let info = &mut self.vars[v.0 as usize];
                match info.state {
                    TyVarState::Open => match info.class.meet(class) {
                        None => {
                            info.class = TypeClass::Any;
                            info.class_why = None;
                            self.bind(*v, &Ty::Real)
                        }
                        Some(meet) => {
                            if meet != info.class || info.class_why.is_none() {
                                info.class = meet;
                                info.class_why = Some(why.clone());
                                let waiting = std::mem::take(&mut info.waiting);
                                self.released.extend(waiting);
                            }
                            self.classed.push(*v);
                            Ok(())
                        }
                    },
                    TyVarState::Rigid | TyVarState::General => {
                        if info.class != TypeClass::Any
                            && info.class.meet(class) == Some(info.class)
                        {
                            Ok(())
                        } else {
                            fail(ty)
                        }
                    }
                    TyVarState::Bound(_) => unreachable!("shallow follows bound variables"),
                }
            }
            Ty::Real => Ok(()),
            Ty::Int => match class {
                TypeClass::Any | TypeClass::Add | TypeClass::Ord | TypeClass::Num => Ok(()),
                TypeClass::Vec => fail(ty),
            },
            Ty::String => match class {
                TypeClass::Any | TypeClass::Ord => Ok(()),
                TypeClass::Add | TypeClass::Num | TypeClass::Vec => fail(ty),
            },
            Ty::Tuple(_) | Ty::Record(_) | Ty::Array(..) => match class {
                TypeClass::Any => Ok(()),
                TypeClass::Add | TypeClass::Vec => {
                    let mut walk = Walk::of(&ty);
                    while let Some(part) = walk.next(self) {
                        match part {
                            Ty::Tuple(_) | Ty::Record(_) | Ty::Array(..) => continue,
                            _ => walk.skip(),
                        }
                        self.require(&part, TypeClass::Vec, why).map_err(|clash| match clash {
                            Clash::Class(_, _, why) => Clash::Class(ty.clone(), class, why),
                            other => other,
                        })?;
                    }
                    Ok(())
                }
                TypeClass::Ord | TypeClass::Num => fail(ty),
            },
            Ty::Bool | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
                if class == TypeClass::Any {
                    Ok(())
                } else {
                    fail(ty)
                }
            }
        }
    }

    /// Requires a type to hold no function.
    pub fn first_order(&mut self, ty: &Ty, why: &Why) -> Result<(), Clash> {
        let mut walk = Walk::of(ty);
        while let Some(ty) = walk.next(self) {
            match ty {
                Ty::Var(v) => {
                    let info = &mut self.vars[v.0 as usize];
                    info.first_order.get_or_insert_with(|| why.clone());
                }
                Ty::Data(d, _) if !self.data_has_function[d.0 as usize] => {}
                Ty::Data(..) | Ty::Fun(_) => return Err(Clash::NotFirstOrder(ty, why.clone())),
                Ty::Error
                | Ty::Real
                | Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Param(_)
                | Ty::Tuple(_)
                | Ty::Record(_)
                | Ty::Array(..) => {}
            }
        }
        Ok(())
    }

    /// Makes two sizes agree.
    pub fn unify_size(&mut self, a: Size, b: Size) -> Result<(), Clash> {
        let (ra, rb) = (self.size_root(a), self.size_root(b));
        let (ca, cb) = (self.size(a), self.size(b));
        let (open_a, open_b) = (self.is_open_size(a), self.is_open_size(b));
        match (ca, cb) {
            (x, y) if x == y => Ok(()),
            (Size::Var(v), Size::Var(w)) if open_a && open_b => {
                let level = self.sizes[v.0 as usize].level.min(self.sizes[w.0 as usize].level);
                let (from, to) =
                    if self.sizes[w.0 as usize].name.is_some() { (v, w) } else { (w, v) };
                self.sizes[to.0 as usize].level = level;
                self.sizes[from.0 as usize].state = SizeState::Bound(Size::Var(to));
                Ok(())
            }
            (Size::Var(v), content) if open_a => {
                self.sizes[v.0 as usize].state = SizeState::Bound(content);
                Ok(())
            }
            (content, Size::Var(w)) if open_b => {
                self.sizes[w.0 as usize].state = SizeState::Bound(content);
                Ok(())
            }
            (Size::Unknown, _) | (_, Size::Unknown) => {
                self.forget(ra);
                self.forget(rb);
                Ok(())
            }
            _ if self.lenient => {
                self.forget(ra);
                self.forget(rb);
                Ok(())
            }
            (x, y) => Err(Clash::Sizes(x, y)),
        }
    }

    /// A known size that met an unknown one is unknown.
    fn forget(&mut self, root: Option<SizeVar>) {
        if let Some(v) = root {
            let info = &mut self.sizes[v.0 as usize];
            if matches!(info.state, SizeState::Bound(_)) {
                info.state = SizeState::Bound(Size::Unknown);
            }
        }
    }
}
