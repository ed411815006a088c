//! Problems of a wrong `[method]` or `[reference]`.

use super::problems::line;

#[test]
fn methods_are_in_the_registry() {
    let code = "system/unknown-method";
    line(
        "[method]\nschedule = 'jacobbi'",
        code,
        "'jacobbi'",
        "`jacobbi` is not a method for `schedule`",
        Some("did you mean `jacobi`?"),
    );
    line(
        "[method]\npartition = { gauss_seidel = {} }",
        code,
        "gauss_seidel",
        "`gauss_seidel` is not a method for `partition`",
        Some("did you mean `gauss-seidel`?"),
    );
    line(
        "[method]\niteration = 'twelve'",
        code,
        "'twelve'",
        "`twelve` is not a method for `iteration`",
        Some("known are `once`, `fixed-point`"),
    );
    line(
        "[method]\ninput = 'liner'",
        code,
        "'liner'",
        "`liner` is not a method for `input`",
        Some("did you mean `linear`?"),
    );
    line(
        "[method]\ninput = { default = 'hodl', 'a.u' = 'linear' }",
        code,
        "'hodl'",
        "`hodl` is not a method for `input`",
        Some("did you mean `hold`?"),
    );
    line(
        "[method]\ncorrection = 'nepc'",
        code,
        "'nepc'",
        "`nepc` is not a method for `correction`",
        Some("did you mean `nepce`?"),
    );
    line(
        "[method]\nstep = { estimate = 'power', controller = 'pi', tolerance = 1e-3 }",
        code,
        "'power'",
        "`power` is not a method for `estimate`",
        Some("known are `none`, `power-residual`"),
    );
    line(
        "[method]\nstep = { controller = 'pid' }",
        code,
        "'pid'",
        "`pid` is not a method for `controller`",
        Some("did you mean `pi`?"),
    );
    let code = "system/value";
    line("[method]\ninput = 1", code, "1", "`input` must be the name of a method or a table, got 1", None);
    line(
        "[method]\ninput = {}",
        code,
        "{}",
        "`input` must name one method, got 0",
        Some("write `{ method = { option = value } }`"),
    );
    line(
        "[method]\ncorrection = { none = {}, nepce = {} }",
        code,
        "{ none = {}, nepce = {} }",
        "`correction` must name one method, got 2",
        Some("write `{ method = { option = value } }`"),
    );
    line(
        "[method]\ncorrection = { nepce = 0.5 }",
        code,
        "0.5",
        "`nepce` must be a table of options, got 0.5",
        Some("write `{ nepce = { option = value } }`"),
    );
}

#[test]
fn inputs_without_quotes_are_understood_and_corrected() {
    let hint = Some("names with a dot need quotes: `\"a.u\"`");
    line(
        "[method]\ninput = { a.u = 'hold' }",
        "system/unknown-method",
        "a",
        "`a` is not a method for `input`",
        hint,
    );
    line(
        "[method]\ninput = { a.u = 'hold', default = 'linear' }",
        "system/value",
        "a",
        "a key of `input` must be `default` or `component.port`, got `a`",
        hint,
    );
    line(
        "[method]\ninput = { wheel = 'hold', default = 'linear' }",
        "system/value",
        "wheel",
        "a key of `input` must be `default` or `component.port`, got `wheel`",
        Some("write `\"component.port\" = \"method\"`"),
    );
}

#[test]
fn options_are_those_of_their_method() {
    let code = "system/option";
    let nepce = |options: &str| format!("[method]\ncorrection = {{ nepce = {{ {options} }} }}");
    line(&nepce("gian = 1"), code, "gian", "`nepce` has no `gian`", Some("did you mean `gain`?"));
    line(&nepce("gain = 1.5"), code, "1.5", "`gain` of `nepce` must be a number from 0 to 1, got 1.5", None);
    line(
        &nepce("form = 'papers'"),
        code,
        "'papers'",
        "`form` of `nepce` must be one of `account`, `paper`, got \"papers\"",
        None,
    );
    line(
        "[method]\niteration = { fixed-point = { sweeps = 0 } }",
        code,
        "0",
        "`sweeps` of `fixed-point` must be a whole number of at least 1, got 0",
        None,
    );
    let order = "[method]\npartition = { gauss-seidel = { order = 'a' } }";
    line(order, code, "'a'", "`order` of `gauss-seidel` must be a list of names, got \"a\"", None);
    line(
        "[method]\nstep = { tolerance = 1e-3 }",
        code,
        "tolerance",
        "the estimate `none` has no `tolerance`",
        Some("estimates with a tolerance are `power-residual`"),
    );
    line(
        "[method]\nstep = { estimate = 'power-residual', tolerance = 2 }",
        code,
        "2",
        "`tolerance` of `power-residual` must be a number from 0 to 1, got 2",
        None,
    );
    line(
        "[method]\nstep = { estimate = 'power-residual', tolerance = -2 }",
        "system/value",
        "-2",
        "`tolerance` must be a finite number above 0, got -2",
        None,
    );
    line(
        "[method]\nstep = { estimate = { power-residual = { tolerance = 0.5 } }, tolerance = 0.5 }",
        "system/conflict",
        "tolerance",
        "`tolerance` is given twice, here and to `power-residual`",
        Some("remove one of them"),
    );
    line(
        "[method]\nschedule = 'jacobi'\niteration = 'once'",
        "system/conflict",
        "schedule",
        "`schedule` and `iteration` exclude each other",
        Some("`schedule` is short for `partition` with `iteration = \"once\"`; remove one of them"),
    );
}

#[test]
fn references_are_known_with_their_columns() {
    line(
        "[reference]\nmodel = 'quater-car'\nports = { 'a.v' = 'anything' }",
        "system/unknown-reference",
        "'quater-car'",
        "no reference model is called `quater-car`",
        Some("did you mean `quarter-car`?"),
    );
    line(
        "[reference]\nmodel = 'quarter-car'\nports = { 'a.v' = 'speed' }",
        "system/unknown-column",
        "'speed'",
        "the reference `quarter-car` has no column `speed`",
        Some("known are `vc`, `vw`, `F`"),
    );
}
