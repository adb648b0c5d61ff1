//! A program in Rust whose two ranks go wrong in the line that the first argument names; `tests/call_sites.rs` launches it.

use std::process::ExitCode;

use corelace::{op, wait_all, wait_any};

fn main() -> ExitCode {
    let universe = corelace::init().expect("mpirun starts it");
    let world = universe.world();
    let other = 1 - world.rank();
    match std::env::args().nth(1).unwrap_or_default().as_str() {
        "recv" => {
            let _: (u32, _) = world.recv(other, 5).unwrap(); /* recv */
        }
        "recv_vec" => {
            world.recv_vec::<u8>(other, 5).unwrap(); /* recv_vec */
        }
        "send" => {
            world.send(&vec![0_u8; 4 << 20][..], other, 6).unwrap(); /* send */
        }
        "exchange" => {
            let mut value = 0;
            world.send_recv(&1, other, 1, &mut value, other, 2).unwrap(); /* exchange */
        }
        "wait" => {
            let receiving = world.irecv_owned::<u8>(4, other, 7).unwrap();
            receiving.wait().unwrap(); /* wait */
        }
        "wait_all" => {
            let receiving = (0..3).map(|tag| world.irecv_owned::<u8>(4, other, tag).unwrap());
            let receiving: Vec<_> = receiving.collect();
            wait_all(receiving).unwrap(); /* wait_all */
        }
        "wait_any" => {
            let mut receiving: Vec<_> =
                (0..3).map(|tag| world.irecv_owned::<u8>(4, other, tag).unwrap()).collect();
            wait_any(&mut receiving).unwrap(); /* wait_any */
        }
        "collective" if world.rank() == 0 => {
            world.allreduce(&1, op::sum()).unwrap(); /* collective */
        }
        "collective" => {
            let _: (u32, _) = world.recv(other, 8).unwrap();
        }
        "scope" => {
            let mut value = 0;
            world.scope(|s| s.irecv(&mut value, other, 9).map(|_| ())).unwrap(); /* scope */
        }
        "crash" => {
            world.barrier().unwrap(); /* crash */
            if other == 0 {
                std::process::abort();
            }
            world.barrier().unwrap();
        }
        _ => {}
    }
    ExitCode::SUCCESS
}
