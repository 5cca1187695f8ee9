//! Walks over types that share their parts, as `type T2 = (T1, T1)` and `let y = (x, x)` do. Written out, such a type is
//! exponentially larger than what it is made of, so a walk is at each part once, however often that stands in the type.

use super::{DataIdx, Size, Store, Ty, TyVar};
use diffeo_base::{ask, Name};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

/// So many parts are not remembered: most types have few, and are no larger written out.
const FEW: usize = 64;

/// What a type is by itself: two types that are the same part of the store have the same. It holds as long as they do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// A type without parts, by its place among those.
    Leaf(u8),
    /// A variable.
    Var(TyVar),
    /// A parameter of a declaration.
    Param(u32),
    /// The others by where their parts stand.
    Tuple(usize),
    /// `{…}`
    Record(usize),
    /// `[size]…`
    Array(Size, usize),
    /// A variant type; 0 for one without arguments.
    Data(DataIdx, usize),
    /// `… -> …`
    Fun(usize),
}

fn address<T: ?Sized>(part: &Rc<T>) -> usize {
    Rc::as_ptr(part).cast::<()>() as usize
}

impl Ty {
    /// What it is by itself.
    pub fn part(&self) -> Part {
        match self {
            Ty::Error => Part::Leaf(0),
            Ty::Real => Part::Leaf(1),
            Ty::Int => Part::Leaf(2),
            Ty::Bool => Part::Leaf(3),
            Ty::String => Part::Leaf(4),
            Ty::Unit => Part::Leaf(5),
            Ty::Var(v) => Part::Var(*v),
            Ty::Param(i) => Part::Param(*i),
            Ty::Tuple(ts) => Part::Tuple(address(ts)),
            Ty::Record(fs) => Part::Record(address(fs)),
            Ty::Array(s, t) => Part::Array(*s, address(t)),
            Ty::Data(d, ts) if ts.is_empty() => Part::Data(*d, 0),
            Ty::Data(d, ts) => Part::Data(*d, address(ts)),
            Ty::Fun(f) => Part::Fun(address(f)),
        }
    }

    /// The parts of a type, first to last.
    fn parts(&self) -> impl DoubleEndedIterator<Item = &Ty> {
        let (types, fields, pair, one) = match self {
            Ty::Tuple(ts) | Ty::Data(_, ts) => (&ts[..], &[][..], None, None),
            Ty::Record(fs) => (&[][..], &fs[..], None, None),
            Ty::Fun(f) => (&[][..], &[][..], Some([&f.0, &f.1]), None),
            Ty::Array(_, t) => (&[][..], &[][..], None, Some(&**t)),
            Ty::Error
            | Ty::Var(_)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Param(_) => (&[][..], &[][..], None, None),
        };
        let fields = fields.iter().map(|(_, t): &(Name, Ty)| t);
        types.iter().chain(fields).chain(pair.into_iter().flatten()).chain(one)
    }

    /// The type with others for its parts; the same one where they are the same.
    pub fn with_parts<E>(&self, of: &mut impl FnMut(&Ty) -> Result<Ty, E>) -> Result<Ty, E> {
        let same = |old: &Ty, new: &Ty| old.part() == new.part();
        let mut all = |ts: &Rc<[Ty]>| -> Result<Rc<[Ty]>, E> {
            let new: Vec<Ty> = ts.iter().map(&mut *of).collect::<Result<_, E>>()?;
            let unchanged = ts.iter().zip(&new).all(|(old, new)| same(old, new));
            Ok(if unchanged { ts.clone() } else { new.into() })
        };
        Ok(match self {
            Ty::Tuple(ts) => Ty::Tuple(all(ts)?),
            Ty::Data(d, ts) => Ty::Data(*d, all(ts)?),
            Ty::Record(fs) => {
                let new: Vec<Ty> = fs.iter().map(|(_, t)| of(t)).collect::<Result<_, E>>()?;
                if fs.iter().zip(&new).all(|((_, old), new)| same(old, new)) {
                    return Ok(self.clone());
                }
                Ty::Record(Rc::new(fs.with_types(new)))
            }
            Ty::Array(s, t) => match of(t)? {
                new if same(t, &new) => Ty::Array(*s, t.clone()),
                new => Ty::array(*s, new),
            },
            Ty::Fun(f) => match (of(&f.0)?, of(&f.1)?) {
                (from, to) if same(&f.0, &from) && same(&f.1, &to) => self.clone(),
                (from, to) => Ty::fun(from, to),
            },
            Ty::Error
            | Ty::Var(_)
            | Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Param(_) => self.clone(),
        })
    }
}

