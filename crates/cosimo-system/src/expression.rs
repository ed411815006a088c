//! Conditions of a scenario: comparisons of ports, time and numbers, joined by `and`, `or` and `not`.
//!
//! Names with characters other than letters, digits, `_`, `.`, `[` and `]` are written in backticks. Every error has
//! its place in the text.

use crate::problem::{Problem, Span};

/// A parsed condition or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A literal.
    Number(f64),
    /// The simulation time in seconds, `t` or `time`.
    Time,
    /// `component.port`.
    Port(String, Span),
    /// `-x`.
    Negate(Box<Expression>),
    /// `not x`.
    Not(Box<Expression>),
    /// An operator with its left and right operand.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// Arithmetic, comparison and logical operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `and`
    And,
    /// `or`
    Or,
}

impl Operator {
    /// The result is true or false.
    fn is_boolean(self) -> bool {
        !matches!(self, Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide)
    }

    /// The operands are true or false.
    fn is_logical(self) -> bool {
        matches!(self, Operator::And | Operator::Or)
    }

    fn apply(self, left: f64, right: f64) -> f64 {
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
    /// The value at a time in seconds; `port` is called in the order of [`Expression::ports`]. True
    /// is 1.
    pub fn value(&self, time: f64, port: &mut dyn FnMut(&str) -> f64) -> f64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Time => time,
            Expression::Port(path, _) => port(path),
            Expression::Negate(inner) => -inner.value(time, port),
            Expression::Not(inner) => truth(inner.value(time, port) == 0.0),
            Expression::Binary(operator, left, right) => {
                let left = left.value(time, port);
                operator.apply(left, right.value(time, port))
            }
        }
    }

    /// All ports, in the order of the text.
    pub fn ports(&self) -> Vec<(&str, &Span)> {
        match self {
            Expression::Number(_) | Expression::Time => Vec::new(),
            Expression::Port(path, span) => vec![(path, span)],
            Expression::Negate(inner) | Expression::Not(inner) => inner.ports(),
            Expression::Binary(_, left, right) => [left.ports(), right.ports()].concat(),
        }
    }
}

/// Nested parentheses. Deeper nesting would overflow the stack.
const MAX_DEPTH: usize = 100;

/// Parses a condition that begins at byte `start` of its file.
pub fn parse(text: &str, start: usize) -> Result<Expression, Problem> {
    let mut parser = Parser { text, start, at: 0, depth: 0 };
    let whole = parser.disjunction()?;
    parser.skip_blanks();
    if parser.at < text.len() {
        let found = parser.next_word();
        return Err(parser.wrong(format!("`{found}` is not expected here"), found.len()).hint(
            "conditions are comparisons joined by `and`, `or` and `not`, as in `a.v > 1 and t >= 2`; names with other \
             characters are written in backticks",
        ));
    }
    if is_boolean(&whole) {
        return Ok(whole);
    }
    let problem = Problem::error("scenario/condition", "expected true or false, got a number", 0..0);
    Err(Problem { span: start..start + text.len(), ..problem }.hint("compare it, as in `a.v > 1`"))
}

