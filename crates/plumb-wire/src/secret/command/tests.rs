use proptest::prelude::*;

use super::*;

fn text(text: &str) -> String {
    masked(text, &in_commands(text))
}

#[test]
fn words_lose_the_secrets_of_headers_and_addresses() {
    let words = [
        "plumb",
        "http",
        "ping",
        "http://h/p?api_key=s3cret&a=1",
        "--header",
        "X-Api-Key: s3cret s3cret",
        "--header",
        "Accept: text/html",
        "--header=sid:s3cret",
        "--header=X-Api-Key: s3cret s3cret",
        "--header=X-See: http://h/?token=s3cret",
        "-HX-Api-Key: s3cret",
        "--header-like=x",
        "postgres://me:s3cret@db/x",
    ];
    let out = masked_words(&words.map(str::to_owned));
    assert_eq!(
        out[3..],
        [
            "http://h/p?api_key=MASKED&a=1",
            "--header",
            "X-Api-Key: MASKED",
            "--header",
            "Accept: text/html",
            "--header=sid:MASKED",
            "--header=X-Api-Key: MASKED",
            "--header=X-See: http://h/?token=MASKED",
            "-HX-Api-Key: MASKED",
            "--header-like=x",
            "postgres://MASKED@db/x",
        ]
    );
    let words = ["x", "--password", "a b", "--token=a b", "--keep-secrets", "--pin", "0", "-pw"];
    let out = masked_words(&words.map(str::to_owned));
    assert_eq!(out[1..4], ["--password", "MASKED", "--token=MASKED"]);
    assert_eq!(out[4..], words[4..]);
}

