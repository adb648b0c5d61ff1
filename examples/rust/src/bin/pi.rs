//! Pi by the midpoint rule: broadcast the number of intervals, sum the parts.   usage: `pi [INTERVALS]`

use std::f64::consts::PI;
use std::process::ExitCode;

use corelace::op;

fn main() -> ExitCode {
    corelace_examples::run(|world, arguments| {
        let mut intervals =
            if world.rank() == 0 { corelace_examples::number(arguments, 0, 1_000_000)? } else { 0 };
        world.broadcast(&mut intervals, 0)?;
        if intervals < 1 {
            return Err("the number of intervals is 0, expected 1 or more".into());
        }

        let width = 1.0 / intervals as f64;
        let mine = (world.rank()..intervals).step_by(world.size());
        let part: f64 = mine.map(|i| width * (i as f64 + 0.5)).map(|x| 4.0 / (1.0 + x * x)).sum();
        if let Some(pi) = world.reduce(&(part * width), op::sum(), 0)? {
            println!("pi is about {pi:.10} with {intervals} intervals, error below 1e-8");
            if intervals >= 100_000 && (pi - PI).abs() > 1e-8 {
                return Err("the result is wrong".into());
            }
        }
        Ok(())
    })
}
