//! Weighted linear least squares where the data may not determine everything: which unknowns they do, and how well.

/// What the data say of the unknowns.
#[derive(Debug)]
pub struct Solution {
    /// The step of every unknown: of all that fit equally well, the shortest.
    pub step: Vec<f64>,
    /// Whether the data determine the unknown itself.
    pub determined: Vec<bool>,
    /// The mean square of residuals that is not explained, and its degrees of freedom.
    pub variance: f64,
    freedom: usize,
    rank: usize,
    inverse: Vec<Vec<f64>>,
    projection: Vec<Vec<f64>>,
}

/// Directions whose weight is below this part of the greatest are not determined.
const NEGLIGIBLE: f64 = 1e-7;

/// Solves rows · step = wanted. Unknowns and rows should be scaled so that steps and residuals are of comparable size.
pub fn solve(rows: &[Vec<f64>], wanted: &[f64]) -> Solution {
    let count = rows.first().map_or(0, Vec::len);
    let normal = table(count, |i, j| rows.iter().map(|row| row[i] * row[j]).sum());
    let (values, vectors) = eigen(normal);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let kept: Vec<usize> =
        (0..count).filter(|k| greatest > 0.0 && values[*k] > NEGLIGIBLE * greatest).collect();
    let over = |weight: &dyn Fn(usize) -> f64| {
        table(count, |i, j| kept.iter().map(|k| vectors[i][*k] * vectors[j][*k] * weight(*k)).sum())
    };
    let inverse = over(&|k| 1.0 / values[k]);
    let projection = over(&|_| 1.0);
    let right: Vec<f64> =
        (0..count).map(|i| rows.iter().zip(wanted).map(|(row, b)| row[i] * b).sum()).collect();
    let step: Vec<f64> = inverse.iter().map(|row| dot(row, &right)).collect();
    let residual: f64 = rows.iter().zip(wanted).map(|(row, b)| (b - dot(row, &step)).powi(2)).sum();
    let freedom = rows.len().saturating_sub(kept.len());
    let mut solution = Solution {
        step,
        determined: Vec::new(),
        variance: residual / freedom.max(1) as f64,
        freedom,
        rank: kept.len(),
        inverse,
        projection,
    };
    solution.determined = (0..count).map(|i| solution.determines(&unit(count, i))).collect();
    solution
}

impl Solution {
    /// How many sums of the unknowns the data determine.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Whether the data determine this sum of the unknowns.
    pub fn determines(&self, factors: &[f64]) -> bool {
        let distance: f64 = self
            .projection
            .iter()
            .zip(factors)
            .map(|(row, factor)| (factor - dot(row, factors)).powi(2))
            .sum();
        distance < 1e-4 * dot(factors, factors)
    }

    /// Half of the 95 % interval of this sum of the unknowns.
    pub fn interval(&self, factors: &[f64]) -> f64 {
        let spread: f64 =
            self.inverse.iter().zip(factors).map(|(row, factor)| factor * dot(row, factors)).sum();
        student(self.freedom) * (self.variance * spread.max(0.0)).sqrt()
    }

    /// The same of one unknown.
    pub fn interval_of(&self, unknown: usize) -> f64 {
        self.interval(&unit(self.step.len(), unknown))
    }
}

/// How many standard errors lie on either side of 95 %, for so many degrees of freedom: the expansion of Student's quantile about the normal one
/// (Abramowitz and Stegun 26.7.5), within 1 % from three on; below that, the exact values.
pub fn student(freedom: usize) -> f64 {
    match freedom {
        0 => f64::INFINITY,
        1 => 12.706,
        2 => 4.303,
        _ => {
            let (x, n) = (1.959_964_f64, freedom as f64);
            let first = (x.powi(3) + x) / 4.0;
            let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
            let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
            x + first / n + second / n.powi(2) + third / n.powi(3)
        }
    }
}

fn unit(count: usize, index: usize) -> Vec<f64> {
    (0..count).map(|i| f64::from(i == index)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn table(count: usize, cell: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
    (0..count).map(|i| (0..count).map(|j| cell(i, j)).collect()).collect()
}

/// Eigenvalues, and eigenvectors as columns, of a symmetric matrix, by Jacobi's rotations.
fn eigen(mut matrix: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let count = matrix.len();
    let mut vectors = table(count, |i, j| f64::from(i == j));
    for _ in 0..100 {
        let beside: f64 =
            (0..count).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| matrix[i][j].powi(2)).sum();
        let along: f64 = (0..count).map(|i| matrix[i][i].powi(2)).sum();
        if beside <= 1e-30 * along {
            break;
        }
        for p in 0..count {
            for q in p + 1..count {
                if matrix[p][q] == 0.0 {
                    continue;
                }
                let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
                let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let tangent = if theta == 0.0 { 1.0 } else { tangent };
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let sine = tangent * cosine;
                for row in matrix.iter_mut().chain(&mut vectors) {
                    (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
                }
                let (above, below) = matrix.split_at_mut(q);
                for (a, b) in above[p].iter_mut().zip(&mut below[0]) {
                    (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
                }
            }
        }
    }
    ((0..count).map(|i| matrix[i][i]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_is_found_with_its_intervals() {
        let rows: Vec<Vec<f64>> = (0..6).map(|x| vec![f64::from(x), 1.0]).collect();
        let noise = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1];
        let wanted: Vec<f64> =
            rows.iter().zip(noise).map(|(row, noise)| 2.0 * row[0] + 5.0 + noise).collect();
        let solution = solve(&rows, &wanted);
        assert_eq!(solution.determined, [true, true]);
        assert!((solution.step[0] - 2.0).abs() < solution.interval_of(0));
        assert!((solution.step[1] - 5.0).abs() < solution.interval_of(1));
        assert!(solution.interval_of(0) < 0.1 && solution.interval_of(0) > 0.01, "{solution:?}");
    }

    #[test]
    fn unknowns_that_come_only_in_a_sum_are_told_from_it() {
        // The first two always together; the third alone; the fourth never.
        let rows = vec![vec![1.0, 1.0, 0.0, 0.0], vec![1.0, 1.0, 1.0, 0.0], vec![0.0, 0.0, 2.0, 0.0]];
        let solution = solve(&rows, &[10.0, 13.0, 6.0]);
        assert_eq!(solution.determined, [false, false, true, false]);
        assert!(solution.determines(&[1.0, 1.0, 0.0, 0.0]) && !solution.determines(&[1.0, 2.0, 0.0, 0.0]));
        assert!((solution.step[0] - 5.0).abs() < 1e-9 && (solution.step[1] - 5.0).abs() < 1e-9);
        assert!((solution.step[2] - 3.0).abs() < 1e-9 && solution.step[3] == 0.0);
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (1000, 1.962)] {
            assert!((student(freedom) / expected - 1.0).abs() < 0.01, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn nothing_is_determined_by_no_data() {
        assert_eq!(solve(&[], &[]).step, Vec::<f64>::new());
        assert_eq!(solve(&[vec![0.0, 0.0]], &[1.0]).determined, [false, false]);
    }
}
