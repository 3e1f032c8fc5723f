//! What the load balancer decides, on scenes small enough to work out by hand.

mod amounts;
mod capacity;
mod detach;
mod pinned;
mod scene;
mod speaker;
mod versions;
