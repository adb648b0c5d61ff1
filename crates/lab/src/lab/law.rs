//! The law of a transfer, t = K N + h, fitted to measured points.

/// A straight line through points, by least squares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Law {
    /// K: cycles a byte.
    pub per_byte: f64,
    /// h: cycles a call.
    pub per_call: f64,
    /// Standard error of K.
    pub per_byte_error: f64,
    /// Standard error of h.
    pub per_call_error: f64,
    /// The largest distance of a point from the line, as a part of the point's own time.
    pub worst: f64,
}

impl Law {
    /// The law of `points` (bytes, cycles); `None` if fewer than two sizes were measured.
    pub fn through(points: &[(f64, f64)]) -> Option<Law> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (middle, height) = (mean(|p| p.0), mean(|p| p.1));
        let spread: f64 = points.iter().map(|p| (p.0 - middle).powi(2)).sum();
        if points.len() < 2 || spread == 0.0 {
            return None;
        }
        let per_byte = points.iter().map(|p| (p.0 - middle) * (p.1 - height)).sum::<f64>() / spread;
        let per_call = height - per_byte * middle;
        let residual = |p: &(f64, f64)| p.1 - (per_byte * p.0 + per_call);
        let freedom = (count - 2.0).max(1.0);
        let variance = points.iter().map(|p| residual(p).powi(2)).sum::<f64>() / freedom;
        Some(Law {
            per_byte,
            per_call,
            per_byte_error: (variance / spread).sqrt(),
            per_call_error: (variance * (1.0 / count + middle.powi(2) / spread)).sqrt(),
            worst: points.iter().map(|p| (residual(p) / p.1).abs()).fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_give_the_line_without_error() {
        let points: Vec<(f64, f64)> = [0.0, 64.0, 4096.0, 65536.0].map(|n| (n, 0.98 * n + 31430.0)).into();
        let law = Law::through(&points).unwrap();
        assert!((law.per_byte - 0.98).abs() < 1e-9 && (law.per_call - 31430.0).abs() < 1e-6);
        assert!(law.per_call_error < 1e-6 && law.worst < 1e-9);
    }

    #[test]
    fn a_point_off_the_line_shows_in_the_errors() {
        let law = Law::through(&[(0.0, 100.0), (100.0, 200.0), (200.0, 330.0)]).unwrap();
        assert!((law.per_byte - 1.15).abs() < 1e-9 && law.per_byte_error > 0.05 && law.worst > 0.02);
    }

    #[test]
    fn one_size_has_no_law() {
        assert_eq!(Law::through(&[(8.0, 1.0), (8.0, 2.0)]), None);
        assert_eq!(Law::through(&[]), None);
    }
}
