//! Which texts of a configuration must not be shown to anyone.

use std::collections::BTreeSet;
use std::fmt;

use crate::config::{Config, HttpConfig, StdioConfig, TransportConfig};

/// Shorter texts are too common to be taken out of everything that is said.
const MIN_LENGTH: usize = 6;

/// Parts of the names of variables, headers and parameters that hold secrets.
const SECRET_NAMES: [&str; 12] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "key",
    "auth",
    "credential",
    "cookie",
    "bearer",
    "session",
    "signature",
    "webhook",
];

/// How well-known tokens begin.
const TOKEN_BEGINNINGS: [&str; 14] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "eyJ",
    "lin_api_",
    "hf_",
];

impl Config {
    /// The values that are to be replaced wherever something is reported, the longest first.
    ///
    /// They are what variables put in, and what looks like a secret in environments, headers, addresses and arguments.
    pub fn secrets(&self) -> Vec<String> {
        let mut found = Found::default();
        for value in &self.expanded {
            // Folders and numbers come from variables too, and are needed to understand an error.
            let harmless = is_path(value) || value.parse::<f64>().is_ok();
            if !harmless {
                found.add(value);
            }
        }
        for server in self.servers.values() {
            match &server.transport {
                TransportConfig::Stdio(stdio) => {
                    for (name, value) in &stdio.env {
                        found.add_named(name, value);
                    }
                    for argument in &stdio.args {
                        match argument.split_once('=') {
                            Some((name, value)) => found.add_named(name, value),
                            None => found.add_if_token(argument),
                        }
                    }
                    for pair in stdio.args.windows(2) {
                        if pair[0].starts_with('-') && !pair[1].starts_with('-') {
                            found.add_named(&pair[0], &pair[1]);
                        }
                    }
                }
                TransportConfig::Http(http) => {
                    for (name, value) in &http.headers {
                        found.add_named(name, value);
                    }
                    found.add_of_url(&http.url);
                }
            }
        }
        let mut secrets: Vec<String> = found.0.into_iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }
}

#[derive(Default)]
struct Found(BTreeSet<String>);

impl Found {
    fn add(&mut self, value: &str) {
        let value = value.trim();
        if value.len() >= MIN_LENGTH {
            self.0.insert(value.to_owned());
        }
    }

    /// Adds the value of something whose name or form says that it is secret.
    fn add_named(&mut self, name: &str, value: &str) {
        let scheme = ["Bearer ", "Basic ", "Token "].iter().find_map(|scheme| {
            let head = value.get(..scheme.len())?;
            head.eq_ignore_ascii_case(scheme).then_some(scheme.len())
        });
        let bare = &value[scheme.unwrap_or(0)..];
        let secret = scheme.is_some() || is_secret_name(name) && !is_path(value);
        if secret {
            self.add(bare);
        } else {
            self.add_if_token(value);
            self.add_of_url(value);
        }
    }

    fn add_if_token(&mut self, value: &str) {
        if TOKEN_BEGINNINGS.iter().any(|head| value.starts_with(head)) && value.len() >= 16 {
            self.add(value);
        }
    }

    /// Adds the password and the parameters of an address that are secret.
    fn add_of_url(&mut self, url: &str) {
        let Some((_, rest)) = url.split_once("://") else {
            return;
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            self.add(user.split_once(':').map_or(user, |(_, password)| password));
        }
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        for parameter in query.split(['&', '#']) {
            if let Some((name, value)) = parameter.split_once('=')
                && is_secret_name(name)
            {
                self.add(value);
            }
        }
    }
}

/// Whether what has this name is a secret: a variable, an option, a header or a parameter.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
        || name == "pat"
        || name.ends_with("_pat")
        || name.ends_with("_pwd")
}

fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) || value.get(1..3).is_some_and(|head| head == ":\\")
}

/// Shows the names of variables and headers without their values, so that a log of a configuration is harmless.
impl fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("n_args", &self.args.len())
            .field("env", &self.env.keys())
            .field("env_from", &self.env_from)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        let host = url.rsplit_once('@').map_or(url, |(_, host)| host);
        f.debug_struct("HttpConfig")
            .field("url", &host)
            .field("headers", &self.headers.keys())
            .field("sse", &self.sse)
            .finish()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("servers", &self.servers)
            .field("tool_search", &self.tool_search)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use crate::config;

    fn check(server: &str, expected: Expect) {
        let lookup = |name: &str| {
            let value = match name {
                "GIVEN" => "from-a-variable",
                "LINE" => "with-newline\n",
                "HOME" => "/home/someone",
                "PORT" => "808080",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let text = format!("mcp_servers: {{s: {server}}}");
        let parsed = config::parse(&text, Path::new("/"), lookup);
        assert!(!parsed.has_errors(), "{:?}", parsed.problems);
        expected.assert_eq(&parsed.config.secrets().join("\n"));
    }

    #[test]
    fn what_variables_held_is_secret() {
        check(
            "{command: c, args: ['--x=${GIVEN}'], env: {A: '${LINE}', B: '${HOME}', C: '${PORT}'}}",
            expect![[r#"
                from-a-variable
                with-newline"#]],
        );
    }

    #[test]
    fn names_and_forms_betray_secrets() {
        check(
            "{command: c, env: {API_KEY: abcdef1, LEVEL: verbose, KEY_FILE: /etc/key, X: ghp_0123456789abcdef}}",
            expect![[r#"
                ghp_0123456789abcdef
                abcdef1"#]],
        );
        check(
            "{command: c, args: [--token, t0ken-value, --level, verbose, '--password=pa55word']}",
            expect![[r#"
                t0ken-value
                pa55word"#]],
        );
    }

    #[test]
    fn addresses_and_headers_hold_secrets() {
        check(
            "{url: 'https://u:pa55word@h/x?api_key=q1w2e3r4&page=123456', headers: {Authorization: 'Bearer secret-1', Accept: application/json}}",
            expect![[r#"
                pa55word
                q1w2e3r4
                secret-1"#]],
        );
    }

    #[test]
    fn debugging_shows_no_secret() {
        let text = "mcp_servers: {a: {command: c, args: [--token=aaaaaaaa], env: {K: bbbbbbbb}}, b: {url: 'https://u:cccccccc@h/?k=dddddddd', headers: {K: eeeeeeee}}}";
        let parsed = config::parse(text, Path::new("/"), |_| None);
        let shown = format!("{:?}", parsed.config);
        for secret in ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn short_texts_are_left_alone() {
        check("{command: c, env: {TOKEN: test}}", expect![""]);
    }
}
