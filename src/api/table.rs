//! Binds each method of the list to the function that answers it.

use jsonrpsee::{Methods, RpcModule};

use crate::api::methods::*;
use crate::api::sidecar::Sidecar;
use crate::api::{assemble, dispatch, manage};
use crate::rpc::table::method;

/// The table that an endpoint serves.
pub fn methods(sidecar: Sidecar) -> Methods {
    let mut table = RpcModule::new(sidecar);
    let registered = register(&mut table);
    registered.expect("the names in the list of methods differ");
    table.into()
}

fn register(table: &mut RpcModule<Sidecar>) -> Result<(), jsonrpsee::core::RegisterMethodError> {
    method::<Initialize, _, _, _>(table, |it, params, _| async move {
        manage::initialize(&it, params).await
    })?;
    method::<AssembleTools, _, _, _>(table, |it, params, _| async move {
        assemble::assemble_tools(&it, params).await
    })?;
    method::<Dispatch, _, _, _>(table, |it, params, _| async move {
        dispatch::dispatch(&it, params).await
    })?;
    method::<Resolve, _, _, _>(table, |it, params, _| async move {
        dispatch::resolve(&it, params).await
    })?;
    method::<Reload, _, _, _>(table, |it, params, _| async move {
        manage::reload(&it, params).await
    })?;
    method::<Status, _, _, _>(
        table,
        |it, _, _| async move { Ok(manage::status(&it).await) },
    )?;
    method::<CloseSession, _, _, _>(table, |it, params, _| async move {
        manage::close_session(&it, params).await
    })?;
    method::<Shutdown, _, _, _>(table, |it, _, _| async move {
        manage::shutdown(&it).await;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::host::Host;
    use crate::api::sidecar::StartOptions;
    use crate::api::source::Source;

    struct Listed(Vec<&'static str>);

    impl Visitor for Listed {
        fn request<M: Method>(&mut self) {
            self.0.push(M::NAME);
        }
        fn host_request<M: Method>(&mut self) {}
        fn notification<N: Notification>(&mut self) {}
    }

    #[test]
    fn every_method_of_the_list_is_answered() {
        let mut listed = Listed(Vec::new());
        visit(&mut listed);
        let options = StartOptions {
            config: Source::Search,
            shim: "toolcrib".into(),
            recorder: None,
        };
        let table = methods(Sidecar::new(options, Host::nobody()));
        let mut bound: Vec<_> = table.method_names().collect();
        bound.sort_unstable();
        listed.0.sort_unstable();
        assert_eq!(bound, listed.0);
    }
}