/// What a walk has been at.
pub struct Seen<K> {
    count: usize,
    known: HashSet<K>,
}

impl<K> Default for Seen<K> {
    fn default() -> Self {
        Seen { count: 0, known: HashSet::new() }
    }
}

impl<K: Hash + Eq> Seen<K> {
    /// Whether something is not known to have come before.
    pub fn is_new(&mut self, what: K) -> bool {
        ask();
        self.count += 1;
        self.count <= FEW || self.known.insert(what)
    }
}

/// The nodes of a type, with their variables followed, before their parts.
pub struct Walk {
    pending: Vec<Ty>,
    /// The node that came last: its parts are next.
    last: Option<Ty>,
    seen: Seen<Part>,
}

impl Walk {
    /// Those of a type.
    pub fn of(ty: &Ty) -> Walk {
        Walk { pending: vec![ty.clone()], last: None, seen: Seen::default() }
    }

    /// The next node.
    pub fn next(&mut self, store: &Store) -> Option<Ty> {
        if let Some(last) = self.last.take() {
            self.pending.extend(last.parts().rev().cloned());
        }
        while let Some(ty) = self.pending.pop() {
            let ty = store.shallow(&ty);
            let is_leaf = ty.parts().next().is_none();
            if is_leaf || self.seen.is_new(ty.part()) {
                self.last = Some(ty.clone());
                return Some(ty);
            }
        }
        None
    }

    /// Leaves out the parts of the node that came last.
    pub fn skip(&mut self) {
        self.last = None;
    }
}

/// What types have become in a walk that makes new ones, which share their parts as the old ones do.
pub struct Made<T> {
    count: usize,
    /// With the old type, without which its address may come to be another one's.
    known: HashMap<Part, (Ty, T)>,
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Made { count: 0, known: HashMap::new() }
    }
}

impl<T: Clone> Made<T> {
    /// What a type has become.
    pub fn get(&mut self, ty: &Ty) -> Option<T> {
        ask();
        self.count += 1;
        if self.known.is_empty() {
            return None;
        }
        self.known.get(&ty.part()).map(|(_, made)| made.clone())
    }

    /// Notes what a type has become.
    pub fn put(&mut self, ty: &Ty, made: &T) {
        if self.count > FEW && ty.parts().next().is_some() {
            self.known.insert(ty.part(), (ty.clone(), made.clone()));
        }
    }
}

/// Types that are made one by one and are the same part if they are the same type.
#[derive(Default)]
pub struct Shared {
    known: HashMap<(Part, Vec<Part>, Vec<Name>), Ty>,
}

impl Shared {
    /// The one type that is this one; its parts are of such.
    pub fn one(&mut self, ty: Ty) -> Ty {
        let parts: Vec<Part> = ty.parts().map(Ty::part).collect();
        let names = match &ty {
            Ty::Record(fs) => fs.written().map(|(n, _)| n.clone()).collect(),
            _ => Vec::new(),
        };
        let kind = match ty.part() {
            Part::Tuple(_) => Part::Tuple(0),
            Part::Record(_) => Part::Record(0),
            Part::Array(s, _) => Part::Array(s, 0),
            Part::Data(d, _) => Part::Data(d, 0),
            Part::Fun(_) => Part::Fun(0),
            leaf @ (Part::Leaf(_) | Part::Var(_) | Part::Param(_)) => leaf,
        };
        self.known.entry((kind, parts, names)).or_insert(ty).clone()
    }
}
