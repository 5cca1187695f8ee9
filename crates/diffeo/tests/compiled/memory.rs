//! What is allocated, and how deep recursion may be.
