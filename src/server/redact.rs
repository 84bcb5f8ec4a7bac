//! Hides what must not be repeated: secrets that a server was given and may echo.

use crate::config::StdioConfig;

/// What stands in the place of a secret.
const HIDDEN: &str = "[redacted]";

/// Shorter values are too likely to be ordinary words.
const MIN_LENGTH: usize = 6;

/// The secret values in a server's configuration.
#[derive(Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Values of variables and options whose name speaks of a secret.
    pub fn of<'a>(
        config: &'a StdioConfig,
        environment: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Secrets {
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
        let mut values: Vec<String> = variables
            .chain(after_option)
            .chain(within_option)
            .filter(|value| value.len() >= MIN_LENGTH)
            .map(str::to_owned)
            .collect();
        // The longest first, lest a part of one hides only a part of it.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Secrets(values)
    }

    pub fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.0 {
            if text.contains(value) {
                text = text.replace(value, HIDDEN);
            }
        }
        text
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "key",
        "token",
        "secret",
        "passw",
        "credential",
        "auth",
        "cookie",
    ]
    .iter()
    .any(|word| name.contains(word))
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
        let secrets = Secrets::of(
            &config,
            [("GITHUB_TOKEN", "qrstuvwx"), ("HOME", "/home/me")],
        );
        assert_eq!(
            secrets.hide("abcdefgh ijklmnop qrstuvwx verbose /home/me"),
            "[redacted] [redacted] [redacted] verbose /home/me"
        );
    }
}