#[test]
fn what_follows_the_name_of_a_secret_is_one() {
    for (line, expected) in [
        ("./a --password s3cret -v", "./a --password MASKED -v"),
        ("./a --password=s3cret -v", "./a --password=MASKED -v"),
        ("./a --api-key 's3 cret' -v", "./a --api-key 'MASKED' -v"),
        ("PGPASSWORD=s3cret psql -c 'x'", "PGPASSWORD=MASKED psql -c 'x'"),
        ("exec = \"A=b DB_PASS=s3cret ./a\"", "exec = \"A=b DB_PASS=MASKED ./a\""),
        ("DB_PASS='s3 cret'; ./a", "DB_PASS='MASKED'; ./a"),
        (r#"["a", "--password", "s3cret"]"#, r#"["a", "--password", "MASKED"]"#),
        ("psql postgres://u:s3cret@h/x", "psql postgres://MASKED@h/x"),
        ("./a --password-file p --pin 0", "./a --password-file p --pin 0"),
        ("./a --token --for 1s", "./a --token --for 1s"),
        ("cd $PWD; PWD=/x ./a --password", "cd $PWD; PWD=/x ./a --password"),
        // what only names a secret is none
        ("./a --password \"$PW\" -v", "./a --password \"$PW\" -v"),
        ("PGPASSWORD=${PW} psql", "PGPASSWORD=${PW} psql"),
        ("./a --token=$(cat t)", "./a --token=$(cat t)"),
        ("./a --password '$PW' -v", "./a --password 'MASKED' -v"),
        ("./a --password ${PW:-s3cret}", "./a --password MASKED"),
        ("./a --password $PW.s3cret", "./a --password MASKED"),
        ("./a --token \"$(cat t)s3cret\" -v", "./a --token \"MASKED\" -v"),
        ("./a --token=$(cat t)s3cret -v", "./a --token=MASKED -v"),
        ("./a --token=$(cat s3cret", "./a --token=MASKED s3cret"),
        // a command whose output is one may have others
        (
            "./a --token \"$(curl --password s3cret https://h/login)\" -v",
            "./a --token \"$(curl --password MASKED https://h/login)\" -v",
        ),
        (
            "TOKEN=\"$(vault login --token s3cret)\" ./a",
            "TOKEN=\"$(vault login --token MASKED)\" ./a",
        ),
        (
            "TOKEN=$(a --token=$(b --pw s3cret)); ./a --pw s3cret",
            "TOKEN=$(a --token=$(b --pw MASKED)); ./a --pw MASKED",
        ),
    ] {
        assert_eq!(text(line), expected);
    }
}

#[test]
fn an_address_loses_all_of_its_secrets_and_nothing_else() {
    for (line, expected) in [
        ("http://h/p?api_key=s3cret&token=t2&b=2", "http://h/p?api_key=MASKED&token=MASKED&b=2"),
        (
            "https://me:s3cret@h/x?format=json&access_token=t",
            "https://MASKED@h/x?format=json&access_token=MASKED",
        ),
        ("http://h/?sig=abc&session_token=t", "http://h/?sig=MASKED&session_token=MASKED"),
        ("http://h/?code=c&client_secret=s", "http://h/?code=MASKED&client_secret=MASKED"),
        (
            "http://h/?password=p&client_secret=s#a",
            "http://h/?password=MASKED&client_secret=MASKED#a",
        ),
        ("http://h/a;token=x?api_key=y&b=2", "http://h/a;token=MASKED?api_key=MASKED&b=2"),
        // a command behind an address
        ("curl http://h/?a=1;TOKEN=s3cret ./a", "curl http://h/?a=1;TOKEN=MASKED ./a"),
        // an address that is a secret
        ("DB_PASSWORD=postgres://u:p@h/?a=1 ./a", "DB_PASSWORD=MASKED ./a"),
    ] {
        assert_eq!(text(line), expected);
    }
}

#[test]
fn lines_in_lines_and_in_files_lose_them_too() {
    for (line, expected) in [
        (
            "http ping http://h --header 'X-Api-Key: a b' --for 1s",
            "http ping http://h --header 'X-Api-Key: MASKED' --for 1s",
        ),
        (
            "run = \"http ping u --header \\\"X-Token: a b\\\" --for 1s\"",
            "run = \"http ping u --header \\\"X-Token: MASKED\\\" --for 1s\"",
        ),
        (
            "curl -H \"Authorization: Bearer abc\" 'https://h/x?sig=1'",
            "curl -H \"Authorization: Bearer MASKED\" 'https://h/x?sig=MASKED'",
        ),
        ("--header X-Token:abc next", "--header X-Token:MASKED next"),
        ("--header Referer:http://h/?code=1", "--header Referer:http://h/?code=MASKED"),
        ("nothing to see", "nothing to see"),
    ] {
        assert_eq!(text(line), expected);
    }
}

#[test]
fn a_value_is_all_that_a_shell_takes_for_it() {
    for (line, expected) in [
        ("u '--header=X-Api-Key: a b' --for 1s", "u '--header=X-Api-Key: MASKED' --for 1s"),
        (r#""--header=X-Api-Key: a \"b\" c" u"#, r#""--header=X-Api-Key: MASKED" u"#),
        ("u --header='X-Api-Key: a b' u", "u --header='X-Api-Key: MASKED' u"),
        (r"u --header X-Api-Key:\ a\ b u", r"u --header X-Api-Key:MASKED u"),
        ("u --header X-Api-Key:'a b' u", "u --header X-Api-Key:'MASKED' u"),
        (r"u --header 'X-Api-Key: a'\''b c' u", "u --header 'X-Api-Key: MASKED'MASKED'MASKED' u"),
        ("curl -H'X-Api-Key: a b' u", "curl -H'X-Api-Key: MASKED' u"),
        ("curl -HX-Api-Key:a u", "curl -HX-Api-Key:MASKED u"),
        ("curl -Host:a u", "curl -Host:a u"),
        (r#"["curl", "-H", "X-Api-Key: a b"]"#, r#"["curl", "-H", "X-Api-Key: MASKED"]"#),
        ("$(curl -H 'X-Api-Key: a b')", "$(curl -H 'X-Api-Key: MASKED')"),
        ("curl -H 'X-Api-Key: cut o", "curl -H 'X-Api-Key: MASKED"),
    ] {
        assert_eq!(text(line), expected);
    }
}

#[test]
fn what_stands_around_a_command_is_kept() {
    for (before, behind) in [
        ("run = \"u ", "\"\nx = \"y\""),
        ("run = \"\"\"u ", "\"\"\" # it's"),
        ("run = '''\nu ", "'''"),
        ("run = 'curl \"u\" ", " -v'"),
        ("`u ", "`: no"),
        ("sh -c \"", "\""),
    ] {
        let of = |value: &str| format!("{before}--header X-Token:{value}{behind}");
        assert_eq!(text(&of("a")), of("MASKED"));
    }
    for (before, behind) in [("\"u '", "' -v\" # it's"), (r#""u \""#, r#"\" -v" x"#)] {
        let of = |value: &str| format!("{before}--header=X-Token: {value}{behind}");
        assert_eq!(text(&of("a b")), of("MASKED"));
    }
}

proptest! {
    #[test]
    fn any_text_is_masked_once_and_for_all(
        line in r#"(\PC|--header |-H|--token|://|\$\(|[?&=:;)'"\\ ]|token|\u{e9}){0,30}"#,
    ) {
        let once = text(&line);
        prop_assert_eq!(text(&once), once.clone());
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let once = masked_words(&words);
        prop_assert_eq!(masked_words(&once), once);
    }

    #[test]
    fn a_secret_is_gone_from_any_command_that_quotes_it(secret in "[a-z0-9]{12,16}") {
        let line = format!(
            "A_TOKEN={secret} http ping http://u:{secret}@h/?api_key={secret}&a=1&token={secret}&b=2 \
             --header 'X-Api-Key: {secret}' --password '{secret}' \
             --token \"$(a --password {secret})\""
        );
        let shown = text(&line);
        prop_assert!(!shown.contains(&secret) && shown.contains("&b=2 "), "{shown}");
        prop_assert_eq!(text(&shown), shown.clone());
    }
}
