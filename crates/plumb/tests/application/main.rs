//! The application server, with its database, its locks and its services.

#[path = "../kit/mod.rs"]
mod kit;

mod app;
mod app_database;
mod app_locks;
mod flow;
mod flow_agent;
mod flow_agent_faults;
mod flow_agent_mqtt;
#[cfg(feature = "opcua")]
mod flow_agent_opcua;
mod flow_clients;
mod flow_data;
mod flow_faults;
mod flow_load;
mod flow_nodes;
mod flow_serve;
mod flow_together;
mod flow_without_xslt;
mod front;
mod odata;
mod odata4;
mod odata_batch;
mod odata_changes;
mod sales;
mod step_attribution;
