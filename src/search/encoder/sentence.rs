//! What a text says, as a direction; how near are two of them?

/// A direction in as many dimensions as the model has, a signed byte for each.
///
/// Bytes are a quarter of the memory of full numbers, and change a cosine by less than 0.001.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    bytes: Box<[i8]>,
    /// One through the length of the bytes; zero for no direction at all.
    scale: f32,
}

impl Sentence {
    pub fn of_numbers(numbers: &[f32]) -> Sentence {
        let largest = numbers.iter().fold(0.0, |max: f32, it| max.max(it.abs()));
        let step = if largest > 0.0 { 127.0 / largest } else { 0.0 };
        Sentence::of_bytes(numbers.iter().map(|it| (it * step).round() as i8).collect())
    }

    pub fn of_bytes(bytes: Box<[i8]>) -> Sentence {
        let square = product(&bytes, &bytes);
        let scale = match square {
            0 => 0.0,
            _ => 1.0 / (square as f32).sqrt(),
        };
        Sentence { bytes, scale }
    }

    pub fn bytes(&self) -> &[i8] {
        &self.bytes
    }

    /// From -1 to 1; 0 where one of them has no direction.
    pub fn cosine(&self, other: &Sentence) -> f32 {
        product(&self.bytes, &other.bytes) as f32 * self.scale * other.scale
    }
}

fn product(a: &[i8], b: &[i8]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_direction_counts() {
        let a = Sentence::of_numbers(&[1.0, 2.0, -3.0, 0.5]);
        let longer = Sentence::of_numbers(&[10.0, 20.0, -30.0, 5.0]);
        assert_eq!(a, longer);
        assert!((a.cosine(&longer) - 1.0).abs() < 1e-6);
        let away = Sentence::of_numbers(&[-1.0, -2.0, 3.0, -0.5]);
        assert!((a.cosine(&away) + 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_cosine_is_close_to_that_of_the_numbers() {
        let a: Vec<f32> = (0..384).map(|it| (it as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..384).map(|it| (it as f32 * 0.71).sin()).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let exact = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
        let found = Sentence::of_numbers(&a).cosine(&Sentence::of_numbers(&b));
        assert!((found - exact).abs() < 0.001, "{found} {exact}");
    }

    #[test]
    fn no_direction_is_near_to_nothing() {
        let none = Sentence::of_numbers(&[0.0; 4]);
        assert_eq!(none.cosine(&none), 0.0);
        assert_eq!(none.cosine(&Sentence::of_numbers(&[1.0; 4])), 0.0);
    }
}
