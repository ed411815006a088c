//! Conditions of a scenario: comparisons of ports, time and numbers, joined by `and`, `or` and `not`.
//!
//! Names that have other signs than letters, digits, `_`, `.`, `[` and `]` stand in backticks. Whatever is wrong is told
//! with its place in the text.

use crate::problem::{Problem, Span};

#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Number(f64),
    Time,
    /// `component.port`.
    Port(String, Span),
    Negative(Box<Expression>),
    Not(Box<Expression>),
    Pair(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

impl Operator {
    /// True or false come out.
    fn decides(self) -> bool {
        !matches!(self, Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide)
    }

    /// True or false go in.
    fn joins(self) -> bool {
        matches!(self, Operator::And | Operator::Or)
    }

    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::Less => truth(left < right),
            Operator::LessOrEqual => truth(left <= right),
            Operator::Greater => truth(left > right),
            Operator::GreaterOrEqual => truth(left >= right),
            Operator::Equal => truth(left == right),
            Operator::NotEqual => truth(left != right),
            Operator::And => truth(left != 0.0 && right != 0.0),
            Operator::Or => truth(left != 0.0 || right != 0.0),
        }
    }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

impl Expression {
    /// Its value at a time, with the values of its ports, which are asked for in the order of [`Expression::ports`]. True
    /// is 1.
    pub fn value(&self, time: f64, port: &mut dyn FnMut(&str) -> f64) -> f64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Time => time,
            Expression::Port(path, _) => port(path),
            Expression::Negative(inner) => -inner.value(time, port),
            Expression::Not(inner) => truth(inner.value(time, port) == 0.0),
            Expression::Pair(operator, left, right) => {
                let left = left.value(time, port);
                operator.of(left, right.value(time, port))
            }
        }
    }

    /// All ports, in the order in which they stand there.
    pub fn ports(&self) -> Vec<(&str, &Span)> {
        match self {
            Expression::Number(_) | Expression::Time => Vec::new(),
            Expression::Port(path, span) => vec![(path, span)],
            Expression::Negative(inner) | Expression::Not(inner) => inner.ports(),
            Expression::Pair(_, left, right) => [left.ports(), right.ports()].concat(),
        }
    }
}

/// Parentheses inside each other. More are no condition that a person wrote, and would end the stack.
const DEEPEST: usize = 100;

/// Reads a condition that stands at `start` in its file.
pub fn parse(text: &str, start: usize) -> Result<Expression, Problem> {
    let mut parser = Parser { text, start, at: 0, depth: 0 };
    let whole = parser.either()?;
    parser.blanks();
    if parser.at < text.len() {
        let found = parser.next_word();
        return Err(parser.wrong(format!("`{found}` is not expected here"), found.len()).hint(
            "conditions are comparisons joined by `and`, `or` and `not`, as in `a.v > 1 and t >= 2`; names with other \
             signs stand in backticks",
        ));
    }
    if decides(&whole) {
        return Ok(whole);
    }
    let problem = Problem::error("scenario/condition", "this is a number, true or false is expected", 0..0);
    Err(Problem { span: start..start + text.len(), ..problem }.hint("compare it, as in `a.v > 1`"))
}

fn decides(expression: &Expression) -> bool {
    match expression {
        Expression::Not(_) => true,
        Expression::Pair(operator, ..) => operator.decides(),
        _ => false,
    }
}

struct Parser<'a> {
    text: &'a str,
    start: usize,
    at: usize,
    depth: usize,
}

