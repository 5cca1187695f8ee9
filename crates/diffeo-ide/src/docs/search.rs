//! Entries by words: names, doc comments and the words that others use for the same thing.
//!
//! Each word of a question counts once for an entry, by the best place where it is found. Words are compared by their
//! stems, so that `minimize` finds `minimiser`.

use super::synonyms::SYNONYMS;
use super::{entries, modules_and_language, DocEntry};
use diffeo_front::Session;
use std::cmp::Reverse;

/// The most entries that are found.
const MOST: usize = 10;

/// The score of a word that is the name, one of the name's parts, the module, in the first sentence, or after it.
const NAME: u32 = 60;
const PART: u32 = 30;
const MODULE: u32 = 14;
const FIRST: u32 = 10;
const LATER: u32 = 3;
/// Of a word that a part of the name begins with.
const BEGINNING: u32 = 8;
/// Of a synonym, and of each of its words beyond the first.
const SYNONYM: u32 = 70;
const LONGER: u32 = 20;

/// Words that say nothing of what is looked for.
const EMPTY: &[&str] = &[
    "a", "an", "and", "by", "can", "compute", "do", "find", "for", "from", "function", "get",
    "how", "i", "in", "is", "my", "of", "on", "the", "to", "use", "using", "what", "with",
];

/// Endings that do not tell words apart.
const ENDINGS: &[&str] = &[
    "isations", "isation", "ations", "ation", "ising", "isers", "ised", "iser", "ises", "ise",
    "ings", "ing", "ives", "ive", "ions", "ion", "ies", "ers", "er", "or", "ed", "es", "al", "e",
    "s", "y",
];

/// The entries that fit these words, the best first.
pub fn search(session: &mut Session, words: &str) -> Vec<DocEntry> {
    let wanted: Vec<String> = words_of(words).collect();
    let telling = |word: &&String| !EMPTY.contains(&word.as_str());
    let wanted: Vec<Word> = wanted.iter().filter(telling).map(|word| Word::new(word)).collect();
    let mut found = Vec::new();
    for module in modules_and_language() {
        for entry in entries(session, module) {
            let score = score(&entry, &wanted);
            if score >= FIRST {
                found.push((score, entry));
            }
        }
    }
    // Those before in their module come first among equals.
    found.sort_by_key(|(score, _)| Reverse(*score));
    found.into_iter().map(|(_, entry)| entry).take(MOST).collect()
}

struct Word {
    text: String,
    stem: String,
}

impl Word {
    fn new(word: &str) -> Word {
        Word { text: word.to_string(), stem: stem(word) }
    }
}

fn score(entry: &DocEntry, wanted: &[Word]) -> u32 {
    let name = entry.name.to_lowercase();
    let parts: Vec<String> = name.split('_').map(stem).collect();
    let stems = |text: &str| words_of(text).map(|word| stem(&word)).collect::<Vec<String>>();
    let first = stems(&entry.first());
    let later = stems(&entry.text().join(" "));
    let longer = 2 * (parts.len() as u32 - 1).min(10);
    let of_word = |word: &Word| {
        if word.text == name || word.text == name.replace('_', "") {
            NAME
        } else if parts.contains(&word.stem) {
            PART - longer
        } else if word.text == entry.module || word.stem == stem(&entry.module) {
            MODULE
        } else if first.contains(&word.stem) {
            FIRST
        } else if word.stem.len() > 2 && parts.iter().any(|part| part.starts_with(&word.stem)) {
            BEGINNING
        } else if later.contains(&word.stem) {
            LATER
        } else {
            0
        }
    };
    let scores: Vec<u32> = wanted.iter().map(of_word).collect();
    let missed = scores.iter().filter(|score| **score == 0).count() as u32;
    scores.iter().sum::<u32>() / (missed + 1) + by_synonyms(&entry.qualified(), wanted)
}

/// The score of the longest synonym that the words have; earlier names of a row come first.
fn by_synonyms(name: &str, wanted: &[Word]) -> u32 {
    let of_row = |(phrases, names): &(&[&str], &[&str])| {
        let place = names.iter().position(|known| *known == name)? as u32;
        let fits = |phrase: &&&str| {
            words_of(phrase).all(|w| wanted.iter().any(|word| word.stem == stem(&w)))
        };
        let longest =
            phrases.iter().filter(fits).map(|phrase| words_of(phrase).count() as u32).max()?;
        Some(SYNONYM + LONGER * (longest - 1) - (6 * place).min(LONGER))
    };
    SYNONYMS.iter().filter_map(of_row).max().unwrap_or(0)
}

