using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (services = [(name = "main", worker = .conformance)]);

const conformance :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "workerd.js")],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["no_nodejs_compat", "no_nodejs_compat_v2"],
);
