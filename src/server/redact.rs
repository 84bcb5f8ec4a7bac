//! Which secrets a server was given and may echo.

use crate::config::StdioConfig;
use crate::config::secrets::is_secret_name;
use crate::redact::Redactor;

/// Knows the values of variables and options whose name speaks of a secret.
pub fn redactor<'a>(
    config: &'a StdioConfig,
    environment: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Redactor {
    let variables = environment
        .into_iter()
        .filter(|(name, _)| is_secret_name(name))
        .map(|(_, value)| value);
    let after_option = config.args.iter().zip(config.args.iter().skip(1));
    let after_option = after_option
        .filter(|(option, _)| option.starts_with('-') && is_secret_name(option))
        .map(|(_, value)| value.as_str());
    let within_option = config
        .args
        .iter()
        .filter_map(|argument| argument.split_once('='))
        .filter(|(option, _)| is_secret_name(option))
        .map(|(_, value)| value);
    Redactor::new(variables.chain(after_option).chain(within_option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_given_to_the_server_as_secrets_are_hidden() {
        let config = StdioConfig {
            command: "x".to_owned(),
            args: [
                "--api-key",
                "abcdefgh",
                "--token=ijklmnop",
                "--level",
                "verbose",
            ]
            .map(str::to_owned)
            .to_vec(),
            env: [].into(),
            env_from: vec![],
            cwd: None,
        };
        let redactor = redactor(
            &config,
            [("GITHUB_TOKEN", "qrstuvwx"), ("HOME", "/home/me")],
        );
        assert_eq!(
            redactor.redact("abcdefgh ijklmnop qrstuvwx verbose /home/me"),
            "[redacted] [redacted] [redacted] verbose /home/me"
        );
    }
}
