//! A token goes once around the ring; each rank adds its number and says so.
//!
//! The lines come out in order because a rank prints before it passes the token on.

use std::process::ExitCode;

fn main() -> ExitCode {
    corelace_examples::run(|world, _| {
        let (rank, size) = (world.rank(), world.size());
        let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
        let expected = size * (size - 1) / 2;
        if rank == 0 {
            println!("rank 0 starts the token around {size} ranks");
            let mut token = 0usize;
            world.send_recv_replace(&mut token, next, 0, previous, 0)?;
            println!("rank 0 has it back: {token}, expected {expected}");
            if token != expected {
                return Err("the token is wrong".into());
            }
        } else {
            let (mut token, _) = world.recv::<usize>(previous, 0)?;
            token += rank;
            println!("rank {rank} adds itself: {token}");
            world.send(&token, next, 0)?;
        }
        Ok(())
    })
}
