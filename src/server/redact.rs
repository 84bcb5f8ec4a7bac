//! Which secrets a server was given and may echo.

use crate::config::{Config, ServerConfig, StdioConfig, TransportConfig};
use crate::names::ServerName;
use crate::redact::Redactor;
use crate::server::environment::{self, Environment};

/// Knows what a server is given, by the same rules as the secrets of a configuration, and what is `known` besides.
///
/// `environment` is the server's whole one. What is passed on from the sidecar's counts as the value of a variable.
pub fn redactor(config: &StdioConfig, environment: &Environment, known: &[String]) -> Redactor {
    let passed_on = config.env_from.iter().filter_map(|name| {
        let value = environment::get(environment, name)?;
        Some(value.to_str()?.to_owned())
    });
    let env = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let given = ServerConfig::new(TransportConfig::Stdio(StdioConfig {
        env: env.collect(),
        ..config.clone()
    }));
    let given = Config {
        servers: ServerName::new("given")
            .into_iter()
            .map(|name| (name, given.clone()))
            .collect(),
        expanded: passed_on.collect(),
        ..Config::default()
    };
    Redactor::new(given.secrets().iter().chain(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(args: &[&str], env_from: &[&str]) -> StdioConfig {
        StdioConfig {
            command: "x".to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: [].into(),
            env_from: env_from.iter().map(|&name| name.to_owned()).collect(),
            cwd: None,
        }
    }

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn values_given_to_the_server_as_secrets_are_hidden() {
        let config = config(
            &[
                "--api-key",
                "abcdefgh",
                "--token=ijklmnop",
                "--level",
                "verbose",
            ],
            &[],
        );
        let environment = environment(&[("GITHUB_TOKEN", "qrstuvwx"), ("HOME", "/home/me")]);
        assert_eq!(
            redactor(&config, &environment, &[])
                .redact("abcdefgh ijklmnop qrstuvwx verbose /home/me"),
            "[redacted] [redacted] [redacted] verbose /home/me"
        );
    }

    #[test]
    fn passed_on_values_passwords_of_addresses_and_known_secrets_are_hidden() {
        let environment = environment(&[
            ("CONN", "host=h word"),
            ("DB", "postgres://u:dbpass999@h/x"),
            ("LANG", "de_DE.UTF-8"),
        ]);
        let redactor = redactor(
            &config(&[], &["CONN"]),
            &environment,
            &["of-another".to_owned()],
        );
        assert_eq!(
            redactor.redact("<host=h word> dbpass999 of-another de_DE.UTF-8"),
            "<[redacted]> [redacted] [redacted] de_DE.UTF-8"
        );
    }
}
