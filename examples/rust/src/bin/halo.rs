//! Heat in a plate of two materials, on a grid of ranks that exchange their edges.   usage: `halo [CELLS [STEPS]]`
//!
//! Cells are structs with a gap, which travel by their fields. Rows and columns go straight from where they lie into the rim of the neighbour: they are described once,
//! and started in every step. The result does not depend on the number of ranks.

use std::process::ExitCode;

use corelace::{BoxError, CartesianCommunicator, Datatype, Selection, dims_create, op};

/// A piece of the plate.
#[repr(C)]
#[derive(Clone, Copy, Default, Datatype)]
struct Cell {
    copper: u8,
    heat: f64,
}

fn main() -> ExitCode {
    corelace_examples::run(|world, arguments| {
        let cells = corelace_examples::number(arguments, 0, 96)?;
        let steps = corelace_examples::number(arguments, 1, 60)?;
        let dims = dims_create(world.size(), &[0, 0])?;
        let grid = world.cartesian(&dims, &[false, false])?.ok_or("a grid of all ranks leaves one out")?;
        let heat = simulate(&grid, cells, steps)?;
        if let Some(heat) = grid.reduce(&heat, op::sum(), 0)? {
            println!("{cells} x {cells} cells after {steps} steps: heat {heat}");
        }
        Ok(())
    })
}

/// The heat of this rank's cells in millionths: integers, because their sum does not depend on its order.
fn simulate(grid: &CartesianCommunicator<'_>, cells: usize, steps: usize) -> Result<i64, BoxError> {
    let (dims, place) = (grid.dims(), grid.coordinates());
    let first = |axis: usize, at: usize| cells * at / dims[axis];
    let [top, left] = [0, 1].map(|axis| first(axis, place[axis]));
    let [rows, columns] = [0, 1].map(|axis| first(axis, place[axis] + 1) - first(axis, place[axis]));
    if rows == 0 || columns == 0 {
        return Err(format!("{cells} x {cells} cells are too few for {} ranks", grid.size()).into());
    }
    // A rim of the neighbours' cells around this rank's own.
    let width = columns + 2;
    let mut plate = vec![Cell::default(); (rows + 2) * width];
    for row in 0..rows {
        for column in 0..columns {
            let (down, across) = (top + row, left + column);
            let copper = u8::from((down / 8 + across / 8) % 2 == 0);
            plate[(row + 1) * width + column + 1] =
                Cell { copper, heat: if down == 0 { 100.0 } else { 0.0 } };
        }
    }
    let mut next = plate.clone();
    let row = |number: usize| Selection::strided(number * width + 1, 1, columns, 0);
    let column = |number: usize| Selection::strided(width + number, rows, 1, width);
    let ((above, below), (before, behind)) = (grid.shift(0, 1)?, grid.shift(1, 1)?);
    grid.scope(|s| {
        let mut edges = s.exchange(&mut plate);
        edges.recv(&row(0), above, 0)?;
        edges.recv(&row(rows + 1), below, 1)?;
        edges.recv(&column(0), before, 2)?;
        edges.recv(&column(columns + 1), behind, 3)?;
        edges.send(&row(rows), below, 0)?;
        edges.send(&row(1), above, 1)?;
        edges.send(&column(columns), behind, 2)?;
        edges.send(&column(1), before, 3)?;
        for _ in 0..steps {
            edges.start()?.wait()?;
            let now = edges.items()?;
            for row in 1..=rows {
                for cell in row * width + 1..=row * width + columns {
                    let flow = |other: usize| now[other].heat - now[cell].heat;
                    let flow = flow(cell - width) + flow(cell + width) + flow(cell - 1) + flow(cell + 1);
                    let rate = if now[cell].copper == 1 { 0.2 } else { 0.02 };
                    next[cell] = Cell { heat: now[cell].heat + rate * flow, ..now[cell] };
                }
            }
            now.copy_from_slice(&next);
        }
        Ok(())
    })?;
    let own = (1..=rows).flat_map(|row| &plate[row * width + 1..][..columns]);
    Ok(own.map(|cell| (cell.heat * 1e6) as i64).sum())
}
