//! Multiplies many rows of numbers by one of the model's matrices, and adds its bias.
//!
//! Nearly all of a model's time goes by here. The matrix is kept in the order in which it is read, in 16-bit numbers
//! (the upper half of a 32-bit one): half of the memory, and for short texts memory is what one waits for.

/// So many columns are worked out together: two AVX registers of eight.
const WIDE: usize = 16;

/// So many rows are worked out together: with them twelve registers hold sums, of sixteen.
const TALL: usize = 6;

/// `y = x·Wᵀ + b`, as PyTorch calls it.
pub(super) struct Linear {
    n_in: usize,
    n_out: usize,
    /// Panels of `WIDE` columns; a panel has the columns' first numbers, then their second ones….
    panels: Box<[u16]>,
    bias: Box<[f32]>,
}

impl Linear {
    /// From weights of `n_out` rows of `n_in`, row by row, and a bias of `n_out`.
    pub fn new(n_in: usize, weights: &[f32], bias: &[f32]) -> Linear {
        let n_out = bias.len();
        debug_assert_eq!(weights.len(), n_in * n_out);
        let n_panels = n_out.div_ceil(WIDE);
        let mut panels = vec![0; n_panels * n_in * WIDE].into_boxed_slice();
        for (column, numbers) in weights.chunks_exact(n_in).enumerate() {
            let panel = &mut panels[column / WIDE * n_in * WIDE..][..n_in * WIDE];
            for (row, number) in numbers.iter().enumerate() {
                panel[row * WIDE + column % WIDE] = halve(*number);
            }
        }
        Linear {
            n_in,
            n_out,
            panels,
            bias: bias.into(),
        }
    }

    /// The product for each row of `x`, which has `n_in` numbers a row.
    pub fn apply(&self, x: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; x.len() / self.n_in * self.n_out];
        let blocks = self.blocks(x);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has what the function is compiled for, as was asked just now.
            unsafe { self.multiply_by_avx(&blocks, &mut out) };
            return out;
        }
        // Where a fused step is not an instruction, it is a call that costs a hundred times as much.
        self.multiply::<{ cfg!(target_arch = "aarch64") }>(&blocks, &mut out);
        out
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn multiply_by_avx(&self, blocks: &[f32], out: &mut [f32]) {
        self.multiply::<true>(blocks, out);
    }

    /// The rows of `x`, `TALL` at a time: their first numbers, then their second ones…; the last rows may be zeros.
    fn blocks(&self, x: &[f32]) -> Vec<f32> {
        let n_rows = x.len() / self.n_in;
        let mut res = vec![0.0; n_rows.div_ceil(TALL) * TALL * self.n_in];
        for (row, numbers) in x.chunks_exact(self.n_in).enumerate() {
            let block = &mut res[row / TALL * TALL * self.n_in..][..TALL * self.n_in];
            for (at, number) in numbers.iter().enumerate() {
                block[at * TALL + row % TALL] = *number;
            }
        }
        res
    }

    #[inline(always)]
    fn multiply<const FUSED: bool>(&self, blocks: &[f32], out: &mut [f32]) {
        let mut panel = vec![0.0; self.n_in * WIDE];
        let panels = self.panels.chunks_exact(self.n_in * WIDE);
        for (first, halves) in (0..self.n_out).step_by(WIDE).zip(panels) {
            for (number, half) in panel.iter_mut().zip(halves) {
                *number = f32::from_bits(u32::from(*half) << 16);
            }
            let n_columns = WIDE.min(self.n_out - first);
            let bias = &self.bias[first..first + n_columns];
            let block_rows = out.chunks_mut(TALL * self.n_out);
            for (block, rows) in blocks.chunks_exact(self.n_in * TALL).zip(block_rows) {
                let sums = sums::<FUSED>(block, &panel);
                for (row, sums) in rows.chunks_exact_mut(self.n_out).zip(&sums) {
                    let columns = row[first..first + n_columns].iter_mut();
                    for ((out, sum), bias) in columns.zip(sums).zip(bias) {
                        *out = sum + bias;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn sums<const FUSED: bool>(block: &[f32], panel: &[f32]) -> [[f32; WIDE]; TALL] {
    let mut res = [[0.0; WIDE]; TALL];
    let (rows, _) = block.as_chunks::<TALL>();
    let (columns, _) = panel.as_chunks::<WIDE>();
    for (row, column) in rows.iter().zip(columns) {
        for (sums, a) in res.iter_mut().zip(row) {
            for (sum, b) in sums.iter_mut().zip(column) {
                *sum = match FUSED {
                    true => a.mul_add(*b, *sum),
                    false => a * b + *sum,
                };
            }
        }
    }
    res
}

/// The upper half of a number, rounded to the nearest.
pub(super) fn halve(number: f32) -> u16 {
    let bits = number.to_bits();
    // The largest numbers may round up to infinity, as they should; what is no number stays none.
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    match number.is_nan() {
        true => (bits >> 16) as u16 | 1,
        false => (rounded >> 16) as u16,
    }
}

/// The number of which this is the upper half.
pub(super) fn whole(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplies_as_it_is_defined_whatever_the_sizes() {
        for (n_rows, n_in, n_out) in [(1, 1, 1), (5, 3, 16), (6, 8, 17), (13, 32, 48), (7, 5, 31)] {
            // Quarters are exact in 16 bits, so that both ways of multiplying give the very same.
            let quarters = |n: usize, seed: usize| -> Vec<f32> {
                (0..n)
                    .map(|it| ((it * 7 + seed) % 23) as f32 / 4.0 - 2.5)
                    .collect()
            };
            let (x, weights, bias) = (
                quarters(n_rows * n_in, 1),
                quarters(n_in * n_out, 2),
                quarters(n_out, 3),
            );
            let mut expected = Vec::new();
            for row in x.chunks(n_in) {
                for (column, bias) in weights.chunks(n_in).zip(&bias) {
                    let sum: f32 = row.iter().zip(column).map(|(a, b)| a * b).sum();
                    expected.push(sum + bias);
                }
            }
            let linear = Linear::new(n_in, &weights, &bias);
            assert_eq!(linear.apply(&x), expected);
            let mut plain = vec![0.0; expected.len()];
            linear.multiply::<false>(&linear.blocks(&x), &mut plain);
            assert_eq!(plain, expected);
        }
    }

    #[test]
    fn a_number_is_rounded_to_the_nearest_half() {
        for number in [0.0, -0.0, 1.0, -2.5, 3.140625, f32::INFINITY] {
            assert_eq!(whole(halve(number)), number);
        }
        for number in [0.1f32, -0.317, 123.456, 1e-20] {
            let error = (whole(halve(number)) - number) / number;
            assert!(error.abs() <= 1.0 / 256.0, "{number} {error}");
        }
        assert!(whole(halve(f32::NAN)).is_nan());
        assert_eq!(whole(halve(1.003_906_4)), 1.0078125);
    }
}
