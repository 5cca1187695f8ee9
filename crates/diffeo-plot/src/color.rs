//! Colours: names, the palette of layers, and the scale of heat maps.

/// Red, green and blue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// As CSS writes it.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

pub const INK: Color = Color(0x33, 0x33, 0x33);
pub const RULE: Color = Color(0x66, 0x66, 0x66);
pub const FAINT: Color = Color(0xe4, 0xe4, 0xe4);
pub const AXIS: Color = Color(0x88, 0x88, 0x88);
pub const WHITE: Color = Color(0xff, 0xff, 0xff);

/// Colours that all readers tell apart (Okabe and Ito, "Color Universal Design", 2008), dark ones first.
const PALETTE: [Color; 7] = [
    Color(0x00, 0x72, 0xb2),
    Color(0xd5, 0x5e, 0x00),
    Color(0x00, 0x9e, 0x73),
    Color(0xcc, 0x79, 0xa7),
    Color(0xe6, 0x9f, 0x00),
    Color(0x56, 0xb4, 0xe9),
    Color(0x00, 0x00, 0x00),
];

/// The names, with the palette's colour where it has one.
pub const NAMES: [(&str, Color); 14] = [
    ("blue", PALETTE[0]),
    ("orange", PALETTE[4]),
    ("green", PALETTE[2]),
    ("red", PALETTE[1]),
    ("purple", Color(0x88, 0x4e, 0xa0)),
    ("brown", Color(0x8c, 0x56, 0x4b)),
    ("pink", PALETTE[3]),
    ("grey", Color(0x77, 0x77, 0x77)),
    ("gray", Color(0x77, 0x77, 0x77)),
    ("olive", Color(0x9a, 0x9a, 0x22)),
    ("cyan", PALETTE[5]),
    ("yellow", Color(0xf0, 0xe4, 0x42)),
    ("black", PALETTE[6]),
    ("white", WHITE),
];

/// The colour that a text names.
pub fn named(text: &str) -> Option<Color> {
    if let Some(digits) = text.strip_prefix('#') {
        let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6)?;
        let [_, r, g, b] = number.to_be_bytes();
        return Some(Color(r, g, b));
    }
    NAMES.iter().find(|(name, _)| *name == text).map(|(_, color)| *color)
}

/// The colour of the layer of this number among those that take one.
pub fn palette(i: usize) -> Color {
    PALETTE[i % PALETTE.len()]
}

/// The scale viridis of Matplotlib (van der Walt and Smith, 2015; public domain) at equal distances.
const VIRIDIS: [Color; 9] = [
    Color(0x44, 0x01, 0x54),
    Color(0x47, 0x2d, 0x7b),
    Color(0x3b, 0x52, 0x8b),
    Color(0x2c, 0x72, 0x8e),
    Color(0x21, 0x91, 0x8c),
    Color(0x28, 0xae, 0x80),
    Color(0x5e, 0xc9, 0x62),
    Color(0xad, 0xdc, 0x30),
    Color(0xfd, 0xe7, 0x25),
];

/// How many colours a heat map has: few, so that its cells of one colour are one shape.
pub const LEVELS: usize = 64;

/// The colour of a level, from 0 on.
pub fn viridis(level: usize) -> Color {
    let at = level.min(LEVELS - 1) as f64 / (LEVELS - 1) as f64 * (VIRIDIS.len() - 1) as f64;
    let i = (at as usize).min(VIRIDIS.len() - 2);
    let part = at - i as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (VIRIDIS[i], VIRIDIS[i + 1]);
    Color(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}
