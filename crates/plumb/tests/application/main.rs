//! The application server, with its database, its locks and its services.

#[path = "../kit/mod.rs"]
mod kit;

mod app;
mod app_database;
mod app_locks;
mod flow;
mod flow_clients;
mod flow_data;
mod flow_serve;
mod front;
mod odata;
mod odata_batch;
mod sales;