/// The words of a text in small letters.
fn words_of(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.flat_map(|word| word.split('_')).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// A word without its ending, in British spelling.
fn stem(word: &str) -> String {
    let word = word.to_lowercase().replace('z', "s").replace("our", "or");
    let stem =
        ENDINGS.iter().find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() > 2));
    stem.unwrap_or(&word).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What newcomers from Python, R, MATLAB, Julia and Haskell ask, and what is to be found first.
    const QUESTIONS: &[(&str, &str)] = &[
        // SciPy, NumPy, JAX
        ("minimize", "optim.lbfgs"),
        ("curve_fit", "optim.levenberg_marquardt"),
        ("least squares with bounds", "optim.levenberg_marquardt_between"),
        ("constrained optimization", "optim.nlp"),
        ("minimize with constraints", "optim.nlp"),
        ("linprog", "optim.linear_program"),
        ("dblquad", "quadrature.integrate2"),
        ("cumtrapz", "quadrature.cumtrapz"),
        ("hyp2f1", "special.hyp2f1"),
        ("mannwhitneyu", "stats.mann_whitney_test"),
        ("LSTMCell", "nn.lstm"),
        ("cosine_decay", "optim.cosine_decay"),
        ("global minimum", "optim.global"),
        ("einsum", "for"),
        ("vmap", "for"),
        ("where", "where"),
        ("boolean mask", "filter"),
        ("read csv", "arguments"),
        ("load a data file", "arguments"),
        ("arange", "iota"),
        ("solve_ivp", "ode.solve"),
        ("stiff ode", "ode.solve_stiff"),
        ("event", "ode.solve_until"),
        ("quad", "quadrature.integrate"),
        ("fsolve", "root.newton_system"),
        ("brentq", "root.bisect"),
        ("hessian vector product", "hvp"),
        ("value_and_grad", "value_and_grad"),
        ("stop gradient", "stop_gradient"),
        ("custom derivative", "with_derivative"),
        ("gradient", "grad"),
        ("jacobian", "jacobian"),
        ("taylor", "derivatives"),
        ("fori_loop", "loop"),
        ("while loop", "loop"),
        ("cumulative sum", "cumsum"),
        ("concatenate", "concat"),
        ("random numbers", "random.uniform"),
        ("randn", "random.normal"),
        ("sparse matrix", "sparse.Sparse"),
        ("sparse jacobian", "sparse.sparse_jacobian"),
        ("fourier transform", "fft"),
        ("incomplete gamma", "special.gamma_inc"),
        ("bessel", "special.bessel_j"),
        // R, Stan
        ("lm", "stats.glm"),
        ("logistic regression", "stats.glm"),
        ("t.test", "stats.t_test"),
        ("pnorm", "stats.normal_cdf"),
        ("qnorm", "stats.normal_quantile"),
        ("rnorm", "random.normal"),
        ("rgamma", "stats.gamma_sample"),
        ("standard deviation", "stats.sd"),
        ("confidence interval", "stats.t_interval"),
        ("sapply", "map"),
        ("histogram", "plot.histogram"),
        ("scatter plot", "plot.points"),
        ("legend", "plot.name"),
        ("hierarchical model", "bayes.all_of"),
        ("prior positive", "bayes.positive"),
        // MATLAB, Julia
        ("linspace", "linspace"),
        ("backslash", "linalg.solve"),
        ("eigenvalues", "linalg.eigh"),
        ("matrix inverse", "linalg.inverse"),
        ("sqrtm", "linalg.sqrtm"),
        ("matrix logarithm", "linalg.logm"),
        ("kronecker product", "linalg.kron"),
        ("solve_continuous_lyapunov", "linalg.solve_sylvester"),
        ("generalized eigenvalue problem", "linalg.eigh_general"),
        ("minimum norm solution", "linalg.least_norm"),
        ("interp1", "interp"),
        ("fminsearch", "optim.nelder_mead"),
        ("quadprog", "optim.quadratic_program"),
        ("integral2", "quadrature.integrate2"),
        ("cellfun", "map"),
        ("broadcast", "map"),
        // Haskell, OCaml
        ("fmap", "map"),
        ("foldr", "foldr"),
        ("pattern matching", "case"),
        ("lambda", "fn"),
        ("string length", "text.length"),
        ("substring", "text.slice"),
        ("parse number", "text.parse_real"),
        ("days between dates", "time.date"),
        ("error message", "fail"),
        ("print", "trace"),
        ("catMaybes", "justs"),
        ("dropna", "justs"),
        ("remove missing", "justs"),
        ("flatten maybe", "justs"),
        ("filter_map", "filter_map"),
        ("missing", "Maybe"),
        // From a table to a report
        ("robust", "optim.Loss"),
        ("robust regression", "optim.Loss"),
        ("outliers", "optim.Loss"),
        ("polyfit", "linalg.lstsq"),
        ("accuracy", "stats.cross_table"),
        ("logspace", "linspace"),
        ("meshgrid", "for"),
        ("max of array", "maximum"),
        ("opacity", "plot.opacity"),
        ("alpha", "plot.opacity"),
        ("linewidth", "plot.line_width"),
        ("lw", "plot.line_width"),
        ("line width", "plot.line_width"),
        ("r hat", "plot.trace"),
    ];

    #[test]
    fn questions_of_newcomers_have_their_answers_first() {
        let mut session = Session::new();
        let mut wrong = Vec::new();
        for (question, wanted) in QUESTIONS {
            let found: Vec<String> =
                search(&mut session, question).iter().map(DocEntry::qualified).collect();
            if found.first().map(String::as_str) != Some(wanted) {
                wrong.push(format!("{question}: {} instead of {wanted}", found.join(", ")));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn synonyms_stand_for_names_that_are_there() {
        let mut session = Session::new();
        let mut known = Vec::new();
        for module in modules_and_language() {
            known.extend(entries(&mut session, module).iter().map(DocEntry::qualified));
        }
        let names = SYNONYMS.iter().flat_map(|(_, names)| names.iter());
        let missing: Vec<&&str> = names.filter(|name| !known.iter().any(|k| k == **name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn nothing_is_found_for_no_word() {
        let mut session = Session::new();
        assert!(search(&mut session, "").is_empty());
        assert!(search(&mut session, "zzzzzz").is_empty());
    }
}
