use std::io::Read;
fn main() {
    for f in std::env::args().skip(1) {
        let mut t = String::new();
        if f == "-" {
            std::io::stdin().read_to_string(&mut t).unwrap();
        } else {
            t = std::fs::read_to_string(&f).unwrap();
        }
        let now = std::time::Instant::now();
        match diffeo_syntax::format(diffeo_base::FileId(0), &t) {
            Ok(o) => print!("{o}"),
            Err(d) => {
                for d in d {
                    let s = d.primary.span;
                    println!(
                        "{f}:{}: {} {} {:?}",
                        t[..s.start as usize].lines().count(),
                        d.code,
                        d.message,
                        d.primary.message
                    )
                }
            }
        }
        if std::env::var_os("TIME").is_some() {
            eprintln!("{f}: {:?}", now.elapsed());
        }
    }
}
