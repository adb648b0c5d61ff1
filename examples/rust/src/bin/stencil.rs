//! Heat on a square plate: a five-point Jacobi stencil on a 2-D grid of ranks.   usage: `stencil [CELLS [STEPS]]`
//!
//! The result does not depend on the number of ranks: every rank computes its cells in the same way, and the sums are made of
//! integers. The largest change of the last step tells how far the plate is from its final state.

use std::process::ExitCode;

use corelace::{BoxError, Communicator, Error, op};

fn main() -> ExitCode {
    corelace_examples::run(|world, arguments| {
        let cells = corelace_examples::number(arguments, 0, 384)?;
        let steps = corelace_examples::number(arguments, 1, 100)?;
        let mut plate = Plate::new(world, cells)?;
        let mut change = 0.0;
        for _ in 0..steps {
            plate.exchange(world)?;
            change = plate.step();
        }
        let residual = world.allreduce(&change, op::max())?;
        if let Some(sums) = world.reduce(&plate.sums()[..], op::sum(), 0)? {
            let [heat, warm] = [sums[0], sums[1]];
            println!(
                "{cells} x {cells} cells after {steps} steps: heat {heat}, cells above one degree {warm}"
            );
            println!("largest change in the last step: {residual:.6}");
        }
        Ok(())
    })
}

/// The neighbours of a rank on the grid, where there are some: nobody is talked to beyond the edge.
struct Neighbours {
    up: Option<usize>,
    down: Option<usize>,
    left: Option<usize>,
    right: Option<usize>,
}

/// A rank's part of the plate, with a rim of the neighbours' cells around it.
struct Plate {
    rows: usize,
    columns: usize,
    neighbours: Neighbours,
    /// `(rows + 2) x (columns + 2)` cells.
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Plate {
    fn new(world: &Communicator<'_>, cells: usize) -> Result<Plate, BoxError> {
        // As square a grid as the number of ranks allows.
        let ranks = world.size();
        let down = (1..=ranks)
            .take_while(|d| d * d <= ranks)
            .filter(|d| ranks.is_multiple_of(*d))
            .last()
            .unwrap_or(1);
        let across = ranks / down;
        let (row, column) = (world.rank() / across, world.rank() % across);
        let share = |places: usize, at: usize| cells * (at + 1) / places - cells * at / places;
        let (rows, columns) = (share(down, row), share(across, column));
        if rows < 1 || columns < 1 {
            return Err(format!("{cells} x {cells} cells are too few for {ranks} ranks").into());
        }
        let neighbours = Neighbours {
            up: (row > 0).then(|| world.rank() - across),
            down: (row + 1 < down).then(|| world.rank() + across),
            left: (column > 0).then(|| world.rank() - 1),
            right: (column + 1 < across).then(|| world.rank() + 1),
        };
        let mut now = vec![0.0; (rows + 2) * (columns + 2)];
        if row == 0 {
            // The upper edge is hot.
            now[..columns + 2].fill(100.0);
        }
        Ok(Plate { rows, columns, neighbours, next: now.clone(), now })
    }

    /// Fills the rim: rows go straight from and to the plate, columns through vectors.
    fn exchange(&mut self, world: &Communicator<'_>) -> Result<(), Error> {
        let (width, columns, rows) = (self.columns + 2, self.columns, self.rows);
        let Neighbours { up, down, left, right } = self.neighbours;
        let column = |at: usize| (1..=rows).map(|row| self.now[row * width + at]).collect::<Vec<f64>>();
        let (first, last) = (column(1), column(columns));
        let (mut from_left, mut from_right) = (column(0), column(columns + 1));

        let (rim_above, inside) = self.now.split_at_mut(width);
        let (inside, rim_below) = inside.split_at_mut(rows * width);
        let (top, bottom) = (&inside[1..=columns], &inside[(rows - 1) * width + 1..][..columns]);
        world.scope(|s| {
            s.irecv(&mut rim_above[1..=columns], up, 0)?;
            s.irecv(&mut rim_below[1..=columns], down, 0)?;
            s.irecv(&mut from_left[..], left, 0)?;
            s.irecv(&mut from_right[..], right, 0)?;
            s.isend(top, up, 0)?;
            s.isend(bottom, down, 0)?;
            s.isend(&first[..], left, 0)?;
            s.isend(&last[..], right, 0)?;
            Ok(())
        })?;
        for row in 1..=rows {
            self.now[row * width] = from_left[row - 1];
            self.now[row * width + columns + 1] = from_right[row - 1];
        }
        Ok(())
    }

    /// One step; the largest change of a cell.
    fn step(&mut self) -> f64 {
        let width = self.columns + 2;
        let mut change = 0.0f64;
        for row in 1..=self.rows {
            for cell in (row * width + 1)..=(row * width + self.columns) {
                let now = &self.now;
                let mean = 0.25 * (now[cell - width] + now[cell + width] + now[cell - 1] + now[cell + 1]);
                change = change.max((mean - now[cell]).abs());
                self.next[cell] = mean;
            }
        }
        std::mem::swap(&mut self.now, &mut self.next);
        change
    }

    /// Heat in millionths of a degree, and cells above one degree, as integers: the order of the sum does not matter.
    fn sums(&self) -> [i64; 2] {
        let width = self.columns + 2;
        let cells = (1..=self.rows).flat_map(|row| &self.now[row * width + 1..][..self.columns]);
        cells.fold([0, 0], |[heat, warm], cell| [heat + (cell * 1e6) as i64, warm + i64::from(*cell > 1.0)])
    }
}