fn is_boolean(expression: &Expression) -> bool {
    match expression {
        Expression::Not(_) => true,
        Expression::Binary(operator, ..) => operator.is_boolean(),
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
    fn disjunction(&mut self) -> Result<Expression, Problem> {
        self.left_associative(Self::conjunction, |parser| parser.word("or").then_some(Operator::Or))
    }

    fn conjunction(&mut self) -> Result<Expression, Problem> {
        self.left_associative(Self::negation, |parser| parser.word("and").then_some(Operator::And))
    }

    /// Operands of the next level with operators between.
    fn left_associative(
        &mut self,
        next: fn(&mut Self) -> Result<Expression, Problem>,
        operator: fn(&mut Self) -> Option<Operator>,
    ) -> Result<Expression, Problem> {
        let from = self.begin();
        let mut left = next(self)?;
        while let Some(operator) = operator(self) {
            left = self.binary(from, operator, left, next)?;
        }
        Ok(left)
    }

    fn negation(&mut self) -> Result<Expression, Problem> {
        let from = self.begin();
        if !self.word("not") {
            return self.comparison();
        }
        let inner = self.nested(Self::negation)?;
        self.require(is_boolean(&inner), from, "`not` needs a comparison, got a number")?;
        Ok(Expression::Not(Box::new(inner)))
    }

    fn comparison(&mut self) -> Result<Expression, Problem> {
        let from = self.begin();
        let left = self.sum()?;
        self.skip_blanks();
        let found = COMPARISONS.iter().find(|(sign, _)| self.text[self.at..].starts_with(sign));
        let Some((sign, operator)) = found else {
            let rest = &self.text[self.at..];
            if rest.starts_with('=') {
                return Err(self.wrong("`=` is not a comparison".into(), 1).hint("write `==`"));
            }
            return Ok(left);
        };
        self.at += sign.len();
        self.binary(from, *operator, left, Self::sum)
    }

    fn sum(&mut self) -> Result<Expression, Problem> {
        self.left_associative(Self::product, |parser| match parser.sign(['+', '-'])? {
            '+' => Some(Operator::Add),
            _ => Some(Operator::Subtract),
        })
    }

    fn product(&mut self) -> Result<Expression, Problem> {
        self.left_associative(Self::unary, |parser| match parser.sign(['*', '/'])? {
            '*' => Some(Operator::Multiply),
            _ => Some(Operator::Divide),
        })
    }

    fn unary(&mut self) -> Result<Expression, Problem> {
        let from = self.begin();
        let rest = &self.text[self.at..];
        match rest.chars().next() {
            None => Err(self
                .wrong("expected a port or a number, got the end of the condition".into(), 0)
                .hint("write for example `a.v > 1`")),
            Some('-') => {
                self.at += 1;
                let inner = self.nested(Self::unary)?;
                self.require(!is_boolean(&inner), from, "`-` needs a number, got a comparison")?;
                Ok(Expression::Negate(Box::new(inner)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.nested(Self::disjunction)?;
                if self.sign([')', ')']).is_none() {
                    self.at = from;
                    return Err(self.wrong("this parenthesis is not closed".into(), 1).hint("add `)`"));
                }
                Ok(inner)
            }
            Some('`') => {
                let Some(length) = rest[1..].find('`') else {
                    return Err(self.wrong("this backtick is not closed".into(), 1).hint("add a second one"));
                };
                self.at += length + 2;
                Ok(Expression::Port(rest[1..=length].into(), self.span(from + 1..from + 1 + length)))
            }
            Some(digit) if digit.is_ascii_digit() || digit == '.' => self.number(),
            Some(letter) if letter.is_alphabetic() || letter == '_' => {
                let name = self.name();
                self.at += name.len();
                match name.as_str() {
                    "t" | "time" => Ok(Expression::Time),
                    "and" | "or" | "not" => {
                        self.at = from;
                        let message = format!("expected a port or a number, got `{name}`");
                        Err(self
                            .wrong(message, name.len())
                            .hint("`and` and `or` join comparisons, `not` negates one"))
                    }
                    _ => Ok(Expression::Port(name, self.span(from..self.at))),
                }
            }
            Some(other) => Err(self
                .wrong(format!("expected a port or a number, got `{other}`"), other.len_utf8())
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
            None => Err(self.wrong(format!("`{}` is not a number", &rest[..length]), length)),
        }
    }

    /// Parses the right operand and checks the types of both.
    fn binary(
        &mut self,
        from: usize,
        operator: Operator,
        left: Expression,
        next: fn(&mut Self) -> Result<Expression, Problem>,
    ) -> Result<Expression, Problem> {
        let right = self.nested(next)?;
        let expected = operator.is_logical();
        if is_boolean(&left) != expected || is_boolean(&right) != expected {
            let message = if expected {
                "`and` and `or` need comparisons, got a number"
            } else {
                "expected numbers, got a comparison"
            };
            return Err(self.wrong_from(from, message.into()).hint("add parentheses, or compare the number"));
        }
        Ok(Expression::Binary(operator, Box::new(left), Box::new(right)))
    }

    fn nested(&mut self, next: fn(&mut Self) -> Result<Expression, Problem>) -> Result<Expression, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong(format!("more than {MAX_DEPTH} levels are nested here"), 1));
        }
        let inner = next(self);
        self.depth -= 1;
        inner
    }

    fn require(&self, holds: bool, from: usize, message: &str) -> Result<(), Problem> {
        if holds { Ok(()) } else { Err(self.wrong_from(from, message.into())) }
    }

    /// Where the next word begins.
    fn begin(&mut self) -> usize {
        self.skip_blanks();
        self.at
    }

    fn skip_blanks(&mut self) {
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

    /// Skips this word if it is the next one.
    fn word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let found = self.name() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn sign(&mut self, signs: [char; 2]) -> Option<char> {
        self.skip_blanks();
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
    fn operators_have_the_usual_precedence() {
        for (text, expected) in [
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
            assert_eq!(value(&expression) == 1.0, expected, "{text}");
        }
    }

    #[test]
    fn errors_have_their_place() {
        for (text, at, words) in [
            ("", 7..7, "the end of the condition"),
            ("a.x", 7..10, "true or false"),
            ("a.x = 3", 11..12, "not a comparison"),
            ("a.x > ", 13..13, "the end of the condition"),
            ("a.x > 1 b", 15..16, "not expected"),
            ("(a.x > 1", 7..8, "not closed"),
            ("a.x > 1 and t", 7..20, "need comparisons"),
            ("(t > 1) + 2 > 0", 7..18, "expected numbers"),
            ("not 3 > and 2", 15..18, "got `and`"),
            ("t > 1e", 11..13, "not a number"),
            ("t > 1e999", 11..16, "not a number"),
            ("t > #", 11..12, "`#`"),
            ("t > `a.x", 11..12, "not closed"),
            ("-(t > 1) > 0", 7..15, "got a comparison"),
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