const COMPARISONS: [(&str, Operator); 6] = [
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Parser<'_> {
    fn either(&mut self) -> Result<Expression, Problem> {
        self.chain(Self::both, |parser| parser.word("or").then_some(Operator::Or))
    }

    fn both(&mut self) -> Result<Expression, Problem> {
        self.chain(Self::negation, |parser| parser.word("and").then_some(Operator::And))
    }

    /// Several of the next kind with operators between.
    fn chain(
        &mut self,
        next: fn(&mut Self) -> Result<Expression, Problem>,
        operator: fn(&mut Self) -> Option<Operator>,
    ) -> Result<Expression, Problem> {
        let begun = self.begin();
        let mut left = next(self)?;
        while let Some(operator) = operator(self) {
            left = self.pair(begun, operator, left, next)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, Problem> {
        let begun = self.begin();
        if !self.word("not") {
            return self.comparison();
        }
        let inner = self.deeper(Self::negation)?;
        self.must(decides(&inner), begun, "`not` stands before a comparison, here it is before a number")?;
        Ok(Expression::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Expression, Problem> {
        let begun = self.begin();
        let left = self.sum()?;
        self.blanks();
        let found = COMPARISONS.iter().find(|(sign, _)| self.text[self.at..].starts_with(sign));
        let Some((sign, operator)) = found else {
            let rest = &self.text[self.at..];
            if rest.starts_with('=') {
                return Err(self.wrong("`=` is no comparison".into(), 1).hint("write `==`"));
            }
            return Ok(left);
        };
        self.at += sign.len();
        self.pair(begun, *operator, left, Self::sum)
    }

    fn sum(&mut self) -> Result<Expression, Problem> {
        self.chain(Self::product, |parser| match parser.sign(['+', '-'])? {
            '+' => Some(Operator::Add),
            _ => Some(Operator::Subtract),
        })
    }

    fn product(&mut self) -> Result<Expression, Problem> {
        self.chain(Self::single, |parser| match parser.sign(['*', '/'])? {
            '*' => Some(Operator::Multiply),
            _ => Some(Operator::Divide),
        })
    }

    fn single(&mut self) -> Result<Expression, Problem> {
        let begun = self.begin();
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            None => Err(self
                .wrong("the condition ends where a port or a number is expected".into(), 0)
                .hint("write for example `a.v > 1`")),
            Some('-') => {
                self.at += 1;
                let inner = self.deeper(Self::single)?;
                self.must(
                    !decides(&inner),
                    begun,
                    "`-` stands before a number, here it is before a comparison",
                )?;
                Ok(Expression::Negative(Box::new(inner)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.deeper(Self::either)?;
                if self.sign([')', ')']).is_none() {
                    self.at = begun;
                    return Err(self.wrong("this parenthesis is not closed".into(), 1).hint("add `)`"));
                }
                Ok(inner)
            }
            Some('`') => {
                let Some(length) = rest[1..].find('`') else {
                    return Err(self.wrong("this backtick has no second one".into(), 1).hint("add one"));
                };
                self.at += length + 2;
                Ok(Expression::Port(rest[1..=length].into(), self.span(begun + 1..begun + 1 + length)))
            }
            Some(digit) if digit.is_ascii_digit() || digit == '.' => self.number(),
            Some(letter) if letter.is_alphabetic() || letter == '_' => {
                let name = self.name();
                self.at += name.len();
                match name.as_str() {
                    "t" | "time" => Ok(Expression::Time),
                    "and" | "or" | "not" => {
                        self.at = begun;
                        let message = format!("`{name}` stands where a port or a number is expected");
                        Err(self.wrong(message, name.len()).hint("it stands between or before comparisons"))
                    }
                    _ => Ok(Expression::Port(name, self.span(begun..self.at))),
                }
            }
            Some(other) => Err(self
                .wrong(format!("`{other}` stands where a port or a number is expected"), other.len_utf8())
                .hint("known are + - * / < <= > >= == != and ( )")),
        }
    }

    fn number(&mut self) -> Result<Expression, Problem> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let mut length = 0;
        while let Some(byte) = bytes.get(length) {
            let signed =
                matches!(byte, b'+' | b'-') && length > 0 && matches!(bytes[length - 1], b'e' | b'E');
            if !(byte.is_ascii_alphanumeric() || *byte == b'.' || signed) {
                break;
            }
            length += 1;
        }
        match rest[..length].parse::<f64>().ok().filter(|number| number.is_finite()) {
            Some(number) => {
                self.at += length;
                Ok(Expression::Number(number))
            }
            None => Err(self.wrong(format!("`{}` is no number", &rest[..length]), length)),
        }
    }

    /// The second of a pair, and whether the two can stand together.
    fn pair(
        &mut self,
        begun: usize,
        operator: Operator,
        left: Expression,
        next: fn(&mut Self) -> Result<Expression, Problem>,
    ) -> Result<Expression, Problem> {
        let right = self.deeper(next)?;
        let wanted = operator.joins();
        if decides(&left) != wanted || decides(&right) != wanted {
            let message = if wanted {
                "`and` and `or` stand between comparisons, here is a number"
            } else {
                "numbers are expected here, a comparison is neither larger nor smaller nor a summand"
            };
            return Err(self
                .wrong_from(begun, message.into())
                .hint("put parentheses, or compare the number"));
        }
        Ok(Expression::Pair(operator, Box::new(left), Box::new(right)))
    }

    fn deeper(&mut self, next: fn(&mut Self) -> Result<Expression, Problem>) -> Result<Expression, Problem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(format!("more than {DEEPEST} levels are nested here"), 1));
        }
        let inner = next(self);
        self.depth -= 1;
        inner
    }

    fn must(&self, holds: bool, from: usize, message: &str) -> Result<(), Problem> {
        if holds { Ok(()) } else { Err(self.wrong_from(from, message.into())) }
    }

    /// Where the next word begins.
    fn begin(&mut self) -> usize {
        self.blanks();
        self.at
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    fn name(&self) -> String {
        let inside = |letter: &char| letter.is_alphanumeric() || "_.[]".contains(*letter);
        let mut name: String = self.text[self.at..].chars().take_while(inside).collect();
        // Elements of arrays are `q[1,2]`.
        while name.matches('[').count() > name.matches(']').count() {
            let rest = &self.text[self.at + name.len()..];
            let Some(more) = rest.find(']').filter(|_| rest.starts_with(',')) else { break };
            name.push_str(&rest[..=more]);
        }
        name
    }

    fn next_word(&self) -> String {
        let rest = &self.text[self.at..];
        let name = self.name();
        if name.is_empty() { rest.chars().take(1).collect() } else { name }
    }

    /// Steps over a word that stands alone.
    fn word(&mut self, word: &str) -> bool {
        self.blanks();
        let found = self.name() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn sign(&mut self, signs: [char; 2]) -> Option<char> {
        self.blanks();
        let sign = self.text[self.at..].chars().next().filter(|sign| signs.contains(sign))?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    fn span(&self, here: Span) -> Span {
        self.start + here.start..self.start + here.end
    }

    fn wrong(&self, message: String, length: usize) -> Problem {
        Problem::error("scenario/condition", message, self.span(self.at..self.at + length))
    }

    fn wrong_from(&self, from: usize, message: String) -> Problem {
        let length = self.text[from..self.at].trim_end().len();
        Problem::error("scenario/condition", message, self.span(from..from + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value at t = 2, with a.x = 3, `b-c.y[1]` = -1 and true as 1.
    fn value(expression: &Expression) -> f64 {
        expression.value(2.0, &mut |name| match name {
            "a.x" => 3.0,
            "b-c.y[1]" => -1.0,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn operators_bind_as_everywhere() {
        for (text, wanted) in [
            ("a.x > 2", true),
            ("a.x>2 and t<1", false),
            ("not a.x > 2 or t == 2", true),
            ("not (a.x > 2 or t == 2)", false),
            ("1 + 2 * 3 == 7", true),
            ("8 - 4 - 2 == 2", true),
            ("8 / 4 / 2 == 1", true),
            ("-a.x + 3 == 0", true),
            ("--t == 2", true),
            ("`b-c.y[1]` < 0", true),
            ("a.x-t == 1", true),
            ("1e-3 * 1E+3 == 1 and .5 < 1", true),
            ("t >= 2 and t <= 2 and t != 3", true),
            ("time == t", true),
            ("not not t > 1", true),
        ] {
            let expression = parse(text, 0).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(value(&expression) == 1.0, wanted, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        for (text, at, words) in [
            ("", 7..7, "ends where"),
            ("a.x", 7..10, "true or false"),
            ("a.x = 3", 11..12, "no comparison"),
            ("a.x > ", 13..13, "ends where"),
            ("a.x > 1 b", 15..16, "not expected"),
            ("(a.x > 1", 7..8, "not closed"),
            ("a.x > 1 and t", 7..20, "between comparisons"),
            ("(t > 1) + 2 > 0", 7..18, "numbers are expected"),
            ("not 3 > and 2", 15..18, "`and` stands where"),
            ("t > 1e", 11..13, "no number"),
            ("t > 1e999", 11..16, "no number"),
            ("t > #", 11..12, "`#`"),
            ("t > `a.x", 11..12, "no second"),
            ("-(t > 1) > 0", 7..15, "before a comparison"),
            ("t < 1 < 2", 13..14, "not expected"),
        ] {
            let problem = parse(text, 7).unwrap_err();
            assert!(problem.message.contains(words), "{text}: {}", problem.message);
            assert_eq!(problem.span, at, "{text}: {}", problem.message);
        }
        let deep = format!("{}t > 1{}", "(".repeat(1000), ")".repeat(1000));
        assert!(parse(&deep, 0).unwrap_err().message.contains("nested"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-c0-9.()<>=!+*/` \\-ntoradß\\[\\],]{0,40}") {
            if let Err(problem) = parse(&text, 0) {
                prop_assert!(problem.span.end <= text.len() && text.get(problem.span.clone()).is_some());
            }
        }
    }
}
