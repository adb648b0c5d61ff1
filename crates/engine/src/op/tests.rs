//! Operations against naive models.
