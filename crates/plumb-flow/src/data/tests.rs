//! Units of work at an SQLite data server.
