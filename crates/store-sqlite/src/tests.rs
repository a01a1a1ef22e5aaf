//! Rows that went bad behind the store's back.
