//! BM25F (Robertson, Zaragoza: "The probabilistic relevance framework", 2009): one score over several fields of a text.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Wanted, each_token};

/// How fast more of the same word counts less.
const K1: f64 = 1.2;

/// How a field counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// So many times as much as a field of weight 1.
    pub weight: f64,
    /// How much its length counts against it, from 0 to 1.
    pub length: f64,
}

/// Documents, each of the same fields, as tokens.
#[derive(Debug, Clone)]
pub struct Index {
    fields: Vec<Field>,
    /// Of each document and field: how often each token is in it, and how many tokens it has.
    documents: Vec<Vec<(BTreeMap<String, u32>, usize)>>,
    /// In how many documents each token is.
    spread: BTreeMap<String, usize>,
    /// The mean length of each field.
    lengths: Vec<f64>,
}

impl Index {
    /// Takes documents whose fields come in the order of `fields`; a field that is missing is empty.
    #[must_use]
    pub fn new(fields: &[Field], documents: impl IntoIterator<Item = Vec<Vec<String>>>) -> Self {
        let documents = documents.into_iter().map(|document| {
            let counted = document.into_iter().take(fields.len()).map(|tokens| {
                let len = tokens.len();
                let mut counts = BTreeMap::new();
                for token in tokens {
                    *counts.entry(token).or_insert(0) += 1;
                }
                (counts, len)
            });
            counted.collect()
        });
        Self::of_counts(fields, documents.collect())
    }

    /// As [`Index::new`], of texts, and for one query only: it keeps what the query asks for. Each field is of several texts.
    #[must_use]
    pub fn for_query<'t>(
        fields: &[Field],
        query: &BTreeSet<String>,
        documents: impl IntoIterator<Item = Vec<Vec<&'t str>>>,
    ) -> Self {
        let wanted = Wanted::only(query.iter().map(String::as_str));
        let documents = documents.into_iter().map(|document| {
            let counted = document.into_iter().take(fields.len()).map(|texts| {
                let mut len = 0;
                let mut counts = BTreeMap::new();
                for text in texts {
                    each_token(text, &wanted, &mut |token| {
                        len += 1;
                        if let Some(token) = token
                            && query.contains(token)
                        {
                            *counts.entry(token.to_owned()).or_insert(0) += 1;
                        }
                    });
                }
                (counts, len)
            });
            counted.collect()
        });
        Self::of_counts(fields, documents.collect())
    }

    fn of_counts(fields: &[Field], documents: Vec<Vec<(BTreeMap<String, u32>, usize)>>) -> Self {
        let mut spread = BTreeMap::new();
        for document in &documents {
            let all: BTreeSet<&String> = document
                .iter()
                .flat_map(|(counts, _)| counts.keys())
                .collect();
            for token in all {
                *spread.entry(token.clone()).or_insert(0) += 1;
            }
        }
        let count = documents.len().max(1) as f64;
        let mean = |at: usize| {
            let all = documents.iter().filter_map(|document| document.get(at));
            all.map(|(_, len)| *len as f64).sum::<f64>() / count
        };
        Self {
            fields: fields.to_vec(),
            spread,
            lengths: (0..fields.len()).map(mean).collect(),
            documents,
        }
    }

    /// How much it says that a document has this token.
    #[must_use]
    pub fn weight_of(&self, token: &str) -> f64 {
        let with = self.spread.get(token).copied().unwrap_or(0) as f64;
        let all = self.documents.len() as f64;
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    /// How well a document (counted from 0) matches these tokens; 0 if it has none of them.
    #[must_use]
    pub fn score(&self, document: usize, query: &BTreeSet<String>) -> f64 {
        let Some(document) = self.documents.get(document) else {
            return 0.0;
        };
        let of_token = |token: &String| {
            let fields = self.fields.iter().zip(document).zip(&self.lengths);
            let weighted = fields.map(|((field, (counts, len)), mean)| {
                let times = f64::from(counts.get(token).copied().unwrap_or(0));
                let length = if *mean > 0.0 { *len as f64 / mean } else { 1.0 };
                field.weight * times / (1.0 - field.length + field.length * length)
            });
            let weighted: f64 = weighted.sum();
            self.weight_of(token) * weighted / (K1 + weighted)
        };
        query.iter().map(of_token).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokens;

    const FIELDS: [Field; 2] = [
        Field {
            weight: 3.0,
            length: 0.3,
        },
        Field {
            weight: 1.0,
            length: 0.75,
        },
    ];

    fn index(documents: &[(&str, &str)]) -> Index {
        let documents = documents
            .iter()
            .map(|(title, body)| vec![tokens(title), tokens(body)]);
        Index::new(&FIELDS, documents)
    }

    fn query(text: &str) -> BTreeSet<String> {
        tokens(text).into_iter().collect()
    }

    #[test]
    fn a_title_counts_more_than_a_body_and_a_rare_word_more_than_a_common_one() {
        let index = index(&[
            ("Pay a bill", "Open the app."),
            ("Open the app", "Pay there if asked."),
            ("Open a door", "Open it."),
        ]);
        let score = |at, text: &str| index.score(at, &query(text));
        assert!(score(0, "pay") > score(1, "pay"));
        assert_eq!(score(2, "pay"), 0.0);
        assert!(score(0, "bill open") > score(1, "bill open"));
    }

    #[test]
    fn a_long_text_does_not_win_by_its_length() {
        let long = "wifi ".repeat(3) + &"other words of all kinds ".repeat(50);
        let index = index(&[("A", "wifi wifi wifi"), ("B", &long)]);
        assert!(index.score(0, &query("wifi")) > index.score(1, &query("wifi")));
    }

    #[test]
    fn an_index_for_one_query_scores_as_the_whole_one() {
        let texts = [
            ("Pay a bill", "Open the app, then pay."),
            ("Open a door", "Open it."),
        ];
        let query = query("open the bill");
        let whole = index(&texts);
        let documents = texts
            .iter()
            .map(|(title, body)| vec![vec![*title], vec![*body]]);
        let focused = Index::for_query(&FIELDS, &query, documents);
        for at in 0..texts.len() {
            assert_eq!(focused.score(at, &query), whole.score(at, &query));
            for token in &query {
                assert_eq!(focused.weight_of(token), whole.weight_of(token));
            }
        }
    }
}
