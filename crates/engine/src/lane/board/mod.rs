//! Collectives on a board: members who share memory lay down there what the others read, without a message.
//!
//! `call` chooses the form of each. Short data are copied to the board and from there (`short`), by a member that need not wait without a plan (`at_once`); long ones are read or written where
//! they lie, each member copying or combining its part (`long`), two of them at the same time (`pair`), or through their rooms in pieces (`pieces`) where that has been quicker (`tried`); or they pass through a hall where members share cores, in pieces (`hall`) or in slots
//! (`slots`). In prefix reductions each waits for those before it alone (`scan`). What does not block goes on while the rank makes progress (`under_way`), long data by the same steps (`long`, `pair`), long reductions in phases (`phases`). A communicator's members
//! agree on having a board or not in one of their first calls (`make`); what a board does not serve goes by messages, as everything does where none is.

mod at_once;
mod call;
mod hall;
mod long;
mod make;
mod met;
mod pair;
mod phases;
mod pieces;
mod scan;
mod short;
mod slots;
mod tried;
mod turn;
mod under_way;
